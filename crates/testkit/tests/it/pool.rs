//! geth's rules in front of anvil, which has laxer ones, and transactions that vanish.

use crate::support::{anvil, ask, refused, sender, transfer};
use alloy::node_bindings::AnvilInstance;
use fusebox_testkit::{Chain, Node, RpcError, Rule, block, on};
use serde_json::{Value, json};

const GWEI: u128 = 1_000_000_000;

async fn in_front(anvil: &AnvilInstance, rule: Rule) -> Node {
    ask(&anvil.endpoint(), "evm_setAutomine", json!([false])).await;
    Node::proxy(anvil.endpoint()).rule(rule).start().await.unwrap()
}

#[tokio::test]
async fn a_replacement_must_raise_both_fees_by_a_tenth() {
    let anvil = anvil();
    let node = in_front(&anvil, on("eth_sendRawTransaction").geth_pool()).await;
    let send = |max_fee, tip| json!([transfer(0, max_fee, tip)]);
    let (url, method) = (node.url(), "eth_sendRawTransaction");
    ask(&url, method, send(100 * GWEI, 10 * GWEI)).await;
    assert_eq!(
        refused(&url, method, send(100 * GWEI, 10 * GWEI)).await,
        (-32000, "already known".into())
    );
    for (max_fee, tip) in [(109, 11), (110, 10), (200, 10), (109, 100)] {
        let error = refused(&url, method, send(max_fee * GWEI, tip * GWEI)).await;
        assert_eq!(
            error,
            (-32000, "replacement transaction underpriced".into()),
            "{max_fee} {tip}"
        );
    }
    // anvil itself would have taken one of them.
    ask(&anvil.endpoint(), method, send(109 * GWEI, 11 * GWEI)).await;
    ask(&url, method, send(120 * GWEI, 13 * GWEI)).await;
    assert_eq!(node.calls(method).iter().filter(|call| call.upstream.is_some()).count(), 2);
}

#[tokio::test]
async fn errors_have_geths_code_and_what_was_mined_is_no_longer_pending() {
    let anvil = anvil();
    let node = in_front(&anvil, on("eth_sendRawTransaction").geth_pool()).await;
    let (url, method) = (node.url(), "eth_sendRawTransaction");
    ask(&url, method, json!([transfer(0, 100 * GWEI, GWEI)])).await;
    ask(&anvil.endpoint(), "evm_mine", json!([])).await;
    let again = refused(&url, method, json!([transfer(0, 200 * GWEI, 2 * GWEI)])).await;
    assert_eq!(again, (-32000, "nonce too low: next nonce 1, tx nonce 0".into()));
    // 10²⁵ wei are more than an account of anvil has.
    let poor = json!([transfer(1, 1_000_000_000 * GWEI * GWEI, GWEI)]);
    assert_ne!(refused(&anvil.endpoint(), method, poor.clone()).await.0, -32000);
    assert_eq!(refused(&url, method, poor).await.0, -32000);
}

#[tokio::test]
async fn what_a_rule_says_is_not_judged_as_if_the_node_had_said_it() {
    let rule = on("eth_sendRawTransaction").geth_pool().error(RpcError::new(-32005, "slow down"));
    let node = Node::scripted(Chain::new()).rule(rule).start().await.unwrap();
    let send = json!([transfer(0, 1, 1)]);
    assert_eq!(refused(&node.url(), "eth_sendRawTransaction", send.clone()).await.0, -32005);
    node.clear();
    ask(&node.url(), "eth_sendRawTransaction", send).await;
}

#[tokio::test]
async fn the_same_rules_hold_for_a_scripted_chain() {
    let chain = Chain::new();
    let rule = on("eth_sendRawTransaction").geth_pool();
    let node = Node::scripted(chain.clone()).rule(rule).start().await.unwrap();
    let (url, method) = (node.url(), "eth_sendRawTransaction");
    let hash = ask(&url, method, json!([transfer(0, 1, 1)])).await;
    assert_eq!(refused(&url, method, json!([transfer(0, 2, 1)])).await.0, -32000);
    ask(&url, method, json!([transfer(0, 2, 2)])).await;
    chain.mine(block());
    let receipt = ask(&url, "eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt["from"], json!(sender()));
    assert_eq!(refused(&url, method, json!([transfer(0, 9, 9)])).await.0, -32000);
}

#[tokio::test]
async fn a_silent_drop_looks_like_a_success() {
    let anvil = anvil();
    let node = in_front(&anvil, on("eth_sendRawTransaction").first(1).drop_silently()).await;
    let send = json!([transfer(0, 100 * GWEI, GWEI)]);
    let hash = ask(&node.url(), "eth_sendRawTransaction", send.clone()).await;
    let found = async || ask(&anvil.endpoint(), "eth_getTransactionByHash", json!([hash])).await;
    assert_eq!(found().await, Value::Null);
    assert_eq!(ask(&node.url(), "eth_sendRawTransaction", send).await, hash);
    assert_eq!(found().await["hash"], hash);
}
