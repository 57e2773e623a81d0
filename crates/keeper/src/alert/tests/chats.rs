//! Chats: their hints, storms, and what has moved.

use super::*;
use fusebox_testkit::HttpReply;

#[tokio::test]
async fn a_chats_own_hint_counts() {
    let clock = clock();
    let busy = HttpReply::new(429).body(
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}"#,
    );
    let sink = Sink::builder().answer(busy).start().await.unwrap();
    let bench = Bench::new(&clock, [telegram("chat", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    let row = bench.tried(&told, "chat", 1, "pending").await;
    assert_eq!(row.next_at_ms, i64::try_from((NOW + 35) * 1_000).unwrap());
    assert_eq!(row.error, "it answered 429: Too Many Requests: retry after 35");
}

#[tokio::test]
async fn of_an_answer_no_more_is_read_than_is_needed() {
    let clock = clock();
    let long = |status| HttpReply::new(status).body("no \u{1b}[31m".repeat(100_000));
    let sink = Sink::builder().answer(long(400)).answer(long(200)).start().await.unwrap();
    let bench = Bench::new(&clock, [slack("chat", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    let row = bench.tried(&told, "chat", 1, "pending").await;
    assert!(row.error.starts_with("it answered 400: no  [31m") && row.error.len() < 250);
    bench.pass(seconds(6)).await;
    bench.tried(&told, "chat", 2, "delivered").await;
}

#[tokio::test]
async fn in_a_storm_a_key_is_told_of_in_one_summary_and_a_webhook_gets_everything() {
    let clock = clock();
    let (sink_a, sink_b) =
        (Sink::builder().start().await.unwrap(), sink(&clock).start().await.unwrap());
    let storm = Some(Storm { messages: 3, per: seconds(60) });
    let chat = ChannelSettings { storm, ..slack("chat", &sink_a.url()) };
    let mut bench = Bench::new(&clock, [chat, hook("hook", &sink_b.url())]).await;
    bench.ended().await;
    for nth in 0..20 {
        let mut told = opened(nth);
        if nth % 2 == 1 {
            told.about.kind = AlertType::BreakerClosed;
        }
        bench.put(&told).await;
    }
    bench.put(&message("mainnet:0x5aAe:0x08", 1, json!({ "cause": "out of gas" }))).await;
    bench.start();
    bench.counted("chat", "delivered", 21).await;
    bench.counted("hook", "delivered", 21).await;
    assert_eq!(sink_b.ids().len(), 21);
    assert_eq!(sink_a.deliveries().len(), 2);
    let mut said = [text(&sink_a, 0), text(&sink_a, 1)];
    said.sort();
    assert_eq!(
        said[0],
        "*20 messages about vault/oracle*\n10 × breaker.closed, 10 × breaker.opened\n\
         last: vault/oracle closed\nmainnet:0x5aAe:0x07, 2026-01-02T03:04:05Z\n\
         runbook: docs/runbooks/breaker.closed.md"
    );
    assert!(said[1].starts_with("*vault/oracle opened: out of gas*\n"), "{}", said[1]);
    // The key rests; then all that has come in the meantime is one summary.
    bench.ended().await;
    for nth in 20..25 {
        bench.put_for(&opened(nth), ["chat"]).await;
    }
    bench.start();
    bench.counted("chat", "delivered", 26).await;
    assert_eq!(sink_a.deliveries().len(), 3);
}

#[tokio::test]
async fn in_a_storm_a_key_rests_after_its_summary() {
    let clock = clock();
    let sink = Sink::builder().start().await.unwrap();
    let storm = Some(Storm { messages: 1, per: seconds(60) });
    let bench = Bench::new(&clock, [ChannelSettings { storm, ..slack("chat", &sink.url()) }]).await;
    bench.put(&opened(0)).await;
    bench.counted("chat", "delivered", 1).await;
    for nth in 1..8 {
        bench.put(&opened(nth)).await;
    }
    bench.pass(seconds(59)).await;
    bench.clock.sleeping(1).await;
    bench.counted("chat", "delivered", 1).await;
    bench.pass(seconds(1)).await;
    bench.counted("chat", "delivered", 8).await;
    assert_eq!(sink.deliveries().len(), 2);
    assert!(text(&sink, 1).starts_with("*7 messages about vault/oracle*"));
}

#[tokio::test]
async fn what_has_moved_is_one_line_in_a_chat_and_two_documents_for_a_webhook() {
    let clock = clock();
    let (sink_a, sink_b) =
        (Sink::builder().start().await.unwrap(), sink(&clock).start().await.unwrap());
    let mut bench =
        Bench::new(&clock, [slack("chat", &sink_a.url()), hook("hook", &sink_b.url())]).await;
    bench.ended().await;
    let mut left = message(
        KEY,
        1,
        json!({ "tx": "0xaa", "block": { "number": 10, "hash": "0x0a" }, "phase": "retracted" }),
    );
    left.about.phase = Phase::Retracted;
    let came = message(
        KEY,
        2,
        json!({ "tx": "0xaa", "block": { "number": 12, "hash": "0x0c" },
                "moved_from": { "number": 10, "hash": "0x0a" } }),
    );
    bench.put(&left).await;
    bench.put(&came).await;
    bench.start();
    bench.counted("hook", "delivered", 2).await;
    bench.counted("chat", "delivered", 1).await;
    bench.counted("chat", "superseded", 1).await;
    assert_eq!(sink_a.deliveries().len(), 1);
    let said = text(&sink_a, 0);
    assert!(said.contains("moved: ") && said.contains("from block 10 to block 12"), "{said}");
}

/// What a Slack sink was told.
fn text(sink: &Sink, nth: usize) -> String {
    let body: Value = serde_json::from_slice(&sink.deliveries()[nth].body).unwrap();
    body["text"].as_str().unwrap().to_owned()
}
