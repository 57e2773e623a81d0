//! What people read, in each chat's own markup.

use super::*;
use crate::alert::{
    channel::{ChannelError, SecretError, TemplateError},
    http::UrlError,
    markup::Markup,
    text::Text,
};
use proptest::prelude::*;

const HOSTILE: &str =
    r#"<!channel> @everyone *b* _i_ `c` [x](https://evil.example) & "q" <a href='//e'>:+1:"#;

const MARKUPS: [Markup; 4] = [Markup::Slack, Markup::Discord, Markup::Telegram, Markup::Plain];

#[test]
fn what_a_label_says_is_shown_and_does_nothing() {
    for (markup, want) in [
        (
            Markup::Slack,
            r#"&lt;!channel&gt; @everyone *b* _i_ `c` [x](https://evil.example) &amp; "q" &lt;a href='//e'&gt;:+1:"#,
        ),
        (
            Markup::Discord,
            r#"\<!channel\> \@everyone \*b\* \_i\_ \`c\` \[x\]\(https\://evil.example\) & "q" \<a href='//e'\>\:+1\:"#,
        ),
        (
            Markup::Telegram,
            r#"&lt;!channel&gt; @everyone *b* _i_ `c` [x](https://evil.example) &amp; &quot;q&quot; &lt;a href='//e'&gt;:+1:"#,
        ),
        (Markup::Plain, HOSTILE),
    ] {
        assert_eq!(markup.escape(HOSTILE), want, "{markup:?}");
        assert_eq!(markup.escape("a\tb\u{7}c\nd"), "a b c\nd");
        assert_eq!(markup.line("a\r\nb"), "a  b");
    }
}

#[test]
fn a_link_is_one_and_leads_where_it_says() {
    let url = "https://e.example/tx/(1)?a=<b>&c=|d\"";
    for (markup, want) in [
        (Markup::Slack, Some("<https://e.example/tx/(1)?a=%3Cb%3E&amp;c=%7Cd%22|a ¦ b>")),
        (Markup::Discord, Some("[a \\| b](https://e.example/tx/%281%29?a=%3Cb%3E&c=|d%22)")),
        (
            Markup::Telegram,
            Some("<a href=\"https://e.example/tx/(1)?a=%3Cb%3E&amp;c=|d%22\">a | b</a>"),
        ),
        (Markup::Plain, Some("a | b: https://e.example/tx/(1)?a=%3Cb%3E&c=|d%22")),
    ] {
        assert_eq!(markup.link("a | b", url).as_deref(), want, "{markup:?}");
        assert_eq!(markup.link("a", "javascript:alert(1)"), None);
        assert_eq!(markup.link("a", "docs/runbooks/breaker.opened.md"), None);
        assert_eq!(markup.link("a", &format!("https://e.example/{}", "x".repeat(1_000))), None);
    }
}

fn body(kind: AlertType, data: Value) -> Value {
    let mut told = message(KEY, 1, data);
    told.about.kind = kind;
    told.body()
}

#[test]
fn a_text_says_what_where_and_until_when() {
    let text = Text::of(&body(
        AlertType::BreakerOpened,
        json!({ "cause": "reverted", "retry_at": NOW + 60, "failures": 3, "threshold": 3,
                "block": { "number": 12 }, "link": "https://e.example/tx/0xaa", "late": true,
                "log_bytes": 7 }),
    ));
    assert_eq!(text.title, "vault/oracle opened: reverted");
    assert_eq!(
        text.lines,
        [
            "open until 2026-01-02T03:05:05Z, 3 of 3 failures",
            "found late: a node had left it out",
            "log bytes: 7",
            "mainnet:0x5aAe:0x07, block 12, 2026-01-02T03:04:05Z",
        ]
    );
    assert_eq!(text.links.len(), 2);
    let text = Text::of(&body(AlertType::ChainDegraded, json!({ "block": 7, "reason": "why" })));
    assert_eq!(text.lines, ["reason: why", "mainnet:0x5aAe:0x07, block 7, 2026-01-02T03:04:05Z"]);
    for never in [json!(u64::MAX), json!((1_u64 << 40) - 1), json!(-1), json!("x")] {
        let text = Text::of(&body(AlertType::BreakerOpened, json!({ "retry_at": never })));
        assert_eq!(text.lines[0], "open until it is reset");
    }
}

