//! The numbered cases of the design, as far as they need nodes.

use std::time::{Duration, UNIX_EPOCH};

use fusebox_rpc::{CallOptions, ManualTime, MethodClass, PoolError, PoolEvent, Rejection, Time};
use fusebox_testkit::{Door, HttpReply, RangeWording, RpcError, on};
use serde_json::json;

use super::support::{ask, call, error, events, node, of, opened, pool, warm};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn case_06_the_sixth_call_to_a_hanging_node_never_touches_the_socket() {
    let node = node().rule(on("evm_mine").hang()).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)])
        .set("deadlines", json!({ "attempt": "50ms", "connect": "50ms" }))
        .build()
        .unwrap();
    warm(&pool, &["a"]).await;
    for i in 1..=5 {
        let pool = pool.clone();
        let asked = tokio::spawn(async move { ask(&pool, "evm_mine", json!([])).await });
        node.called("evm_mine", i).await;
        time.advance(Duration::from_millis(50));
        assert!(matches!(error(asked.await.unwrap()), PoolError::Exhausted { .. }));
    }
    let sixth = error(ask(&pool, "evm_mine", json!([])).await);
    assert_eq!(sixth, PoolError::Rejected(Rejection::CircuitOpen { retry_in: 60 * SECOND }));
    assert_eq!(node.calls("evm_mine").len(), 5);
}

#[tokio::test]
async fn case_06_refused_tls_and_dns_failures_open_alike() {
    let (node, good) =
        (node().start().await.unwrap(), super::support::node().start().await.unwrap());
    node.door(Door::TlsGarbage).await;
    for url in ["http://no-such-host.invalid/", "http://127.0.0.1:1/", &node.https_url()] {
        let pool = pool(&ManualTime::new())
            .provider("bad", url)
            .provider("good", &good.url())
            .build()
            .unwrap();
        for _ in 0..10 {
            call(&pool).await.unwrap();
        }
        assert_eq!(opened(&pool).len(), 6, "{url}: the host is gone for all classes");
        let sixth = error(call(&pool.with(CallOptions::new().not("good"))).await);
        assert_eq!(sixth, PoolError::Rejected(Rejection::CircuitOpen { retry_in: 60 * SECOND }));
    }
    assert_eq!(node.connections("main"), 5);
}

#[tokio::test]
async fn case_09_a_fast_refusal_wins_nothing() {
    let limited = on("eth_call").error(RpcError::new(-32005, "rate limit"));
    let fast = node().rule(limited).start().await.unwrap();
    let slow = node().rule(on("eth_call").delay(Duration::from_millis(50))).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("fast", &fast), ("slow", &slow)]).build().unwrap();
    for _ in 0..20 {
        call(&pool).await.unwrap();
    }
    assert_eq!(fast.calls("eth_call").len(), 1, "nothing is sent before the throttle ends");
    time.advance(2 * SECOND);
    call(&pool).await.unwrap();
    call(&pool).await.unwrap();
    assert_eq!(fast.calls("eth_call").len(), 2);
    for _ in 0..10 {
        time.advance(40 * SECOND);
        call(&pool).await.unwrap();
    }
    assert_eq!(fast.calls("eth_call").len(), 12);
    assert!(opened(&pool).is_empty(), "twelve refusals are no failure");
}

