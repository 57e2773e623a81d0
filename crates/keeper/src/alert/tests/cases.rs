//! Cases that every release passes, by their number, and what else can become of a delivery.

use super::*;
use fusebox_testkit::{Door, HttpReply, SinkAnswer};

#[tokio::test]
async fn a_message_arrives_as_it_is_stored_and_signed() {
    let clock = clock();
    let sink = sink(&clock).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    let row = bench.tried(&told, "hook", 1, "delivered").await;
    assert!(row.maybe_delivered && row.error.is_empty());
    let got = sink.received(1).await;
    assert_eq!(got[0].id, told.id.as_str());
    assert_eq!(serde_json::from_slice::<Value>(&got[0].body).unwrap(), told.body());
    sink.assert_verified();
}

#[tokio::test]
async fn case_13_one_message_that_is_always_refused_holds_up_its_key_alone_and_is_told_of_once() {
    let clock = clock();
    let poison = opened(1);
    let id = poison.id.to_string();
    let sink_a = sink(&clock)
        .answer_by(move |delivery| (delivery.id == id).then(|| 400.into()))
        .start()
        .await
        .unwrap();
    let sink_b = sink(&clock).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("a", &sink_a.url()), hook("b", &sink_b.url())]).await;
    let (behind, other) = (opened(2), message("mainnet:0x5aAe:0x08", 1, json!({})));
    for told in [&poison, &behind, &other] {
        bench.put_for(told, ["a"]).await;
    }
    bench.tried(&other, "a", 1, "delivered").await;
    for attempts in 1..5 {
        bench.tried(&poison, "a", attempts, "pending").await;
        assert_eq!(bench.row(&behind, "a").await.status, "pending");
        bench.pass(seconds(700)).await;
    }
    let dead = bench.tried(&poison, "a", 5, "dead").await;
    assert_eq!(dead.error, "it answered 400");
    bench.tried(&behind, "a", 1, "delivered").await;
    // One more within the hour makes no second one.
    let second = message("mainnet:0x5aAe:0x09", 1, json!({}));
    bench.counted("b", "delivered", 1).await;
    bench.put_for(&second, ["a"]).await;
    bench.tried(&second, "a", 1, "delivered").await;
    let meta = bench.messages(AlertType::ChannelDead).await;
    assert_eq!(meta.len(), 1);
    assert_eq!(meta[0]["data"]["channel"], "a");
    assert_eq!(meta[0]["data"]["message"], poison.id.as_str());
    let told = sink_b.received(1).await;
    assert_eq!(serde_json::from_slice::<Value>(&told[0].body).unwrap(), meta[0]);
    // It waits for somebody who asks for it.
    assert_eq!(outbox::retry(&bench.store, None, 0).await.unwrap(), 1);
    bench.pass(seconds(1)).await;
    bench.tried(&poison, "a", 1, "pending").await;
}

#[tokio::test]
async fn case_14_retries_have_one_id_and_keep_to_retry_after() {
    let clock = clock();
    let busy = HttpReply::new(429).header("retry-after", "3600");
    let sink =
        sink(&clock).answer(500).answer(SinkAnswer::Close).answer(busy).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    let first = bench.tried(&told, "hook", 1, "pending").await;
    assert_eq!(first.error, "it answered 500");
    let wait = first.next_at_ms - i64::try_from(NOW * 1_000).unwrap();
    assert!((4_500..=5_500).contains(&wait), "{wait}");
    bench.pass(seconds(6)).await;
    assert_eq!(bench.tried(&told, "hook", 2, "pending").await.error, "the connection broke");
    bench.pass(seconds(40)).await;
    let third = bench.tried(&told, "hook", 3, "pending").await;
    assert_eq!(third.error, "it answered 429");
    assert_eq!(third.next_at_ms, i64::try_from((NOW + 46 + 3_600) * 1_000).unwrap());
    bench.pass(seconds(3_599)).await;
    bench.clock.sleeping(1).await;
    assert_eq!(sink.deliveries().len(), 3);
    bench.pass(seconds(1)).await;
    bench.tried(&told, "hook", 4, "delivered").await;
    assert_eq!(sink.ids(), [told.id.as_str()]);
    assert_eq!(sink.deliveries().len(), 4);
    sink.assert_verified();
}

#[tokio::test]
async fn case_14_two_signatures_in_rotation_verify_with_either_secret() {
    let clock = clock();
    for (known, place) in [(vec![1], vec![0]), (vec![2], vec![0]), (vec![2, 3, 1], vec![0, 2])] {
        let sink = known
            .into_iter()
            .fold(Sink::builder().clock(clock.clone()), |sink, byte| sink.secret(&secret(byte)));
        let sink = sink.start().await.unwrap();
        let url = SecretUrl::new(sink.url());
        let secrets = vec![SecretText::new(secret(1)), SecretText::new(secret(2))];
        let bench =
            Bench::new(&clock, [channel("hook", ChannelKind::Webhook { url, secrets })]).await;
        bench.put(&opened(1)).await;
        assert_eq!(sink.received(1).await[0].verified, Ok(place));
    }
}

