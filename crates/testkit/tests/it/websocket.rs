//! Sockets that are cut, that break the protocol, or that do not open.

use crate::support::{Socket, call};
use fusebox_testkit::{Chain, HttpReply, ManualClock, Node, WS_OPEN, on};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::{Error, error::ProtocolError};

#[tokio::test]
async fn calls_are_answered_when_they_are_done() {
    let clock = ManualClock::new(Duration::ZERO);
    let builder = Node::scripted(Chain::new()).clock(clock.clone());
    let rule = on("eth_chainId").delay(Duration::from_secs(1));
    let node = builder.rule(rule).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.send(&call(1, "eth_chainId", json!([]))).await;
    socket.send(&call(2, "eth_blockNumber", json!([]))).await;
    assert_eq!(socket.json().await["id"], 2);
    clock.sleeping(1).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(socket.json().await["id"], 1);
}

#[tokio::test]
async fn a_batch_is_answered_as_one_message() {
    let node = Node::scripted(Chain::new()).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.send(&json!([call(1, "eth_chainId", json!([])), call(2, "nope", json!([]))])).await;
    let parts = socket.json().await;
    assert_eq!(
        (&parts[0]["result"], &parts[1]["error"]["code"]),
        (&json!("0x7a69"), &json!(-32601))
    );
}

#[tokio::test]
async fn sockets_are_cut_by_hand_and_by_the_clock() {
    let clock = ManualClock::new(Duration::ZERO);
    let lifetime = Duration::from_millis(50);
    let builder = Node::scripted(Chain::new()).clock(clock.clone());
    let node = builder.cut_websockets_every(lifetime).start().await.unwrap();
    for by_hand in [true, false, false] {
        let mut socket = Socket::open(&node.ws_url()).await.unwrap();
        assert_eq!(socket.ask("eth_chainId", json!([])).await, "0x7a69");
        if by_hand {
            node.cut_websockets();
        } else {
            clock.advance(lifetime - Duration::from_millis(1));
            assert_eq!(socket.ask("eth_chainId", json!([])).await, "0x7a69");
            clock.advance(Duration::from_millis(1));
        }
        assert!(socket.is_cut().await);
    }
    assert_eq!(node.connections("main"), 3);
}

#[tokio::test]
async fn a_bad_frame_is_none_that_the_protocol_knows() {
    let node =
        Node::scripted(Chain::new()).rule(on("eth_chainId").bad_frame()).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.send(&call(1, "eth_chainId", json!([]))).await;
    let error = socket.next().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Protocol(ProtocolError::InvalidOpcode(3))), "{error:?}");
}

#[tokio::test]
async fn a_message_may_be_no_json_or_end_in_the_middle() {
    let invalid = on("eth_chainId").invalid_json();
    let cut = on("eth_blockNumber").truncate(10);
    let node = Node::scripted(Chain::new()).rule(invalid).rule(cut).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.send(&call(1, "eth_chainId", json!([]))).await;
    let text = socket.next().await.unwrap().unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
    socket.send(&call(2, "eth_blockNumber", json!([]))).await;
    assert!(socket.is_cut().await);
}

#[tokio::test]
async fn a_hanging_or_dropped_call_leaves_the_socket_as_it_is_told_to() {
    let hang = on("eth_chainId").hang();
    let close = on("eth_blockNumber").close_after_forwarding();
    let node = Node::scripted(Chain::new()).rule(hang).rule(close).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.send(&call(1, "eth_chainId", json!([]))).await;
    node.called("eth_chainId", 1).await;
    assert_eq!(socket.ask("net_version", json!([])).await, "31337");
    socket.send(&call(2, "eth_blockNumber", json!([]))).await;
    assert!(socket.is_cut().await);
    assert!(node.calls("eth_blockNumber")[0].upstream.is_some());
}

#[tokio::test]
async fn a_socket_that_opens_is_refused_closed_or_full_of_garbage() {
    let node = Node::scripted(Chain::new())
        .rule(on(WS_OPEN).nth(1).http(HttpReply::new(503)))
        .rule(on(WS_OPEN).nth(2).close_before_forwarding())
        .rule(on(WS_OPEN).nth(3).bad_frame())
        .rule(on(WS_OPEN).nth(4).invalid_json())
        .start()
        .await
        .unwrap();
    match Socket::open(&node.ws_url()).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), 503),
        other => panic!("{:?}", other.err()),
    }
    assert!(Socket::open(&node.ws_url()).await.unwrap().is_cut().await);
    let mut garbage = Socket::open(&node.ws_url()).await.unwrap();
    assert!(matches!(garbage.next().await, Some(Err(Error::Protocol(_)))));
    let mut no_json = Socket::open(&node.ws_url()).await.unwrap();
    assert!(serde_json::from_str::<Value>(&no_json.next().await.unwrap().unwrap()).is_err());
    assert_eq!(no_json.ask("eth_chainId", json!([])).await, "0x7a69");
}
