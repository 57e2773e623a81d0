//! What metrics say, whether or not anybody drains events.

use std::time::Duration;

use fusebox_breaker::State;
use fusebox_rpc::{CallOptions, ManualTime};
use fusebox_testkit::{RpcError, on};
use serde_json::json;

use super::heard::Heard;
use super::support::{ask, call, node, of, passing, pool, until, warm};

#[tokio::test]
async fn a_transition_is_counted_when_it_happens() {
    let heard = Heard::default();
    let _metrics = metrics::set_default_local_recorder(&heard);
    let node = node().rule(on("eth_call").status(500)).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    let counted = |class: &str, to: &str| {
        let labels =
            format!("chain = 31337, provider = a, transport = http, class = {class}, to = {to}");
        heard.text().matches(&format!("transitions_total, [{labels}]")).count()
    };
    while pool.status()[0].classes[1].breaker.state == State::Closed {
        assert_eq!(counted("state", "open"), 0);
        passing(&time, call(&pool)).await.unwrap_err();
    }
    assert_eq!((counted("state", "open"), counted("head", "open")), (1, 0));
    node.clear();
    time.advance(Duration::from_secs(60));
    call(&pool).await.unwrap();
    assert_eq!((counted("state", "half-open"), counted("state", "closed")), (1, 0));
    call(&pool).await.unwrap();
    assert_eq!((counted("state", "half-open"), counted("state", "closed")), (1, 1));
    pool.admin("a").unwrap().trip(None);
    assert_eq!((counted("state", "open"), counted("send", "open")), (2, 1));
}

/// What the endpoint is called in labels.
fn end(provider: &str, transport: &str) -> String {
    format!("chain = 31337, provider = {provider}, transport = {transport}")
}

#[tokio::test]
async fn each_metric_says_whose_it_is_and_over_what() {
    let heard = Heard::default();
    let _metrics = metrics::set_default_local_recorder(&heard);
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let time = ManualTime::new();
    let pool = pool(&time)
        .set("hedge", json!({ "after": "10ms" }))
        .provider("a", &a.url())
        .provider_with(json!({ "name": "b", "ws": b.ws_url() }))
        .build()
        .unwrap();
    warm(&pool, &["a", "b"]).await;
    // Enough calls for a hedge, and one that needs it.
    for _ in 0..20 {
        call(&pool).await.unwrap();
    }
    let slow = a.add(on("eth_call").hang());
    passing(&time, call(&pool)).await.unwrap();
    a.remove(slow);
    // A result that comes after its breaker has moved.
    let only = pool.with(CallOptions::new().not("b").no_hedge());
    let late = a.add(on("eth_getCode").hang());
    let asked = tokio::spawn({
        let only = only.clone();
        async move { ask(&only, "eth_getCode", json!([])).await }
    });
    a.called("eth_getCode", 1).await;
    pool.admin("a").unwrap().trip(None);
    pool.admin("a").unwrap().reset();
    passing(&time, asked).await.unwrap().unwrap_err();
    a.remove(late);
    // A head that goes back, an unknown error, and a limit.
    a.add(on("eth_blockNumber").answer("0x5"));
    ask(&only, "eth_blockNumber", json!([])).await.unwrap();
    a.add(on("eth_getBalance").error(RpcError::new(-1, "ouch")));
    ask(&pool, "eth_getBalance", json!([])).await.unwrap_or_default();
    a.add(on("eth_gasPrice").error(RpcError::new(-32005, "rate limit exceeded")));
    ask(&pool, "eth_gasPrice", json!([])).await.unwrap();
    time.advance(Duration::from_secs(2));
    // Everything open, more often than anybody keeps.
    for _ in 0..100 {
        for name in ["a", "b"] {
            pool.admin(name).unwrap().reset();
            pool.admin(name).unwrap().trip(None);
        }
    }
    call(&pool).await.unwrap();
    b.cut_websockets();
    until("the end", || !pool.status()[1].throttled_for.is_zero()).await;
    until("its count", || heard.text().contains("ws_reconnects")).await;

    let told = heard.text();
    let (http, ws) = (end("a", "http"), end("b", "ws"));
    for (name, labels) in [
        ("requests_total", format!("{http}, class = state, category = success")),
        ("request_seconds", format!("{ws}, class = state")),
        ("breaker_state", format!("{ws}, class = logs")),
        ("breaker_transitions_total", format!("{ws}, class = logs, to = open")),
        ("throttled_until_seconds", http.clone()),
        ("head_block", ws.clone()),
        ("head_lag_blocks", http.clone()),
        ("head_regressions_total", http.clone()),
        ("failovers_total", format!("{http}, class = state, category = server")),
        ("hedges_total", format!("{ws}, class = state")),
        ("last_resort_total", format!("{http}, class = state")),
        ("stale_results_total", format!("{http}, class = state")),
        ("events_dropped_total", "chain = 31337".to_owned()),
        ("ws_reconnects_total", ws.clone()),
        ("unknown_payloads_total", http.clone()),
    ] {
        let wanted = format!("Key(fusebox_rpc_{name}, [{labels}])");
        let found: Vec<_> = told.lines().filter(|line| line.contains(name)).take(3).collect();
        assert!(told.contains(&wanted), "{wanted} is not in {found:?}");
    }
}
