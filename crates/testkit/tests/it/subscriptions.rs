//! Heads that do not come as they were made.

use crate::support::{Socket, call};
use fusebox_testkit::{Chain, ManualClock, Node, Rule, on};
use serde_json::{Value, json};
use std::time::Duration;

async fn subscribed(rules: impl IntoIterator<Item = Rule>) -> (Chain, Node, Socket) {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    for rule in rules {
        node.add(rule);
    }
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.ask("eth_subscribe", json!(["newHeads"])).await;
    (chain, node, socket)
}

#[tokio::test]
async fn heads_are_skipped_repeated_and_late() {
    let heads = || on("newHeads");
    let rules = [heads().nth(2).skip(), heads().nth(4).repeat(), heads().nth(6).late()];
    let (chain, node, mut socket) = subscribed(rules).await;
    chain.mine_empty(8);
    let mut seen = Vec::new();
    for _ in 0..8 {
        seen.push(socket.head().await);
    }
    assert_eq!(seen, [1, 3, 4, 4, 5, 7, 6, 8]);
    node.assert_never("newHeads");
}

#[tokio::test]
async fn heads_are_changed_undecodable_and_the_end() {
    let heads = || on("newHeads");
    let rules = [
        heads().nth(1).set("/result/number", "0x63"),
        heads().nth(2).invalid_json(),
        heads().nth(3).bad_frame(),
    ];
    let (chain, node, mut socket) = subscribed(rules).await;
    chain.mine_empty(3);
    assert_eq!(socket.head().await, 99);
    let text = socket.next().await.unwrap().unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
    assert!(socket.next().await.unwrap().is_err());

    node.clear();
    node.add(heads().close_before_forwarding());
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.ask("eth_subscribe", json!(["newHeads"])).await;
    chain.mine_empty(1);
    assert!(socket.is_cut().await);
}

#[tokio::test]
async fn a_delayed_head_does_not_hold_the_next_one() {
    let clock = ManualClock::new(Duration::ZERO);
    let chain = Chain::new();
    let rule = on("newHeads").nth(1).delay(Duration::from_secs(5));
    let builder = Node::scripted(chain.clone()).clock(clock.clone());
    let node = builder.rule(rule).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.ask("eth_subscribe", json!(["newHeads"])).await;
    chain.mine_empty(2);
    assert_eq!(socket.head().await, 2);
    clock.sleeping(1).await;
    clock.advance(Duration::from_secs(5));
    assert_eq!(socket.head().await, 1);
}

#[tokio::test]
async fn nothing_comes_after_the_subscription_is_taken_back() {
    let (chain, node, mut socket) = subscribed([]).await;
    let second = socket.ask("eth_subscribe", json!(["newHeads"])).await;
    chain.mine_empty(1);
    assert_eq!([socket.head().await, socket.head().await], [1, 1]);
    assert_eq!(socket.ask("eth_unsubscribe", json!([second])).await, true);
    assert_eq!(socket.ask("eth_unsubscribe", json!([second])).await, false);
    chain.mine_empty(2);
    assert_eq!([socket.head().await, socket.head().await], [2, 3]);
    socket.send(&call(7, "eth_subscribe", json!(["syncing"]))).await;
    assert_eq!(socket.json().await["error"]["code"], -32602);
    assert_eq!(node.calls("eth_subscribe").len(), 3);
}
