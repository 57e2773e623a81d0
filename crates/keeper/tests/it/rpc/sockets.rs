//! Requests over a WebSocket.

use super::proxy::{DEADLINE, Proxy, Start, file, node};
use fusebox_testkit::on;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use std::time::Duration;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, protocol::frame::coding::CloseCode},
};

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(super) async fn open(proxy: &Proxy, path: &str) -> Socket {
    connect_async(format!("ws://{}{path}", proxy.address)).await.unwrap().0
}

pub(super) async fn send(socket: &mut Socket, text: &str) {
    socket.send(Message::text(text.to_owned())).await.unwrap();
}

pub(super) async fn next(socket: &mut Socket) -> Message {
    timeout(DEADLINE, socket.next()).await.unwrap().unwrap().unwrap()
}

async fn text(socket: &mut Socket) -> String {
    next(socket).await.into_text().unwrap().to_string()
}

fn call(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

#[tokio::test]
async fn requests_over_a_websocket_are_answered_as_over_http() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    for path in ["/", "/31337"] {
        let mut socket = open(&proxy, path).await;
        send(&mut socket, &call("1e3", "eth_blockNumber")).await;
        assert_eq!(text(&mut socket).await, r#"{"jsonrpc":"2.0","id":1e3,"result":"0x5"}"#);
        let batch = format!("[{},{}]", call("1", "eth_blockNumber"), call("2", "eth_chainId"));
        socket.send(Message::binary(batch.into_bytes())).await.unwrap();
        assert_eq!(
            text(&mut socket).await,
            r#"[{"jsonrpc":"2.0","id":1,"result":"0x5"},{"jsonrpc":"2.0","id":2,"result":"0x7a69"}]"#
        );
        // A notification has no answer: the next frame is that of what follows.
        send(&mut socket, r#"{"jsonrpc":"2.0","method":"eth_blockNumber"}"#).await;
        send(&mut socket, "{").await;
        let answer: Value = serde_json::from_str(&text(&mut socket).await).unwrap();
        assert_eq!(answer["error"]["code"], -32_700);
        send(&mut socket, &call("7", "eth_subscribe")).await;
        let answer: Value = serde_json::from_str(&text(&mut socket).await).unwrap();
        assert_eq!(answer["error"]["code"], -32_601);
        assert!(answer["error"]["message"].as_str().unwrap().contains("reconnect"));
    }
    assert!(connect_async(format!("ws://{}/1", proxy.address)).await.is_err(), "another chain");
}

#[tokio::test]
async fn a_slow_call_holds_up_no_other_one() {
    let slow = on("eth_gasPrice").delay(Duration::from_secs(2));
    let node = node().rule(slow).start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let mut socket = open(&proxy, "/").await;
    send(&mut socket, &call("1", "eth_gasPrice")).await;
    node.called("eth_gasPrice", 1).await;
    for id in 2..70 {
        send(&mut socket, &call(&id.to_string(), "eth_blockNumber")).await;
    }
    let mut ids = Vec::new();
    for _ in 1..70 {
        let answer: Value = serde_json::from_str(&text(&mut socket).await).unwrap();
        ids.push(answer["id"].as_u64().unwrap());
    }
    assert_eq!(ids.last(), Some(&1));
    ids.sort_unstable();
    assert_eq!(ids, (1..70).collect::<Vec<_>>(), "each once");
}

#[tokio::test]
async fn at_the_end_what_was_asked_is_answered_and_the_socket_says_goodbye() {
    let slow = on("eth_gasPrice").delay(Duration::from_millis(700)).answer("0x1");
    let node = node().rule(slow).start().await.unwrap();
    let mut proxy = Start::with(&file(&[&node])).run().await;
    let mut socket = open(&proxy, "/").await;
    send(&mut socket, &call("5", "eth_gasPrice")).await;
    node.called("eth_gasPrice", 1).await;
    proxy.signal("TERM");
    assert_eq!(text(&mut socket).await, r#"{"jsonrpc":"2.0","id":5,"result":"0x1"}"#);
    let Message::Close(Some(frame)) = next(&mut socket).await else { panic!("no goodbye") };
    assert_eq!(frame.code, CloseCode::Away);
    assert_eq!(proxy.ended().await, Some(0));
}
