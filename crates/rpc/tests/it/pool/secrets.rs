//! No secret leaves the pool, whatever goes wrong.

use std::io::{Read, Write};

use fusebox_rpc::{ManualTime, Pool};
use fusebox_testkit::{Door, HttpReply, RpcError, on};
use serde_json::json;

use super::heard::Heard;
use super::support::{ask, events, node, passing, pool};

const MARK: &str = "MARKER5ecret0123456789";

/// A pool whose only endpoint has the marker in its path, its query and a header.
fn secret(url: &str) -> (ManualTime, Pool) {
    let time = ManualTime::new();
    let http = format!("{url}/{MARK}?key={MARK}");
    let headers = json!({ "authorization": format!("Bearer {MARK}") });
    let pool = pool(&time)
        .provider_with(json!({ "name": "a", "http": http, "headers": headers }))
        .build()
        .unwrap();
    (time, pool)
}

#[tokio::test]
async fn every_way_to_fail_keeps_url_and_headers_to_itself() {
    let quoted = |code, text: &str| RpcError::new(code, format!("{text} {MARK}")).data(MARK);
    let page = HttpReply::new(502).body(format!("<html>{MARK}"));
    let away = HttpReply::new(302).header("location", &format!("http://127.0.0.1:1/{MARK}"));
    let rules = [
        on("evm_mine").http(page),
        on("evm_mine").http(away),
        on("evm_mine").close_before_forwarding(),
        on("evm_mine").truncate(5),
        on("evm_mine").error(quoted(-32600, "Must be authenticated!")),
        on("evm_mine").error(quoted(-32005, "rate limit exceeded for key")),
        on("evm_mine").error(quoted(-32600, "Monthly capacity limit exceeded for key")),
        on("evm_mine").error(quoted(-1, "nobody knows")),
        on("evm_mine").error(quoted(-32602, "invalid params")),
        on("eth_chainId").answer(MARK),
    ];
    let heard = Heard::default();
    let _listening = heard.listen();
    let mut shown = String::new();
    for rule in rules {
        let node = node().rule(rule).start().await.unwrap();
        let (time, pool) = secret(&node.url());
        for _ in 0..3 {
            let failed = passing(&time, ask(&pool, "evm_mine", json!([]))).await.unwrap_err();
            shown += &format!("{failed} {failed:?}\n");
        }
        let _ = pool.pin().map_err(|rejection| shown += &format!("{rejection} {rejection:?}\n"));
        shown += &format!("{pool:?} {:?}\n", events(&pool));
    }
    for door in [Door::Refused, Door::Garbage, Door::TlsGarbage] {
        let node = node().start().await.unwrap();
        node.door(door).await;
        let (time, pool) = secret(&node.url());
        let failed = passing(&time, ask(&pool, "evm_mine", json!([]))).await.unwrap_err();
        shown += &format!("{failed} {failed:?} {pool:?} {:?}\n", events(&pool));
    }
    let (time, dns) = secret("http://no-such-host.invalid");
    let failed = passing(&time, ask(&dns, "evm_mine", json!([]))).await.unwrap_err();
    shown += &format!("{failed} {failed:?} {dns:?}\n");
    shown += &heard.text();
    for told in ["fusebox_rpc_requests_total", "attempt", "wrong chain", "unknown error"] {
        assert!(shown.contains(told), "{told}");
    }
    let found = shown.lines().find(|line| line.contains(MARK));
    assert_eq!(found, None);
    assert!(shown.contains("[redacted]"), "the nodes did quote it");
}

#[tokio::test]
async fn the_node_does_get_what_is_kept_from_all_others() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // A thread of its own: the request has to be seen as it is on the wire.
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).unwrap();
        let answer = b"HTTP/1.1 500 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(answer).unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    let (_, pool) = secret(&url);
    assert_eq!(pool.ready().await, Ok(()), "broken is not wrong");
    let heard = heard.join().unwrap();
    assert!(heard.starts_with(&format!("POST /{MARK}?key={MARK} ")), "{heard}");
    assert!(heard.contains(&format!("authorization: Bearer {MARK}")), "{heard}");
}