#[test]
fn every_type_has_a_title_of_its_own_and_says_so_when_it_is_no_longer_true() {
    let titles: std::collections::BTreeSet<_> = AlertType::ALL
        .map(|kind| Text::of(&body(kind, json!({ "chain": "mainnet" }))).title)
        .into_iter()
        .collect();
    assert_eq!(titles.len(), AlertType::ALL.len());
    let gone = body(AlertType::BreakerClosed, json!({ "phase": "retracted" }));
    assert_eq!(Text::of(&gone).title, "no longer true: vault/oracle closed");
}

#[test]
fn whatever_the_document_is_there_is_a_text() {
    for body in [Value::Null, json!([]), json!({ "data": 7 }), json!({ "data": { "block": 7 } })] {
        assert!(!Text::of(&body).title.is_empty(), "{body}");
    }
    assert_eq!(Text::of_many(&[]), Text::default());
}

/// What a chat gets: its JSON.
fn sent(settings: &ChannelSettings, body: &Value) -> Value {
    let channel = Channel::new(settings).unwrap();
    let request = channel.request("msg_x", &[&body.to_string()], NOW);
    serde_json::from_slice(&request.body).unwrap()
}

fn hostile() -> Value {
    let mut told = message(KEY, 1, json!({ "cause": HOSTILE, "link": "https://e.example/tx" }));
    told.about.label = Some(HOSTILE.repeat(100));
    told.body()
}

#[test]
fn each_chat_gets_its_own_document() {
    let body = body(AlertType::BreakerOpened, json!({ "link": "https://e.example/tx?a=1&b=2" }));
    let slack = sent(&slack("a", "http://localhost/x"), &body);
    assert_eq!(
        slack["text"],
        "*vault/oracle opened*\nmainnet:0x5aAe:0x07, 2026-01-02T03:04:05Z\n\
         <https://e.example/tx?a=1&amp;b=2|transaction> · runbook: docs/runbooks/breaker.opened.md"
    );
    let url = SecretUrl::new("http://[::1]/x");
    let discord = sent(&channel("a", ChannelKind::Discord { url }), &body);
    assert_eq!(discord["allowed_mentions"], json!({ "parse": [] }));
    assert_eq!(
        discord["embeds"][0]["description"],
        "**vault/oracle opened**\nmainnet\\:0x5aAe\\:0x07, 2026-01-02T03\\:04\\:05Z\n\
         [transaction](https://e.example/tx?a=1&b=2) · runbook\\: docs/runbooks/breaker.opened.md"
    );
    let telegram = sent(&telegram("a", "https://api.telegram.org"), &body);
    assert_eq!(
        (&telegram["parse_mode"], &telegram["chat_id"]),
        (&json!("HTML"), &json!("-1001234567890"))
    );
    assert_eq!(
        telegram["text"],
        "<b>vault/oracle opened</b>\nmainnet:0x5aAe:0x07, 2026-01-02T03:04:05Z\n\
         <a href=\"https://e.example/tx?a=1&amp;b=2\">transaction</a> · runbook: docs/runbooks/breaker.opened.md"
    );
}

#[test]
fn a_text_that_is_too_long_keeps_its_link() {
    let url = || SecretUrl::new("http://127.0.0.1/x");
    for (kind, pointer, limit, link) in [
        (ChannelKind::Slack { url: url() }, "/text", 3_000, "<https://e.example/tx|transaction>"),
        (
            ChannelKind::Discord { url: url() },
            "/embeds/0/description",
            4_096,
            "[transaction](https://e.example/tx)",
        ),
    ] {
        let body = sent(&channel("a", kind), &hostile());
        let text = body.pointer(pointer).unwrap().as_str().unwrap();
        assert!(text.encode_utf16().count() <= limit && text.contains('…'));
        assert!(text.contains(link), "{text}");
    }
}

