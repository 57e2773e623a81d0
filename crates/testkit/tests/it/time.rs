//! How long it takes, and whether it ends.

use crate::support::{ask, call, is_cut, post, started};
use fusebox_testkit::{Chain, Door, ManualClock, Node, on};
use serde_json::json;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const SECOND: Duration = Duration::from_secs(1);

fn clock() -> ManualClock {
    ManualClock::new(1000 * SECOND)
}

#[tokio::test]
async fn a_delay_ends_when_its_time_has_come_and_not_before() {
    let clock = clock();
    let chain = Chain::new();
    let builder = Node::scripted(chain.clone()).clock(clock.clone());
    let node = builder.rule(on("eth_blockNumber").delay(40 * SECOND)).start().await.unwrap();
    let answer = started(node.url(), "eth_blockNumber");
    clock.sleeping(1).await;
    clock.advance(39 * SECOND);
    assert!(node.calls("eth_blockNumber")[0].upstream.is_none(), "forwarded too early");
    // Others are not held up.
    assert_eq!(ask(&node.url(), "eth_chainId", json!([])).await, "0x7a69");
    chain.mine_empty(1);
    clock.advance(SECOND);
    assert!(answer.await.unwrap().unwrap().contains("\"0x1\""), "it was forwarded before the wait");
}

#[tokio::test]
async fn a_call_that_a_rule_answers_is_late_too() {
    let clock = clock();
    let builder = Node::scripted(Chain::new()).clock(clock.clone());
    let builder = builder.rule(on("eth_chainId").answer("0x2a"));
    let node = builder.rule(on("eth_chainId").delay(SECOND)).start().await.unwrap();
    let answer = started(node.url(), "eth_chainId");
    clock.sleeping(1).await;
    assert!(!answer.is_finished());
    clock.advance(SECOND);
    assert!(answer.await.unwrap().unwrap().contains("0x2a"));
}

#[tokio::test]
async fn what_hangs_never_ends_whether_it_was_forwarded_or_not() {
    let before = on("eth_call").hang();
    let after = on("eth_getBalance").hang_after_forwarding();
    let node = Node::scripted(Chain::new()).rule(before).rule(after).start().await.unwrap();
    let (call, balance) = (started(node.url(), "eth_call"), started(node.url(), "eth_getBalance"));
    node.called("eth_call", 1).await;
    node.called("eth_getBalance", 1).await;
    assert_eq!(ask(&node.url(), "eth_blockNumber", json!([])).await, "0x0");
    assert_eq!(node.calls("eth_call")[0].upstream, None);
    assert_eq!(node.calls("eth_getBalance")[0].upstream.as_deref(), Some("main"));
    assert!(!call.is_finished() && !balance.is_finished());
    let url = node.url();
    drop(node);
    assert!(is_cut(call.await.unwrap()), "the dropped node left a connection open");
    assert!(is_cut(balance.await.unwrap()));
    assert!(started(url, "eth_chainId").await.unwrap().unwrap_err().is_connect());
}

#[tokio::test]
async fn a_drip_sends_a_few_bytes_after_each_pause() {
    let clock = clock();
    let builder = Node::scripted(Chain::new()).clock(clock.clone());
    let node = builder.rule(on("eth_chainId").drip(20, SECOND)).start().await.unwrap();
    let mut stream = TcpStream::connect(node.url().trim_start_matches("http://")).await.unwrap();
    let body = call(1, "eth_chainId", json!([])).to_string();
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).await.unwrap();

    let whole = json!({ "jsonrpc": "2.0", "id": 1, "result": "0x7a69" }).to_string();
    let mut read = Vec::new();
    let until = async |stream: &mut TcpStream, read: &mut Vec<u8>, end: &str| {
        while !String::from_utf8_lossy(read).ends_with(end) {
            assert_ne!(
                stream.read_buf(read).await.unwrap(),
                0,
                "{}",
                String::from_utf8_lossy(read)
            );
        }
    };
    until(&mut stream, &mut read, "\r\n\r\n").await;
    for piece in whole.as_bytes().chunks(20) {
        clock.sleeping(1).await;
        clock.advance(SECOND);
        until(&mut stream, &mut read, std::str::from_utf8(piece).unwrap()).await;
    }
    assert!(String::from_utf8(read).unwrap().ends_with(&whole));
}

#[tokio::test]
async fn a_truncated_body_is_shorter_than_it_says() {
    let rule = on("eth_chainId").truncate(10);
    let node = Node::scripted(Chain::new()).rule(rule).start().await.unwrap();
    let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.content_length(), Some(42));
    let error = response.bytes().await.unwrap_err();
    assert!(error.is_body() || error.is_decode(), "{error:?}");
}

#[tokio::test]
async fn a_connection_is_closed_before_or_after_it_happened() {
    let before = on("eth_sendRawTransaction").nth(1).close_before_forwarding();
    let after = on("eth_sendRawTransaction").nth(2).close_after_forwarding();
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).rule(before).rule(after).start().await.unwrap();
    let send = call(1, "eth_sendRawTransaction", json!([crate::support::transfer(0, 2, 1)]));
    assert!(is_cut(post(&node.url(), &send).await));
    assert_eq!(chain.pool().len(), 0);
    assert!(is_cut(post(&node.url(), &send).await));
    assert_eq!(chain.pool().len(), 1);
    let third = post(&node.url(), &send).await.unwrap().text().await.unwrap();
    assert!(third.contains("already known"), "{third}");
    let upstreams: Vec<_> = node
        .calls("eth_sendRawTransaction")
        .into_iter()
        .map(|call| call.upstream.is_some())
        .collect();
    assert_eq!(upstreams, [false, true, true]);
}

#[tokio::test]
async fn a_door_that_changes_ends_what_hangs() {
    let node = Node::scripted(Chain::new()).rule(on("eth_call").hang()).start().await.unwrap();
    let hanging = started(node.url(), "eth_call");
    node.called("eth_call", 1).await;
    node.door(Door::Open).await;
    assert!(is_cut(hanging.await.unwrap()));
}