#[tokio::test]
async fn case_14_a_webhook_that_is_gone_is_disabled_until_it_is_enabled() {
    let clock = clock();
    let sink_a = sink(&clock).answer(410).start().await.unwrap();
    let sink_b = sink(&clock).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("a", &sink_a.url()), hook("b", &sink_b.url())]).await;
    let (first, second) = (opened(1), opened(2));
    bench.put_for(&first, ["a"]).await;
    bench.tried(&first, "a", 1, "pending").await;
    bench.put_for(&second, ["a"]).await;
    bench.counted("b", "delivered", 1).await;
    bench.pass(seconds(90_000)).await;
    bench.clock.sleeping(1).await;
    assert_eq!(sink_a.deliveries().len(), 1);
    let disabled = outbox::disabled(&bench.store).await.unwrap();
    assert_eq!((disabled.len(), disabled[0].name.as_str()), (1, "a"));
    assert_eq!(disabled[0].since, NOW);
    let meta = bench.messages(AlertType::ChannelDisabled).await;
    assert_eq!((meta.len(), &meta[0]["data"]["channel"]), (1, &json!("a")));
    assert!(outbox::enable(&bench.store, "a").await.unwrap());
    assert!(!outbox::enable(&bench.store, "a").await.unwrap());
    bench.pass(seconds(1)).await;
    bench.counted("a", "delivered", 2).await;
    assert_eq!(sink_a.ids(), [first.id.as_str(), second.id.as_str()]);
}

#[tokio::test]
async fn case_22_a_flood_and_a_slow_sink_have_eight_in_flight_and_lose_nothing() {
    const ROWS: usize = 200;
    let clock = clock();
    let slow = |_: &_| Some(SinkAnswer::Later(seconds(2), HttpReply::new(204)));
    let sink = sink(&clock).answer_by(slow).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    for nth in 0..ROWS {
        bench.put(&message(&format!("mainnet:0x5aAe:{nth}"), 1, json!({}))).await;
    }
    for round in 1..=ROWS / 8 {
        assert_eq!(sink.received(8 * round).await.len(), 8 * round);
        bench.counted("hook", "claimed", 8).await;
        // The answers, and the eight that wait for them.
        bench.clock.sleeping(16).await;
        bench.clock.advance(seconds(2));
        bench.counted("hook", "delivered", u64::try_from(8 * round).unwrap()).await;
    }
    assert_eq!((sink.ids().len(), sink.deliveries().len()), (ROWS, ROWS));
    sink.assert_verified();
}

