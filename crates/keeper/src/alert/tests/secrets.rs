//! No key leaves a delivery, whatever goes wrong.
//!
//! Each channel has a marker wherever a key can be, and each receiver quotes it back wherever it can. Then all is searched
//! that the process has said at any level, and all that the store holds. That takes a process of its own: loggers are
//! global, and standard error is nobody's to read.

use super::*;
use fusebox_testkit::{Door, HttpReply, SinkAnswer};
use std::{fmt::Write, process::Command};

const MARK: &str = "MARKER5ecret0123456789AB";

#[test]
fn every_way_to_fail_keeps_keys_to_itself() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "alert::tests::secrets::all_ways_to_fail", "--ignored", "--nocapture"])
        .env("RUST_BACKTRACE", "0")
        // It would read URLs, and nothing listens there: what is on the loopback is reached past it.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env("http_proxy", "http://127.0.0.1:9")
        .output()
        .unwrap();
    let heard = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{heard}");
    // It has listened where keys would be.
    for said in ["starting new connection", "hyper", "sqlx", "channel.dead", "it answered 400"] {
        assert!(heard.contains(said), "nothing of {said}");
    }
    let encoded = BASE64_STANDARD.encode(MARK);
    for secret in [MARK, &MARK.to_lowercase(), encoded.trim_end_matches('=')] {
        let found = heard.lines().find(|line| line.contains(secret));
        assert_eq!(found, None, "the key is in this line");
    }
}

/// All that the process and its libraries say.
struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        eprintln!("{} {}", record.target(), record.args());
    }

    fn flush(&self) {}
}

impl tracing::Subscriber for Listener {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut fields = Fields(span.metadata().target().to_owned());
        span.record(&mut fields);
        eprintln!("{}", fields.0);
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        eprintln!("{}", fields.0);
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(event.metadata().target().to_owned());
        event.record(&mut fields);
        eprintln!("{}", fields.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

/// One of each kind, with the marker wherever a key is.
fn all(sink: &str, prefix: &str) -> Vec<ChannelSettings> {
    let at = |path: &str| SecretUrl::new(format!("{sink}/{path}{MARK}/x?key={MARK}"));
    let (token, key) = (SecretText::new(format!("1:{MARK}")), SecretText::new(MARK));
    let secrets = vec![SecretText::new(format!("whsec_{}", BASE64_STANDARD.encode(MARK)))];
    [
        ChannelKind::Webhook { url: at("hook/"), secrets },
        ChannelKind::Slack { url: at("services/T0/B0/") },
        ChannelKind::Discord { url: at("api/webhooks/1/") },
        ChannelKind::Telegram { token, chat: "-1".to_owned(), url: SecretUrl::new(sink) },
        ChannelKind::PagerDuty { key, url: SecretUrl::new(sink) },
    ]
    .into_iter()
    .enumerate()
    .map(|(nth, kind)| channel(&format!("{prefix}{nth}"), kind))
    .collect()
}

#[tokio::test]
#[ignore = "the other one starts it"]
async fn all_ways_to_fail() {
    log::set_logger(&Listener).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    tracing::subscriber::set_global_default(Listener).unwrap();
    let clock = clock();
    let quote = json!({
        "ok": false, "description": format!("no {MARK}"), "message": format!("no 1:{MARK}"),
        "errors": [MARK], MARK: MARK,
    })
    .to_string();
    let answers = |status| HttpReply::new(status).header("x-key", MARK).body(quote.clone());
    let mut sinks = Vec::new();
    let mut channels = Vec::new();
    let away = HttpReply::new(302).header("location", &format!("http://127.0.0.1:1/{MARK}"));
    let late = HttpReply::new(429).header("retry-after", MARK).body(format!("wait, {MARK}"));
    let ways: [(&str, SinkAnswer); 7] = [
        ("wrong", answers(400).into()),
        ("down", answers(500).into()),
        ("gone", answers(410).into()),
        ("away", away.into()),
        ("late", late.into()),
        ("close", SinkAnswer::Close),
        ("hang", SinkAnswer::Hang),
    ];
    for (name, answer) in ways {
        let sink = Sink::builder().answer_by(move |_| Some(answer.clone())).start().await.unwrap();
        channels.extend(all(&sink.url(), name));
        sinks.push(sink);
    }
    let refused = Sink::builder().start().await.unwrap();
    refused.door(Door::Refused).await;
    channels.extend(all(&refused.url(), "refused"));
    channels.extend(all(&sinks[0].url().replace("http:", "https:"), "tls"));
    channels.extend(all("https://no-such-host.invalid", "unresolved"));
    println!("{channels:?}");
    let bench = Bench::new(&clock, channels.clone()).await;
    println!("{:?}", Channel::new(&channels[0]).unwrap());
    let told = opened(1);
    bench.put(&told).await;
    // Five attempts of each, after which what is wrong is dead. The one that is gone is not asked again.
    let is_done = async || {
        let row = sqlx::query(
            "SELECT COUNT(*) FROM outbox WHERE message = $1 AND attempts < 5 AND channel <> 'gone0'",
        );
        let row = row.bind(told.id.as_str()).fetch_one(bench.store.reader()).await.unwrap();
        row.get::<i64, _>(0) == 0
    };
    while !is_done().await {
        clock.advance(Duration::from_secs(5));
        bench.look().await;
    }
    bench.tried(&told, "gone0", 1, "pending").await;
    bench.tried(&told, "wrong0", 5, "dead").await;
    for query in [
        "SELECT channel || ' ' || COALESCE(last_error, '') FROM outbox",
        "SELECT body FROM message",
        "SELECT name || reason FROM channel",
    ] {
        for row in sqlx::query(query).fetch_all(bench.store.reader()).await.unwrap() {
            println!("{}", row.get::<String, _>(0));
        }
    }
}
