//! What runs in the background, and what an operator sees of it.

use std::time::Duration;

use fusebox_breaker::{Mode, State};
use fusebox_rpc::{
    CallOptions, ManualTime, MethodClass, Pool, PoolError, PoolEvent, PoolSnapshot, Rejection,
};
use fusebox_testkit::{Chain, HttpReply, Node, RangeWording, any, on};
use serde_json::json;

use super::support::{ask, call, error, events, node, of, opened, passing, warm};

const SECOND: Duration = Duration::from_secs(1);

/// Runs the pool's background work until it is dropped.
pub(super) struct Running(tokio::task::JoinHandle<()>);

impl Running {
    pub(super) fn start(pool: &Pool) -> Self {
        let pool = pool.clone();
        Self(tokio::spawn(async move { pool.run(std::future::pending()).await }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn state(pool: &Pool, at: usize, class: MethodClass) -> State {
    let status = &pool.status()[at];
    status.classes.iter().find(|entry| entry.class == class).unwrap().breaker.state
}

/// The next rounds of probes of every endpoint, until each has been asked for logs so often.
async fn rounds(time: &ManualTime, nodes: &[&Node], count: usize) {
    for node in nodes {
        passing(time, node.called("eth_getLogs", count)).await;
    }
}

#[tokio::test]
async fn a_probe_exercises_what_callers_use() {
    let node = node().start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    let _running = Running::start(&pool);
    node.called("eth_getLogs", 1).await;
    for method in ["eth_chainId", "eth_getBlockByNumber", "eth_getBalance"] {
        assert_eq!(node.calls(method).len(), 1, "{method}");
    }
    assert!(node.calls("eth_getLogs")[0].params[0]["blockHash"].is_string());
    assert_eq!(pool.status()[0].head, Some(super::support::BLOCKS));
    assert_eq!(pool.status()[0].right_chain, Some(true));
    rounds(&time, &[&node], 2).await;
    assert_eq!(node.calls("eth_chainId").len(), 1, "asked again after ten minutes only");
}

#[tokio::test]
async fn case_12_a_lone_endpoint_recovers_without_traffic() {
    let node = node().start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    pool.admin("a").unwrap().trip(None);
    assert_eq!(state(&pool, 0, MethodClass::State), State::Open);
    let _running = Running::start(&pool);
    time.sleeping(1).await;
    node.assert_never("eth_getBalance");
    time.advance(60 * SECOND);
    rounds(&time, &[&node], 3).await;
    for class in [MethodClass::Head, MethodClass::State, MethodClass::Logs] {
        assert_eq!(state(&pool, 0, class), State::Closed, "{class}");
    }
    assert_eq!(state(&pool, 0, MethodClass::Send), State::HalfOpen, "no probe sends anything");
}

#[tokio::test]
async fn the_logs_of_a_chain_that_has_only_its_first_block_are_probed_by_its_own_hash() {
    let node = Node::scripted(Chain::new()).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    let _running = Running::start(&pool);
    let logs = node.called("eth_getLogs", 1).await.remove(0);
    let genesis = ask(&pool, "eth_getBlockByNumber", json!(["0x0", false])).await.unwrap();
    assert_eq!(genesis["number"], "0x0");
    assert_eq!(logs.params[0]["blockHash"], genesis["hash"]);
}

#[tokio::test]
async fn an_endpoint_that_lags_is_asked_last_and_opens_by_its_probes() {
    let (behind, first, second) = (
        node().rule(any().stale(20)).start().await.unwrap(),
        node().start().await.unwrap(),
        node().start().await.unwrap(),
    );
    let time = ManualTime::new();
    let nodes = [("behind", &behind), ("first", &first), ("second", &second)];
    let pool =
        of(&time, &nodes).breaker("category_thresholds", json!({ "lag": 3 })).build().unwrap();
    let _running = Running::start(&pool);
    for node in [&behind, &first, &second] {
        node.called("eth_getLogs", 1).await;
    }
    call(&pool).await.unwrap();
    behind.assert_never("eth_call");
    assert_eq!(pool.status()[0].lag, 20);
    // A read of a block that it has is as good as anybody's.
    ask(&pool, "eth_call", json!([{}, "0x10"])).await.unwrap();
    assert_eq!(behind.calls("eth_call").len(), 1);
    rounds(&time, &[&behind, &first, &second], 5).await;
    assert!(opened(&pool).contains(&("behind".to_owned(), Some(MethodClass::Head))));
    assert_eq!(state(&pool, 0, MethodClass::State), State::Closed, "it is behind, not gone");
}

#[tokio::test]
async fn probes_leave_a_throttled_endpoint_alone() {
    let limited = HttpReply::new(429).header("retry-after", "60");
    let node = node().rule(on("eth_getBalance").http(limited)).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    let _running = Running::start(&pool);
    node.called("eth_getBalance", 1).await;
    for _ in 0..4 {
        time.sleeping(1).await;
        time.advance(12 * SECOND);
        tokio::task::yield_now().await;
    }
    assert_eq!(node.calls("eth_getBalance").len(), 1);
}

#[tokio::test]
async fn case_17_a_restart_changes_no_deadline() {
    let node = node().rule(on("evm_mine").http(HttpReply::new(500))).start().await.unwrap();
    let time = ManualTime::new();
    let make = || of(&time, &[("a", &node)]).build().unwrap();
    let pool = make();
    warm(&pool, &["a"]).await;
    for _ in 0..5 {
        ask(&pool, "evm_mine", json!([])).await.unwrap_err();
    }
    time.advance(20 * SECOND);
    let saved = serde_json::to_string(&pool.save()).unwrap();
    let read = || serde_json::from_str::<PoolSnapshot>(&saved).unwrap();
    let pool = make();
    pool.restore(&read());
    let rejected = error(ask(&pool, "evm_mine", json!([])).await);
    assert_eq!(rejected, PoolError::Rejected(Rejection::CircuitOpen { retry_in: 40 * SECOND }));
    time.advance(40 * SECOND);
    assert_eq!(state(&pool, 0, MethodClass::Other), State::HalfOpen);
    let late = make();
    late.restore(&read());
    assert_eq!(state(&late, 0, MethodClass::Other), State::HalfOpen);
    assert_eq!(state(&late, 0, MethodClass::State), State::Closed);
    let unknown = make();
    unknown.restore(&PoolSnapshot::unknown());
    assert_eq!(state(&unknown, 0, MethodClass::State), State::HalfOpen);
}

#[tokio::test]
async fn a_restart_forgets_neither_a_limit_nor_a_pause() {
    let limited = HttpReply::new(429).header("retry-after", "60");
    let node = node()
        .rule(on("eth_getLogs").range_cap(7, RangeWording::Alchemy))
        .rule(on("eth_getBalance").http(limited))
        .start()
        .await
        .unwrap();
    let time = ManualTime::new();
    let make = || of(&time, &[("a", &node)]).build().unwrap();
    let pool = make();
    warm(&pool, &["a"]).await;
    let logs = json!([{ "fromBlock": "0x1", "toBlock": "0x14" }]);
    let _ = ask(&pool, "eth_getLogs", logs.clone()).await;
    ask(&pool, "eth_getBalance", json!(["0x0000000000000000000000000000000000000000", "latest"]))
        .await
        .unwrap_err();
    let saved = serde_json::to_string(&pool.save()).unwrap();
    let read = || serde_json::from_str::<PoolSnapshot>(&saved).unwrap();
    time.advance(20 * SECOND);
    let later = make();
    later.restore(&read());
    let left = later.status()[0].throttled_for;
    assert!(left > 35 * SECOND && left <= 45 * SECOND, "{left:?}");
    time.advance(50 * SECOND);
    let before = node.calls("eth_getLogs").len();
    let _ = ask(&later, "eth_getLogs", logs).await;
    let asked = node.calls("eth_getLogs").split_off(before);
    assert!(!asked.is_empty());
    for call in asked {
        let number = |name: &str| {
            let text = call.params[0][name].as_str().unwrap();
            u64::from_str_radix(&text[2..], 16).unwrap()
        };
        assert!(number("toBlock") - number("fromBlock") < 7, "{call:?}");
    }
}

#[tokio::test]
async fn an_operator_can_take_an_endpoint_out_and_back() {
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let pool = of(&ManualTime::new(), &[("a", &a), ("b", &b)]).build().unwrap();
    warm(&pool, &["a", "b"]).await;
    let admin = pool.admin("a").unwrap();
    admin.set_mode(Mode::ForcedOpen);
    call(&pool).await.unwrap();
    a.assert_never("eth_call");
    admin.set_mode(Mode::Normal);
    admin.reset();
    call(&pool).await.unwrap();
    assert_eq!(a.calls("eth_call").len(), 1);
    assert!(pool.admin("nobody").is_none());
}

/// Two nodes of which the first hangs, and twenty calls that pay for one hedge.
async fn hedged() -> (Node, Node, Pool, ManualTime) {
    let (slow, fast) = (node().start().await.unwrap(), node().start().await.unwrap());
    let time = ManualTime::new();
    let hedge = json!({ "after": "100ms" });
    let pool = of(&time, &[("slow", &slow), ("fast", &fast)]).set("hedge", hedge).build().unwrap();
    warm(&pool, &["slow", "fast"]).await;
    for _ in 0..20 {
        call(&pool).await.unwrap();
    }
    slow.add(on("eth_call").hang());
    (slow, fast, pool, time)
}

#[tokio::test]
async fn case_15_the_loser_of_a_hedge_counts_for_nothing() {
    let (slow, fast, pool, time) = hedged().await;
    let asked = tokio::spawn({
        let pool = pool.clone();
        async move { call(&pool).await }
    });
    slow.called("eth_call", 21).await;
    time.advance(Duration::from_millis(100));
    asked.await.unwrap().unwrap();
    assert_eq!(fast.calls("eth_call").len(), 1);
    let breaker = pool.status()[0].classes[1].breaker;
    assert_eq!((breaker.state, breaker.total_streak), (State::Closed, 0));
    assert!(events(&pool).iter().all(|event| !matches!(event, PoolEvent::Breaker { .. })));
}

#[tokio::test]
async fn case_15_an_open_endpoint_gets_no_hedge() {
    let (slow, fast, pool, time) = hedged().await;
    pool.admin("fast").unwrap().trip(None);
    let asked =
        tokio::spawn(async move { call(&pool.with(CallOptions::new().deadline(SECOND))).await });
    slow.called("eth_call", 21).await;
    time.advance(Duration::from_millis(100));
    time.sleeping(1).await;
    time.advance(SECOND);
    asked.await.unwrap().unwrap_err();
    fast.assert_never("eth_call");
}