#[tokio::test]
async fn case_23_a_stop_leaves_the_grace_to_what_is_under_way_and_the_rest_is_sent_again() {
    let clock = clock();
    let sink = sink(&clock)
        .answer(SinkAnswer::Later(seconds(5), HttpReply::new(204)))
        .answer(SinkAnswer::Hang)
        .start()
        .await
        .unwrap();
    let mut bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    let slow = message("slow", 1, json!({}));
    let hung = message("hung", 1, json!({}));
    bench.put(&slow).await;
    sink.received(1).await;
    bench.put(&hung).await;
    sink.received(2).await;
    bench.stop.cancel();
    bench.put(&message("late", 1, json!({}))).await;
    // In small steps: when the grace begins is not to be seen.
    let began = crate::clock::Clock::now_ms(&clock);
    while !bench.running.as_ref().unwrap().is_finished() {
        clock.advance(Duration::from_millis(100));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(crate::clock::Clock::now_ms(&clock) - began >= 5_000);
    bench.ended().await;
    assert_eq!(bench.row(&slow, "hook").await.status, "delivered");
    let row = bench.row(&hung, "hook").await;
    assert_eq!((row.status.as_str(), row.attempts, row.maybe_delivered), ("pending", 1, true));
    assert_eq!(sink.deliveries().len(), 2);
    bench.start();
    bench.pass(seconds(6)).await;
    bench.counted("hook", "delivered", 3).await;
    let ids: Vec<_> = sink.deliveries().into_iter().map(|it| it.id).collect();
    assert_eq!(ids.iter().filter(|id| **id == hung.id.as_str()).count(), 2);
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn only_what_was_refused_or_not_resolved_cannot_have_arrived() {
    let clock = clock();
    let sink = sink(&clock).start().await.unwrap();
    sink.door(Door::Refused).await;
    let unresolved = hook("unresolved", "https://no-such-host.invalid/");
    let bench = Bench::new(&clock, [hook("hook", &sink.url()), unresolved]).await;
    let told = opened(1);
    bench.put(&told).await;
    let row = bench.tried(&told, "hook", 1, "pending").await;
    assert_eq!((row.maybe_delivered, row.error.as_str()), (false, "it refused the connection"));
    let row = bench.tried(&told, "unresolved", 1, "pending").await;
    assert_eq!((row.maybe_delivered, row.error.as_str()), (false, "its name was not resolved"));
    sink.door(Door::Open).await;
    sink.answer(500);
    bench.pass(seconds(6)).await;
    assert!(bench.tried(&told, "hook", 2, "pending").await.maybe_delivered);
    // What may have arrived once is not undone by a later refusal.
    sink.door(Door::Refused).await;
    bench.pass(seconds(40)).await;
    assert!(bench.tried(&told, "hook", 3, "pending").await.maybe_delivered);
}

#[tokio::test]
async fn an_attempt_ends_after_15_seconds() {
    let clock = clock();
    let sink = sink(&clock).answer(SinkAnswer::Hang).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    sink.received(1).await;
    // Its own wait, and that of the loop.
    bench.clock.sleeping(2).await;
    bench.clock.advance(Duration::from_millis(14_999));
    bench.clock.sleeping(2).await;
    assert_eq!(bench.row(&told, "hook").await.status, "claimed");
    bench.clock.advance(Duration::from_millis(1));
    let row = bench.tried(&told, "hook", 1, "pending").await;
    assert_eq!(
        (row.maybe_delivered, row.error.as_str()),
        (true, "there was no answer within 15 s")
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let clock = clock();
    let elsewhere = sink(&clock).start().await.unwrap();
    let away = HttpReply::new(307).header("location", &elsewhere.url());
    let sink = sink(&clock).answer(away).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    assert_eq!(bench.tried(&told, "hook", 1, "pending").await.error, "it answered 307");
    assert!(elsewhere.deliveries().is_empty());
}

#[tokio::test]
async fn all_else_is_given_up_after_three_days() {
    let clock = clock();
    let sink = sink(&clock).answer_by(|_| Some(503.into())).start().await.unwrap();
    let bench = Bench::new(&clock, [hook("hook", &sink.url())]).await;
    let told = opened(1);
    bench.put(&told).await;
    let mut attempts = 1;
    bench.tried(&told, "hook", 1, "pending").await;
    while bench.row(&told, "hook").await.status != "dead" {
        let next = u64::try_from(bench.row(&told, "hook").await.next_at_ms).unwrap();
        let now = crate::clock::Clock::now_ms(&clock);
        bench.pass(Duration::from_millis(next - now)).await;
        attempts += 1;
        let status = if next >= (NOW + 3 * 86_400) * 1_000 { "dead" } else { "pending" };
        bench.tried(&told, "hook", attempts, status).await;
    }
    assert_eq!(crate::clock::Clock::now_ms(&clock), (NOW + 3 * 86_400) * 1_000);
    assert_eq!(attempts, 16);
}

#[test]
fn metrics_tell_how_channels_stand() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let clock = clock();
            let gone = sink(&clock).answer(410).start().await.unwrap();
            let sink = sink(&clock).start().await.unwrap();
            let channels = [hook("a", &gone.url()), hook("b", &sink.url())];
            let bench = Bench::new(&clock, channels).await;
            bench.put(&opened(1)).await;
            // What is told of the one that is gone comes with it.
            bench.counted("b", "delivered", 2).await;
            bench.counted("a", "pending", 1).await;
            bench.pass(seconds(30)).await;
            let counted = async {
                while !handle.render().contains("_oldest_seconds{channel=\"a\"} 30") {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            };
            tokio::time::timeout(seconds(20), counted).await.unwrap();
        });
    });
    let said = handle.render();
    for line in [
        "keeper_alerts_total{channel=\"b\",result=\"delivered\"} 2",
        "keeper_alerts_total{channel=\"a\",result=\"retry\"} 1",
        "keeper_outbox_rows{channel=\"a\",status=\"pending\"} 1",
        "keeper_outbox_rows{channel=\"b\",status=\"delivered\"} 2",
        "keeper_outbox_rows{channel=\"b\",status=\"dead\"} 0",
        "keeper_outbox_oldest_seconds{channel=\"a\"} 30",
        "keeper_channel_disabled{channel=\"a\"} 1",
        "keeper_channel_disabled{channel=\"b\"} 0",
        "keeper_alert_latency_seconds_count{channel=\"b\"} 2",
    ] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
}

#[tokio::test]
#[ignore = "a measurement: how long a look into a full outbox takes"]
async fn a_look_into_a_full_outbox() {
    let clock = clock();
    let dir = tempfile::tempdir().unwrap();
    let store =
        Store::open(&format!("sqlite:{}", dir.path().join("a.db").display())).await.unwrap();
    for (name, keys) in [("one key", 1), ("many keys", 10_000)] {
        let mut tx = store.begin().await.unwrap();
        for nth in 0..10_000 {
            let told = message(&format!("{name} {}", nth % keys), nth, json!({}));
            crate::store::insert(&mut tx, &told, [name], NOW * 1_000).await.unwrap();
        }
        tx.commit().await.unwrap();
        let now_ms = crate::clock::Clock::now_ms(&clock);
        let began = tokio::time::Instant::now();
        for _ in 0..10 {
            let rows = claim(&store, (name, now_ms), 8, false).await.concat();
            outbox::settle(&store, &rows, &outbox::End::Delivered, now_ms).await.unwrap();
        }
        println!("{name}: {:?} each", began.elapsed() / 10);
        let began = tokio::time::Instant::now();
        outbox::due(&store, name, now_ms, 256).await.unwrap();
        println!("{name}: {:?} each, of which to look", began.elapsed());
    }
}
