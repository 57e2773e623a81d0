//! What is told about endpoints: the status, its table, the metrics and the log.

use super::proxy::{CHAIN, Proxy, Start, file, node, provider};
use crate::support::{anvil, keeper, stderr, stdout};
use fusebox_testkit::{Door, Node, any, on};
use serde_json::Value;
use std::{
    io::{Read, Write},
    net::TcpListener,
    process::Output,
    time::Duration,
};

const QUICK: &str = "[breaker]\ncooldown = \"1s\"\nmax_cooldown = \"1s\"\n[profile.default.chain.31337]\nprobe_interval = \"200ms\"\n";

fn table(proxy: &Proxy, more: &[&str]) -> Output {
    keeper(["rpc", "status"].iter().chain(more))
        .env("KEEPER_RPC_LISTEN", &proxy.address)
        .output()
        .unwrap()
}

/// Waits until the endpoint is as wanted.
async fn becomes(proxy: &Proxy, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for _ in 0..400 {
        last = proxy.endpoint(name).await;
        if wanted(&last) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{name} stays as it is: {last:#}")
}

fn all(endpoint: &Value, state: &str) -> bool {
    endpoint["classes"].as_array().unwrap().iter().all(|class| class["state"] == state)
}

#[tokio::test]
async fn an_endpoint_that_dies_and_comes_back_is_told_everywhere() {
    let anvil = anvil().spawn();
    let (a, b) = (
        Node::proxy(anvil.endpoint()).start().await.unwrap(),
        Node::proxy(anvil.endpoint()).start().await.unwrap(),
    );
    let mut proxy = Start::with(&format!("{QUICK}{}", file(&[&a, &b]))).run().await;
    becomes(&proxy, "a", |a| a["right_chain"] == true && all(a, "closed")).await;
    a.door(Door::Refused).await;
    let open = becomes(&proxy, "a", |a| all(a, "open")).await;
    assert!(open["classes"][0]["retry_in_ms"].as_u64().unwrap() <= 1_100, "{open}");
    proxy.says("chain 31337: a (http) is open for").await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x0");

    a.door(Door::Open).await;
    becomes(&proxy, "a", |a| {
        a["classes"].as_array().unwrap().iter().any(|class| class["state"] == "closed")
    })
    .await;
    proxy.says("a (http) is closed again for").await;
    let metrics = proxy.get("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    for line in [
        "fusebox_rpc_breaker_transitions_total{chain=\"31337\",provider=\"a\",transport=\"http\",class=\"head\",to=\"open\"}",
        "fusebox_rpc_requests_total{chain=\"31337\",provider=\"b\",transport=\"http\",class=\"head\",category=\"success\"}",
        "fusebox_rpc_request_seconds_bucket{",
        "fusebox_rpc_head_block{chain=\"31337\",provider=\"b\",transport=\"http\"} 0",
    ] {
        assert!(metrics.text.contains(line), "{line}\n{}", metrics.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_shows_each_endpoint_and_why_it_is_as_it_is() {
    let slow_down = on("eth_gasPrice").throttle(1, Duration::from_secs(60));
    let (a, c) = (
        node().rule(slow_down).start().await.unwrap(),
        node().rule(any().chain_id(5)).start().await.unwrap(),
    );
    let b = provider(CHAIN, "b", "http://127.0.0.1:1");
    let config = provider(CHAIN, "a", &a.url()) + &b + &provider(CHAIN, "c", &c.url());
    let proxy = Start::with(&config).run().await;
    becomes(&proxy, "b", |b| all(b, "open")).await;
    becomes(&proxy, "c", |c| all(c, "forced-open")).await;
    becomes(&proxy, "a", |a| a["head"] == 5).await;
    for _ in 0..2 {
        proxy.ask("eth_gasPrice").await;
    }

    let output = table(&proxy, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    let rows: Vec<_> =
        shown.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(rows[0], "CHAIN PROVIDER OVER STATE HEAD LAG THROTTLED WHY");
    assert!(rows[1].starts_with("31337 a http closed 5 0 "), "{shown}");
    assert!(rows[1].ends_with(" s asked for a pause"), "{shown}");
    assert!(rows[2].starts_with("31337 b http open for "), "{shown}");
    assert!(
        rows[2].contains("has not told its chain yet; too many consecutive network failures"),
        "{shown}"
    );
    assert!(rows[3].starts_with("31337 c http forced-open – – – serves another chain"), "{shown}");

    let output = table(&proxy, &["--json"]);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&document["v"], &document["default_chain"]), (&1.into(), &31_337.into()));
    assert_eq!(document["chains"][0]["endpoints"][0]["provider"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_proxy_is_the_table_says_so() {
    let node = node().start().await.unwrap();
    let garbage = self::node().door(Door::Garbage).start().await.unwrap();
    let [somebody, babbler] = [&node, &garbage].map(|node| node.url().replace("http://", ""));
    for (listen, why) in [
        ("127.0.0.1:1", "nothing listens there"),
        (&*somebody, "it answers with status 405"),
        (&*babbler, "what answers speaks no HTTP"),
    ] {
        let output = keeper(["rpc", "status", "--listen", listen]).output().unwrap();
        assert_eq!(output.status.code(), Some(6));
        let said = stderr(&output);
        assert!(said.contains(&format!("no proxy at {listen}: {why}; start one")), "{said}");
    }
}

#[tokio::test]
async fn a_provider_is_named_once_at_the_start_whatever_its_endpoints() {
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let ws = format!("ws = \"{}\"\n", a.ws_url());
    let [first, second] =
        [("a", &a), ("b", &b)].map(|(name, node)| provider(CHAIN, name, &node.url()));
    let mut proxy = Start::with(&format!("{first}{ws}{second}")).run().await;
    assert!(proxy.says("chain 31337 at").await.ends_with("/: a, b"), "{}", proxy.printed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_without_end_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut line = listener.accept().unwrap().0;
        let _request = line.read(&mut [0; 4096]).unwrap();
        line.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while line.write_all(&[b' '; 64 * 1024]).is_ok() {}
    });
    let output = keeper(["rpc", "status", "--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(stderr(&output).contains("does not end; start one"), "{}", stderr(&output));
}
