//! The numbered cases of the design, from 18 on, and those about recovery.

use std::time::{Duration, SystemTime};

use fusebox_rpc::{ManualTime, MethodClass, Pool, PoolError, Rejection, RpcConfig, Servers, Time};
use fusebox_testkit::{HttpReply, RpcError, on};
use serde_json::json;

use super::support::{ask, call, error, node, of, opened, warm};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn case_18_a_broken_class_takes_no_other_down() {
    let node = node().rule(on("eth_getLogs").http(HttpReply::new(500))).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).breaker("failure_threshold", 1).build().unwrap();
    warm(&pool, &["a"]).await;
    ask(&pool, "eth_getLogs", json!([{}])).await.unwrap_err();
    assert_eq!(opened(&pool), [("a".to_owned(), Some(MethodClass::Logs))]);
    for _ in 0..1_000 {
        call(&pool).await.unwrap();
    }
    let rejected = error(ask(&pool, "eth_getLogs", json!([{}])).await);
    assert!(matches!(rejected, PoolError::Rejected(Rejection::CircuitOpen { .. })));
}

#[tokio::test]
async fn case_19_every_penalised_category_opens_at_its_threshold_in_a_200() {
    for (code, message) in [
        (-32603, "no backend is currently healthy to serve traffic"),
        (-32000, "request timed out"),
        (-32600, "Must be authenticated!"),
    ] {
        let node =
            node().rule(on("evm_mine").error(RpcError::new(code, message))).start().await.unwrap();
        let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
        warm(&pool, &["a"]).await;
        for _ in 0..5 {
            assert!(opened(&pool).is_empty(), "{message}");
            ask(&pool, "evm_mine", json!([])).await.unwrap_err();
        }
        assert!(!opened(&pool).is_empty(), "{message}");
    }
}

#[tokio::test]
async fn case_19_a_result_in_a_500_is_no_success() {
    let node = node().rule(on("evm_mine").answer("0x0").status(500)).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    for _ in 0..5 {
        ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    }
    assert_eq!(opened(&pool).len(), 1);
}

#[tokio::test]
async fn case_19_a_result_that_is_none_is_not_returned_when_all_else_fails() {
    for rule in [on("eth_call").status(500), on("eth_call").wrong_id()] {
        let node = node().rule(rule).start().await.unwrap();
        let (a, b) = (node.url(), format!("{}/b", node.url()));
        let time = ManualTime::new();
        let pool = super::support::pool(&time).provider("a", &a).provider("b", &b).build().unwrap();
        assert!(matches!(error(call(&pool).await), PoolError::Exhausted { .. }));
        assert_eq!(node.calls("eth_call").len(), 2);
    }
}

#[tokio::test]
async fn case_20_two_profiles_share_a_servers_breaker_and_hear_of_it_by_their_own_names() {
    let node = node().rule(on("evm_mine").http(HttpReply::new(500))).start().await.unwrap();
    let provider = |name: &str| json!({ "chain": { "31337": { "provider": [{ "name": name, "http": node.url() }] } } });
    let config = json!({ "profile": { "a": provider("x"), "b": provider("y") } });
    let config = RpcConfig::from_value(config).unwrap();
    let servers = Servers::new(std::sync::Arc::new(ManualTime::new()));
    let of = |profile| Pool::from_config_on(&config, profile, 31_337, &servers).unwrap();
    let (a, b) = (of("a"), of("b"));
    warm(&a, &["x"]).await;
    for _ in 0..5 {
        ask(&a, "evm_mine", json!([])).await.unwrap_err();
    }
    assert!(matches!(
        error(ask(&b, "evm_mine", json!([])).await),
        PoolError::Rejected(Rejection::CircuitOpen { .. })
    ));
    let other = Some(MethodClass::Other);
    assert_eq!(opened(&a), [("x".to_owned(), other)]);
    assert_eq!(opened(&b), [("y".to_owned(), other)]);
    assert!(opened(&a).is_empty() && opened(&b).is_empty(), "each once");
    assert_eq!(node.calls("eth_chainId").len(), 1, "what one has learned the other knows");
}

#[tokio::test]
async fn case_01_a_neutral_probe_leaves_its_slot_to_the_next_call() {
    let node = node().rule(on("evm_mine").http(HttpReply::new(500))).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    for _ in 0..5 {
        ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    }
    time.advance(60 * SECOND);
    node.clear();
    node.add(on("evm_mine").error(RpcError::new(-32000, "header not found")));
    for _ in 0..1_000 {
        let answer = super::support::node_error(ask(&pool, "evm_mine", json!([])).await);
        assert_eq!(answer.0, -32000);
    }
    assert_eq!(node.calls("evm_mine").len(), 1_005);
    let status = pool.status();
    let breaker = status[0].classes.iter().find(|entry| entry.class == MethodClass::Other);
    let breaker = breaker.unwrap().breaker;
    assert_eq!((breaker.state, breaker.in_flight), (fusebox_breaker::State::HalfOpen, 0));
}

#[tokio::test]
async fn case_17_the_wall_clock_moves_no_deadline() {
    let node = node().rule(on("evm_mine").http(HttpReply::new(500))).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    for _ in 0..5 {
        ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    }
    let start: SystemTime = time.wall();
    for wall in [start - 3_600 * SECOND, start + 86_400 * SECOND] {
        time.set_wall(wall);
        let rejected = error(ask(&pool, "evm_mine", json!([])).await);
        assert_eq!(rejected, PoolError::Rejected(Rejection::CircuitOpen { retry_in: 60 * SECOND }));
    }
}

#[tokio::test]
async fn the_endpoints_recover_by_real_calls_where_no_probe_runs() {
    let (first, second) = (node().start().await.unwrap(), node().start().await.unwrap());
    let rule = first.add(on("eth_call").http(HttpReply::new(500)));
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &first), ("b", &second)]).build().unwrap();
    for _ in 0..5 {
        call(&pool).await.unwrap();
    }
    assert_eq!(opened(&pool).len(), 1);
    first.remove(rule);
    time.advance(60 * SECOND);
    let seen = |pool: &fusebox_testkit::Node| pool.calls("eth_call").len();
    for _ in 0..10 {
        call(&pool).await.unwrap();
    }
    assert_eq!(seen(&first), 6, "one call each interval");
    time.advance(10 * SECOND);
    for _ in 0..10 {
        call(&pool).await.unwrap();
    }
    assert_eq!(seen(&first), 6 + 10, "closed again after the second");
}

#[tokio::test]
async fn case_08_a_good_call_on_another_key_ends_no_streak() {
    let bad = HttpReply::new(500);
    let node = node().rule(on("evm_mine").http(bad)).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    for _ in 0..4 {
        ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    }
    call(&pool).await.unwrap();
    assert!(opened(&pool).is_empty());
    ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    assert_eq!(opened(&pool).len(), 1);
}

#[tokio::test]
async fn a_dropped_call_is_a_dropped_permit() {
    let node = node().rule(on("evm_mine").hang()).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    for i in 1..=5 {
        let pool = pool.clone();
        let asked = tokio::spawn(async move { ask(&pool, "evm_mine", json!([])).await });
        node.called("evm_mine", i).await;
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
    }
    assert_eq!(
        opened(&pool).len(),
        1,
        "a caller that gives up on a hanging call has met a failure"
    );
}
