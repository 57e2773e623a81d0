//! What happens before a word of HTTP.

use crate::support::{Socket, ask, call, post, within};
use fusebox_testkit::{Chain, Door, Node};
use futures_util::FutureExt;
use serde_json::json;
use std::io::ErrorKind;
use tokio::{io::AsyncReadExt, net::TcpStream};

fn address(node: &Node) -> String {
    node.url().trim_start_matches("http://").to_owned()
}

#[tokio::test]
async fn a_shut_door_refuses_and_opens_again_at_the_same_place() {
    let node = Node::scripted(Chain::new()).start().await.unwrap();
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    for _ in 0..3 {
        node.door(Door::Refused).await;
        let error = TcpStream::connect(address(&node)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        node.door(Door::Open).await;
        assert_eq!(ask(&node.url(), "eth_chainId", json!([])).await, "0x7a69");
    }
    assert!(socket.is_cut().await, "a connection outlived the shut door");
}

#[tokio::test]
async fn a_door_may_be_shut_from_the_beginning_and_for_one_endpoint_alone() {
    let node =
        Node::scripted(Chain::new()).endpoint("b").door(Door::Refused).start().await.unwrap();
    node.door_of("b", Door::Open).await;
    assert_eq!(ask(&node.url_of("b"), "eth_chainId", json!([])).await, "0x7a69");
    assert!(post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap_err().is_connect());
    assert_eq!((node.connections("b"), node.connections("main")), (1, 0));
}

#[tokio::test]
async fn garbage_is_neither_http_nor_a_websocket() {
    let node = Node::scripted(Chain::new()).door(Door::Garbage).seed(7).start().await.unwrap();
    let error = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap_err();
    assert!(error.is_request() && !error.is_connect(), "{error:?}");
    assert!(Socket::open(&node.ws_url()).await.is_err());
    let mut bytes = Vec::new();
    TcpStream::connect(address(&node)).await.unwrap().read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes.len(), 64);
    assert_eq!(node.connections("main"), 3);
    assert_eq!(node.all_calls(), []);
}

#[tokio::test]
async fn tls_garbage_fails_the_handshake() {
    let node = Node::scripted(Chain::new()).door(Door::TlsGarbage).start().await.unwrap();
    let error = post(&node.https_url(), &call(1, "eth_chainId", json!([]))).await.unwrap_err();
    let text = format!("{error:?}");
    assert!(error.is_connect() && text.contains("InvalidMessage"), "{text}");
}

#[tokio::test]
async fn a_silent_door_takes_the_connection_and_says_nothing() {
    let node = Node::scripted(Chain::new()).door(Door::Silent).start().await.unwrap();
    let mut stream = TcpStream::connect(address(&node)).await.unwrap();
    let mut byte = [0];
    let read = stream.read(&mut byte);
    tokio::pin!(read);
    // Accepted, and after that the node has had its turn.
    within(async {
        while node.connections("main") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!((&mut read).now_or_never().is_none());
    node.door(Door::Refused).await;
    assert!(matches!(within(read).await, Ok(0) | Err(_)));
}
