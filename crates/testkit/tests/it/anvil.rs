//! In front of a real node.

use crate::support::{Socket, anvil, ask, call, is_cut, post, refused, whole};
use fusebox_testkit::{Finality, Node, RangeWording, any, on};
use serde_json::{Value, json};

#[tokio::test]
async fn without_rules_nothing_changes() {
    let anvil = anvil();
    let node = Node::proxy(anvil.endpoint()).start().await.unwrap();
    for (method, params) in [
        ("eth_chainId", json!([])),
        ("eth_getBlockByNumber", json!(["latest", true])),
        ("eth_getBalance", json!([anvil.addresses()[0], "latest"])),
        ("eth_getBlockByNumber", json!(["0x99", false])),
        ("no_such_method", json!([])),
    ] {
        let direct = whole(&anvil.endpoint(), method, params.clone()).await;
        assert_eq!(whole(&node.url(), method, params).await, direct, "{method}");
    }
}

#[tokio::test]
async fn a_real_head_is_seen_stale_and_its_subscription_is_spoilt() {
    let anvil = anvil();
    let skip = on("newHeads").nth(2).skip();
    let node = Node::proxy(anvil.endpoint()).rule(skip).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.ask("eth_subscribe", json!(["newHeads"])).await;
    for _ in 0..3 {
        ask(&anvil.endpoint(), "evm_mine", json!([])).await;
    }
    assert_eq!([socket.head().await, socket.head().await], [1, 3]);

    node.add(any().stale(2));
    assert_eq!(ask(&node.url(), "eth_blockNumber", json!([])).await, "0x1");
    let latest = ask(&node.url(), "eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(latest["number"], "0x1");
    let by_hash = ask(&anvil.endpoint(), "eth_getBlockByNumber", json!(["0x2", false])).await;
    let seen = ask(&node.url(), "eth_getBlockByHash", json!([by_hash["hash"], false])).await;
    assert_eq!(seen, Value::Null);
    let balance = json!([anvil.addresses()[0], "0x2"]);
    assert_eq!(refused(&node.url(), "eth_getBalance", balance).await.0, -32000);
}

#[tokio::test]
async fn views_and_caps_hold_for_a_real_chain_too() {
    let anvil = anvil();
    for _ in 0..9 {
        ask(&anvil.endpoint(), "evm_mine", json!([])).await;
    }
    let builder = Node::proxy(anvil.endpoint());
    let builder = builder.rule(any().hide(4..=4).chain_id(5).finality(Finality::At(3)));
    let builder = builder.rule(on("eth_getLogs").range_cap(7, RangeWording::LlamaRpc));
    let node = builder.start().await.unwrap();
    let number = async |tag| {
        ask(&node.url(), "eth_getBlockByNumber", json!([tag, false])).await["number"].clone()
    };
    assert_eq!(number("finalized").await, "0x3");
    assert_eq!(number("0x4").await, Value::Null);
    assert_eq!(number("latest").await, "0x9");
    assert_eq!(ask(&node.url(), "eth_chainId", json!([])).await, "0x5");
    let logs = |from| json!([{ "fromBlock": from, "toBlock": "latest" }]);
    assert_eq!(ask(&node.url(), "eth_getLogs", logs("0x3")).await, json!([]));
    assert_eq!(refused(&node.url(), "eth_getLogs", logs("0x2")).await.0, -32603);
}

#[tokio::test]
async fn two_anvils_are_one_node_that_changes_its_mind() {
    let (first, second) = (anvil(), anvil());
    ask(&second.endpoint(), "evm_mine", json!([])).await;
    let builder = Node::proxy(first.endpoint()).upstream("other", second.endpoint());
    let node = builder.rule(any().after(1).pin_to("other")).start().await.unwrap();
    assert_eq!(ask(&node.url(), "eth_blockNumber", json!([])).await, "0x0");
    assert_eq!(ask(&node.url(), "eth_blockNumber", json!([])).await, "0x1");
}

#[tokio::test]
async fn a_call_happens_although_its_answer_never_comes() {
    let anvil = anvil();
    let rule = on("evm_mine").close_after_forwarding();
    let node = Node::proxy(anvil.endpoint()).rule(rule).start().await.unwrap();
    assert!(is_cut(post(&node.url(), &call(1, "evm_mine", json!([]))).await));
    assert_eq!(ask(&anvil.endpoint(), "eth_blockNumber", json!([])).await, "0x1");
    node.clear();
    node.add(on("evm_mine").close_before_forwarding());
    assert!(is_cut(post(&node.url(), &call(1, "evm_mine", json!([]))).await));
    assert_eq!(ask(&anvil.endpoint(), "eth_blockNumber", json!([])).await, "0x1");
}

#[tokio::test]
async fn a_dead_upstream_is_a_bad_gateway() {
    let url = {
        let anvil = anvil();
        anvil.endpoint()
    };
    let node = Node::proxy(url).start().await.unwrap();
    let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
    assert_eq!(response.status(), 502);
    assert!(response.text().await.unwrap().contains("the upstream does not answer"));
}