#[test]
fn an_incident_opens_and_is_resolved_under_one_key() {
    let key = SecretText::new("R0UT1NGKEY");
    let url = SecretUrl::new("https://events.pagerduty.com/v2/enqueue");
    let settings = channel("a", ChannelKind::PagerDuty { key, url });
    let event = |kind, data| {
        let body = sent(&settings, &body(kind, data));
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        (text("event_action"), text("dedup_key"))
    };
    let of = |action: &str, key: &str| (action.to_owned(), key.to_owned());
    let retracted = |state: &str| json!({ "phase": "retracted", "state": state });
    assert_eq!(event(AlertType::BreakerOpened, json!({})), of("trigger", KEY));
    assert_eq!(event(AlertType::BreakerStuck, json!({})), of("trigger", KEY));
    assert_eq!(event(AlertType::BreakerClosed, json!({})), of("resolve", KEY));
    assert_eq!(event(AlertType::BreakerOpened, retracted("closed")), of("resolve", KEY));
    assert_eq!(event(AlertType::BreakerClosed, retracted("open")), of("trigger", KEY));
    assert_eq!(event(AlertType::BreakerClosed, retracted("closed")), of("resolve", KEY));
    let beside = format!("{KEY}:breaker.half_open");
    assert_eq!(event(AlertType::BreakerHalfOpen, json!({})), of("trigger", &beside));
    let long = event(AlertType::BreakerOpened, json!({ "key": "k".repeat(300) })).1;
    assert_eq!(long.len(), 64);
    let body = sent(&settings, &body(AlertType::BreakerOpened, json!({ "cause": "reverted" })));
    assert_eq!(body["routing_key"], "R0UT1NGKEY");
    assert_eq!(body["payload"]["summary"], "vault/oracle opened: reverted");
    assert_eq!(body["payload"]["severity"], "warning");
    assert_eq!(body["payload"]["custom_details"]["cause"], "reverted");
}

fn templated(template: &str) -> Result<Channel, ChannelError> {
    let template = Some(template.to_owned());
    Channel::new(&ChannelSettings { template, ..telegram("chat", "https://api.telegram.org") })
}