/// How long a lone endpoint is left alone after this refusal.
async fn throttled_for(time: &ManualTime, refusal: RpcError) -> Duration {
    let node = node().rule(on("eth_call").error(refusal)).start().await.unwrap();
    let other = super::support::node()
        .rule(on("eth_call").http(HttpReply::new(500)))
        .start()
        .await
        .unwrap();
    let pool = of(time, &[("a", &node), ("b", &other)]).build().unwrap();
    let _ = call(&pool).await;
    match error(call(&pool.with(CallOptions::new().not("b"))).await) {
        PoolError::Rejected(Rejection::Throttled { retry_in }) => retry_in,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn case_10_hints_are_kept_to() {
    let refusal = |hint: &str| {
        RpcError::new(-32005, "rate limit exceeded").status(429).header("retry-after", hint)
    };
    let about = |got: Duration, want: Duration| got >= want && got <= want * 105 / 100;
    let time = ManualTime::new();
    assert!(about(throttled_for(&time, refusal("60")).await, 60 * SECOND));
    assert!(about(throttled_for(&time, refusal("2.5")).await, Duration::from_millis(2_500)));
    assert!(about(throttled_for(&time, refusal("86400")).await, 86_400 * SECOND));
    let date = |ahead: i64| {
        let seconds = time.wall().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let at = UNIX_EPOCH + Duration::from_secs(seconds.checked_add_signed(ahead).unwrap());
        httpdate::fmt_http_date(at)
    };
    // The node's own `Date` is the real one, unless the answer brings one along.
    let dated = |ahead| refusal(&date(ahead)).header("date", &date(0));
    assert!(about(throttled_for(&time, dated(90)).await, 90 * SECOND));
}

#[tokio::test]
async fn case_10_a_past_date_is_the_shortest_pause_and_waited_for() {
    let past = httpdate::fmt_http_date(UNIX_EPOCH + SECOND);
    let refusal =
        RpcError::new(-32005, "rate limit exceeded").status(429).header("retry-after", &past);
    let node = node().rule(on("eth_call").first(1).error(refusal)).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    let asked = tokio::spawn({
        let pool = pool.clone();
        async move { call(&pool).await }
    });
    node.called("eth_call", 1).await;
    super::support::passing(&time, asked).await.unwrap().unwrap();
    let waited = fusebox_breaker::Clock::now(&time).as_nanos();
    assert!((100_000_000..200_000_000).contains(&waited), "{waited}");
    assert_eq!(node.calls("eth_call").len(), 2);
}

#[tokio::test]
async fn case_11_a_used_up_quota_parks_the_endpoint_past_midnight_and_opens_nothing() {
    let message = "Monthly capacity limit exceeded. Visit https://example/billing to upgrade";
    let refusal = RpcError::new(-32600, message).status(403);
    let (empty, full) = (
        node().rule(on("eth_call").error(refusal)).start().await.unwrap(),
        node().start().await.unwrap(),
    );
    let time = ManualTime::new();
    let pool = of(&time, &[("empty", &empty), ("full", &full)]).build().unwrap();
    for _ in 0..10 {
        call(&pool).await.unwrap();
    }
    assert_eq!(empty.calls("eth_call").len(), 1);
    let told = events(&pool);
    let [PoolEvent::QuotaExhausted { provider, wait, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(&**provider, "empty");
    let day = Duration::from_secs(86_400).as_secs();
    let left = day - time.wall().duration_since(UNIX_EPOCH).unwrap().as_secs() % day;
    assert!(wait.as_secs() >= left && wait.as_secs() <= left + 300, "{wait:?}");
}

#[tokio::test]
async fn case_11_refused_credentials_open_the_endpoint_and_its_siblings() {
    let refusal = || RpcError::new(-32600, "Must be authenticated!").status(401);
    let node = node().rule(on("evm_mine").error(refusal())).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)])
        .breaker("category_thresholds", json!({ "auth": 2 }))
        .build()
        .unwrap();
    warm(&pool, &["a"]).await;
    for _ in 0..2 {
        ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    }
    assert_eq!(opened(&pool).len(), 6, "one for each class");
    let rejected = error(ask(&pool, "eth_blockNumber", json!([])).await);
    assert_eq!(rejected, PoolError::Rejected(Rejection::CircuitOpen { retry_in: 60 * SECOND }));
}

#[tokio::test]
async fn case_11_the_same_code_with_a_range_is_a_limit_and_is_split() {
    let node =
        node().rule(on("eth_getLogs").range_cap(50, RangeWording::Alchemy)).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    let logs = ask(&pool, "eth_getLogs", json!([{ "fromBlock": "0x1", "toBlock": "0x64" }]))
        .await
        .unwrap();
    assert_eq!(logs.as_array().unwrap().len(), 1);
    assert_eq!(node.calls("eth_getLogs").len(), 3, "one refused, two halves");
    assert!(opened(&pool).is_empty());
}

#[tokio::test]
async fn case_12_of_a_hundred_calls_in_a_second_one_is_the_last_resort() {
    let time = ManualTime::new();
    let bad = || node().rule(on("eth_call").http(HttpReply::new(500))).start();
    let nodes = [bad().await.unwrap(), bad().await.unwrap(), bad().await.unwrap()];
    let named = [("a", &nodes[0]), ("b", &nodes[1]), ("c", &nodes[2])];
    let pool = of(&time, &named).build().unwrap();
    for _ in 0..5 {
        call(&pool).await.unwrap_err();
    }
    assert_eq!(opened(&pool).len(), 3);
    let sent = || nodes.iter().map(|node| node.calls("eth_call").len()).sum::<usize>();
    let before = sent();
    let mut all_open = 0;
    for _ in 0..100 {
        match error(call(&pool).await) {
            PoolError::Rejected(Rejection::AllOpen { retry_in }) => {
                assert_eq!(retry_in, 60 * SECOND, "no deadline has moved");
                all_open += 1;
            }
            PoolError::Exhausted { .. } => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!((sent() - before, all_open), (1, 99));
    time.advance(SECOND);
    call(&pool).await.unwrap_err();
    assert_eq!(sent() - before, 2, "one more in the next second");
    let told = events(&pool);
    assert_eq!(told, [PoolEvent::AllOpenEntered { class: MethodClass::State }]);
    nodes.iter().for_each(fusebox_testkit::Node::clear);
    time.advance(60 * SECOND);
    call(&pool).await.unwrap();
    assert!(events(&pool).contains(&PoolEvent::AllOpenLeft { class: MethodClass::State }));
}
