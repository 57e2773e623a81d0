//! Log queries that no endpoint serves at once.

use fusebox_rpc::{ManualTime, PoolError, pool_error};
use fusebox_testkit::{HttpReply, Node, RangeWording, RpcError, on};
use serde_json::{Value, json};

use super::support::{ask, node, node_error, of, passing, pool, warm};

fn range(from: u64, to: u64) -> Value {
    json!([{ "fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}") }])
}

/// A node whose every block from 1 to 100 has a log that tells its number.
async fn capped(blocks: u64, wording: RangeWording) -> Node {
    let chain = fusebox_testkit::Chain::new();
    for i in 1..=100_u8 {
        chain.mine(fusebox_testkit::block().log([0xaa; 20].into(), [], [i]));
    }
    Node::scripted(&chain).rule(on("eth_getLogs").range_cap(blocks, wording)).start().await.unwrap()
}

fn numbers(logs: &Value) -> Vec<u64> {
    let number =
        |log: &Value| u64::from_str_radix(&log["data"].as_str().unwrap()[2..], 16).unwrap();
    logs.as_array().unwrap().iter().map(number).collect()
}

#[tokio::test]
async fn a_range_is_split_by_what_any_provider_says_and_merged_in_order() {
    for wording in [
        RangeWording::Alchemy,
        RangeWording::QuickNode,
        RangeWording::LlamaRpc,
        RangeWording::Ankr,
        RangeWording::Bnb,
        RangeWording::SameRange,
    ] {
        let node = capped(7, wording).await;
        let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
        let logs = ask(&pool, "eth_getLogs", range(1, 100)).await.unwrap();
        assert_eq!(numbers(&logs), (1..=100).collect::<Vec<_>>(), "{wording:?}");
        let before = node.calls("eth_getLogs").len();
        ask(&pool, "eth_getLogs", range(1, 3)).await.unwrap();
        assert_eq!(
            node.calls("eth_getLogs").len(),
            before + 1,
            "{wording:?}: a short one goes as it is"
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_serves_the_range_goes_before_a_split() {
    let (short, long) =
        (capped(10, RangeWording::Alchemy).await, capped(1_000, RangeWording::Alchemy).await);
    let pool = of(&ManualTime::new(), &[("short", &short), ("long", &long)]).build().unwrap();
    for _ in 0..3 {
        ask(&pool, "eth_getLogs", range(1, 100)).await.unwrap();
    }
    assert_eq!(short.calls("eth_getLogs").len(), 1, "it is asked once, and remembered");
    assert_eq!(long.calls("eth_getLogs").len(), 3);
    ask(&pool, "eth_getLogs", range(1, 10)).await.unwrap();
    assert_eq!(short.calls("eth_getLogs").len(), 2, "what fits goes there");
}

#[tokio::test]
async fn a_range_of_too_many_pieces_is_refused_in_the_nodes_own_words() {
    let node = capped(1, RangeWording::Alchemy).await;
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    let (code, message) = node_error(ask(&pool, "eth_getLogs", range(1, 65)).await);
    assert!(code == -32600 && message.contains("block range"), "{code} {message}");
    assert_eq!(node.calls("eth_getLogs").len(), 1);
    let (code, message) = node_error(ask(&pool, "eth_getLogs", range(1, 65)).await);
    assert!(code == -32602 && message.contains("more than 64"), "{code} {message}");
    let logs = ask(&pool, "eth_getLogs", range(1, 64)).await.unwrap();
    assert_eq!(numbers(&logs).len(), 64);
}

#[tokio::test]
async fn a_split_that_breaks_moves_to_another_endpoint_as_a_whole() {
    let (a, b) = (capped(50, RangeWording::Alchemy).await, capped(50, RangeWording::Alchemy).await);
    let pool = of(&ManualTime::new(), &[("a", &a), ("b", &b)]).build().unwrap();
    a.add(on("eth_getLogs").nth(3).http(HttpReply::new(500)));
    let logs = ask(&pool, "eth_getLogs", range(1, 100)).await.unwrap();
    assert_eq!(numbers(&logs), (1..=100).collect::<Vec<_>>());
    assert_eq!((a.calls("eth_getLogs").len(), b.calls("eth_getLogs").len()), (3, 3));
}

#[tokio::test]
async fn the_end_of_an_open_range_stays_open() {
    let node = capped(60, RangeWording::Alchemy).await;
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    let logs = ask(&pool, "eth_getLogs", json!([{ "fromBlock": "0x1", "toBlock": "latest" }]))
        .await
        .unwrap();
    assert_eq!(numbers(&logs).len(), 100);
    assert_eq!(node.calls("eth_getLogs").last().unwrap().params[0]["toBlock"], "latest");
}

#[tokio::test]
async fn without_auto_split_the_refusal_is_returned() {
    let node = capped(10, RangeWording::Alchemy).await;
    let pool = of(&ManualTime::new(), &[("a", &node)]).set("auto_split", false).build().unwrap();
    let (code, _) = node_error(ask(&pool, "eth_getLogs", range(1, 100)).await);
    assert_eq!(code, -32600);
}

#[tokio::test]
async fn an_unsupported_method_is_asked_of_those_who_have_it() {
    let refusal =
        RpcError::new(-32601, "the method debug_traceCall does not exist/is not available");
    let without = node().rule(on("debug_traceCall").error(refusal)).start().await.unwrap();
    let with = node().rule(on("debug_traceCall").answer("ok")).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("without", &without), ("with", &with)]).build().unwrap();
    for _ in 0..5 {
        assert_eq!(ask(&pool, "debug_traceCall", json!([])).await.unwrap(), "ok");
    }
    assert_eq!(without.calls("debug_traceCall").len(), 1);
}

/// Pieces that wait for each other's turn are not lost, and no call is told that a healthy node is open.
#[tokio::test]
async fn calls_whose_pieces_share_a_rate_all_get_their_logs() {
    let node = capped(25, RangeWording::Alchemy).await;
    let time = ManualTime::new();
    let lone = json!({ "name": "a", "http": node.url(), "max_rps": 4 });
    let pool = pool(&time).provider_with(lone).build().unwrap();
    passing(&time, warm(&pool, &["a"])).await;
    let asked = (0..3).map(|_| ask(&pool, "eth_getLogs", range(1, 100)));
    for logs in passing(&time, futures_util::future::join_all(asked)).await {
        assert_eq!(numbers(&logs.unwrap()), (1..=100).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_lone_node_that_is_too_busy_for_a_piece_is_waited_for() {
    let node = capped(25, RangeWording::Alchemy).await;
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    ask(&pool, "eth_getLogs", range(1, 100)).await.unwrap();
    let busy = HttpReply::new(429).header("retry-after", "1");
    node.add(on("eth_getLogs").every(3).http(busy));
    let logs = passing(&time, ask(&pool, "eth_getLogs", range(1, 100))).await.unwrap();
    assert_eq!(numbers(&logs), (1..=100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_split_that_cannot_wait_says_why() {
    let node = capped(25, RangeWording::Alchemy).await;
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    ask(&pool, "eth_getLogs", range(1, 100)).await.unwrap();
    node.add(on("eth_getLogs").every(2).http(HttpReply::new(429).header("retry-after", "60")));
    let failed = passing(&time, ask(&pool, "eth_getLogs", range(1, 100))).await.unwrap_err();
    assert_eq!(pool_error(&failed).map(PoolError::reason), Some("throttled"), "{failed}");
}