fn made(template: &str, body: &Value) -> String {
    let request = templated(template).unwrap().request("msg_x", &[&body.to_string()], NOW);
    let document: Value = serde_json::from_slice(&request.body).unwrap();
    document["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_template_escapes_what_it_is_given_and_nothing_of_its_own() {
    let body =
        body(AlertType::BreakerOpened, json!({ "cause": "a < b", "block": { "number": 7 } }));
    let template = "<b>{{ data.label }}</b> {{ type }}: {{ data.cause }} at {{ data.block.number }}\n{{ title }}";
    assert_eq!(
        made(template, &body),
        "<b>vault/oracle</b> breaker.opened: a &lt; b at 7\nvault/oracle opened: a &lt; b"
    );
    assert_eq!(
        made("{% for line in lines %}- {{ line }}{% endfor %}", &body).matches("- ").count(),
        1
    );
    assert_eq!(made("{{ data.none | default('-') }}", &body), "-");
    let long = made("{% for _ in range(1500) %}<i>{{ data.cause }}</i>{% endfor %}", &body);
    assert!(
        long.ends_with("</i>…\nrunbook: docs/runbooks/breaker.opened.md")
            || long.ends_with("…</i>\nrunbook: docs/runbooks/breaker.opened.md"),
        "{long}"
    );
}

#[test]
fn a_template_that_fails_is_told_at_the_start_and_costs_no_alert() {
    let body = body(AlertType::BreakerOpened, json!({}));
    for bad in ["{{ data.label", "{% include 'other' %}", "{% if %}"] {
        assert!(matches!(templated(bad), Err(ChannelError::Template { .. })), "{bad}");
    }
    for (bad, is_expected) in [
        ("{{ data.typo }}", "undefined"),
        ("{% for a in range(9000) %}{% for b in range(9000) %}x{% endfor %}{% endfor %}", "fuel"),
        ("{% for a in range(2000) %}{{ 'x' * 1000 }}{% endfor %}", "64 KiB"),
        ("  \n", "empty"),
    ] {
        let error = templated(bad).unwrap().preview(&body).unwrap_err();
        assert!(error.to_string().contains(is_expected), "{bad}: {error}");
        assert!(made(bad, &body).starts_with("<b>vault/oracle opened</b>"), "{bad}");
    }
    let error = Channel::new(&ChannelSettings {
        template: Some("x".to_owned()),
        ..hook("hook", "http://127.0.0.1/")
    });
    assert!(matches!(error, Err(ChannelError::NoTemplate { .. })));
    assert!(matches!(templated(" ").unwrap().preview(&body), Err(TemplateError::Empty)));
}

#[test]
fn a_channel_that_would_tell_others_is_refused() {
    for (url, why) in [
        ("http://hooks.example/x", UrlError::Open),
        ("ftp://127.0.0.1/x", UrlError::Open),
        ("http://127.0.0.1.example/x", UrlError::Open),
        ("nonsense", UrlError::NoUrl),
    ] {
        match Channel::new(&slack("a", url)) {
            Err(ChannelError::Url { why: found, .. }) => assert_eq!(found, why, "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
    for url in
        ["https://hooks.example/x", "http://localhost:1/", "http://127.9.9.9/", "http://[::1]/"]
    {
        assert!(Channel::new(&slack("a", url)).is_ok(), "{url}");
    }
    let url = || SecretUrl::new("http://127.0.0.1/");
    let unsigned = channel("a", ChannelKind::Webhook { url: url(), secrets: vec![] });
    assert!(matches!(Channel::new(&unsigned), Err(ChannelError::Unsigned { .. })));
    let secrets = vec![SecretText::new(secret(1)), SecretText::new("whsec_")];
    match Channel::new(&channel("a", ChannelKind::Webhook { url: url(), secrets })) {
        Err(ChannelError::Secret { nth, why, .. }) => {
            assert_eq!((nth, why), (1, SecretError::Length(0)));
        }
        other => panic!("{other:?}"),
    }
}

/// Text as users' templates may make it: plain, escaped, tags, links, and what only looks like these.
fn parts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z ]{0,12}",
        "[&<>\\[\\]()\\\\;/]{1,4}",
        Just("&amp;".to_owned()),
        Just("&#x1F600;".to_owned()),
        Just("😀é".to_owned()),
        Just("<b>".to_owned()),
        Just("</b>".to_owned()),
        Just("<i>x</i>".to_owned()),
        Just("<a href=\"https://e.example/a?b&amp;c\">a &lt; b</a>".to_owned()),
        Just("<https://e.example/x|name>".to_owned()),
        Just("[name](https://e.example/x)".to_owned()),
        Just("https://e.example/long/path?q=1".to_owned()),
        Just("\\*\\_".to_owned()),
    ];
    (proptest::collection::vec(part, 0..40), 1_usize..40)
        .prop_map(|(parts, times)| parts.concat().repeat(times))
}

proptest! {
    #[test]
    fn a_cut_is_within_the_limit_and_goes_through_nothing(text in parts(), with_link: bool) {
        for markup in MARKUPS {
            let (limit, link) = match markup {
                Markup::Slack => (3_000, "<https://t.example|t>"),
                Markup::Discord => (4_096, "[t](https://t.example)"),
                Markup::Telegram => (4_096, "<a href=\"https://t.example\">t</a>"),
                Markup::Plain => (1_024, "t: https://t.example"),
            };
            let tail = if with_link { link } else { "" };
            let fitted = markup.fit(&text, tail, true);
            prop_assert!(markup.width(&fitted) <= limit, "{markup:?}");
            prop_assert!(fitted.ends_with(tail));
            let Some(cut) = fitted.find('…') else {
                prop_assert!(fitted.starts_with(&text));
                continue;
            };
            // What was kept is a beginning of the text, and it ends between two parts of it.
            let kept = &fitted[..cut];
            prop_assert!(text.starts_with(kept), "{markup:?}");
            prop_assert_eq!(markup.width(kept) + markup.width(&text[kept.len()..]), markup.width(&text));
            if markup == Markup::Telegram {
                let count = |text: &str, what: &str| text.matches(what).count();
                prop_assert!(count(&fitted, "<b>") <= count(&fitted, "</b>"));
                prop_assert_eq!(count(&fitted, "<a href"), count(&fitted, "</a>"));
            } else {
                // Counted as their own receivers do, who know no parts.
                prop_assert!(fitted.encode_utf16().count() <= limit);
            }
        }
    }

    #[test]
    fn what_is_escaped_has_no_markup_left(text in any::<String>()) {
        for markup in [Markup::Slack, Markup::Telegram] {
            let escaped = markup.escape(&text);
            prop_assert!(!escaped.contains(['<', '>']));
            prop_assert!(escaped.split('&').skip(1).all(|rest| ["amp;", "lt;", "gt;", "quot;"].iter().any(|name| rest.starts_with(name))));
        }
    }
}
