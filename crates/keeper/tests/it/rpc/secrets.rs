//! No key leaves the proxy, whatever goes wrong.
//!
//! Each node has a marker in its path, its query and a header, and quotes it back wherever it can. Then everything that
//! the process has said is searched: its output, the bodies, the status, the metrics.

use super::proxy::{CHAIN, Start, node};
use crate::support::{stderr, stdout};
use fusebox_testkit::{Door, HttpReply, Node, NodeBuilder, RpcError, WS_OPEN, any, on};
use serde_json::json;
use std::fs;

const MARK: &str = "MARKER5ecret0123456789";

/// The nodes as a file would name them, each key from the environment; without a WebSocket where that is empty.
fn config(urls: &[(String, String)]) -> Start {
    let provider = |(at, (http, ws)): (usize, &(String, String))| {
        let ws = match ws.as_str() {
            "" => String::new(),
            ws => format!("ws = \"{ws}/${{RPC_TEST_KEY}}\"\n"),
        };
        format!(
            "[[profile.default.chain.{CHAIN}.provider]]\nname = \"n{at}\"\nhttp = \"{http}/v2/${{RPC_TEST_KEY}}?key=${{RPC_TEST_KEY}}\"\n{ws}headers = {{ authorization = \"Bearer ${{RPC_TEST_KEY}}\" }}\n"
        )
    };
    let quick = format!(
        "[profile.default.chain.{CHAIN}]\nprobe_interval = \"300ms\"\ndeadlines = {{ connect = \"300ms\", attempt = \"300ms\", logs = \"500ms\", call = \"1s\" }}\n"
    );
    let providers: String = urls.iter().enumerate().map(provider).collect();
    Start::with(&(quick + &providers)).env("RPC_TEST_KEY", MARK)
}

async fn start(builder: NodeBuilder) -> Node {
    builder.start().await.unwrap()
}

/// All that can be had of a proxy in front of these.
async fn heard(urls: &[(String, String)], stop: &str) -> String {
    let mut proxy = config(urls).run().await;
    let mut heard = String::new();
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "evm_mine" },
        { "jsonrpc": "2.0", "id": 2, "method": "eth_gasPrice", "params": [MARK.len()] },
    ]);
    for _ in 0..4 {
        let raw = json!({ "jsonrpc": "2.0", "id": 3, "method": "eth_sendRawTransaction", "params": ["0x00"] });
        let (one, two, three, four) = tokio::join!(
            proxy.ask("evm_mine"),
            proxy.post(batch.to_string()),
            proxy.ask("eth_getLogs"),
            proxy.post(raw.to_string()),
        );
        for got in [one, two, three, four] {
            heard += &format!("{} {:?} {}\n", got.status, got.headers, got.text);
        }
    }
    let mut socket = super::sockets::open(&proxy, "/").await;
    super::sockets::send(&mut socket, &batch.to_string()).await;
    heard += &format!("{:?}\n", super::sockets::next(&mut socket).await);
    for path in ["/status", "/metrics", "/health", "/", "/1"] {
        let got = proxy.get(path).await;
        heard += &format!("{:?} {}\n", got.headers, got.text);
    }
    let table =
        crate::support::keeper(["rpc", "status", "--listen", &proxy.address]).output().unwrap();
    heard += &(stdout(&table) + &stderr(&table));
    // The log is written once a second.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    proxy.signal(stop);
    proxy.ended().await;
    heard + &proxy.printed()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_fail_keeps_urls_and_headers_to_itself() {
    let quoted = |code, text: &str| RpcError::new(code, format!("{text} {MARK}")).data(MARK);
    let page = HttpReply::new(502).header("x-key", MARK).body(format!("<html>{MARK}"));
    let away = HttpReply::new(302).header("location", &format!("http://127.0.0.1:1/{MARK}"));
    let plain = |status| HttpReply::new(status).body(format!("no access for {MARK}"));
    let methods = ["evm_mine", "eth_gasPrice", "eth_getLogs", "eth_sendRawTransaction"];
    let everywhere = |rule: &dyn Fn(fusebox_testkit::Rule) -> fusebox_testkit::Rule| {
        methods.iter().fold(node(), |node, method| node.rule(rule(on(*method))))
    };
    let broken = [
        everywhere(&|on| on.http(page.clone())),
        everywhere(&|on| on.http(away.clone())),
        everywhere(&|on| on.http(plain(401))),
        everywhere(&|on| on.http(plain(403))),
        everywhere(&|on| on.http(plain(429))),
        everywhere(&|on| on.close_before_forwarding()),
        everywhere(&|on| on.truncate(5)),
        everywhere(&|on| on.hang()),
        everywhere(&|on| on.error(quoted(-32600, "Must be authenticated!"))),
        everywhere(&|on| on.error(quoted(-32005, "rate limit exceeded for key"))),
        everywhere(&|on| on.error(quoted(-32600, "Monthly capacity limit exceeded for key"))),
        everywhere(&|on| on.error(quoted(-1, "nobody knows"))),
        everywhere(&|on| on.error(quoted(-32602, "invalid params"))),
        everywhere(&|on| on.set("/id", MARK)),
        node().rule(any().http(page.clone())),
        node().rule(on(WS_OPEN).http(page.clone())),
        node().rule(on("newHeads").bad_frame()),
    ];
    let mut tasks = tokio::task::JoinSet::new();
    for (at, builder) in broken.into_iter().enumerate() {
        // Both alone and, so that a batch has several answers, beside one that works.
        tasks.spawn(async move {
            let broken = start(builder).await;
            let works = start(node()).await;
            let urls = [&broken, &works].map(|node| (node.url(), node.ws_url()));
            let alone = heard(&urls[..1], ["TERM", "INT"][at % 2]).await;
            broken.cut_websockets();
            alone + &heard(&urls, "TERM").await
        });
        // The machine has two cores.
        if tasks.len() > 3 {
            check(&tasks.join_next().await.unwrap().unwrap());
        }
    }
    while let Some(heard) = tasks.join_next().await {
        check(&heard.unwrap());
    }
    let mut shown = String::new();
    for door in [Door::Refused, Door::Silent, Door::Garbage, Door::TlsGarbage] {
        let node = start(node().door(door)).await;
        let url = if door == Door::TlsGarbage { node.https_url() } else { node.url() };
        shown += &heard(&[(url, node.ws_url())], "TERM").await;
    }
    // Without a WebSocket, which asks to be left alone meanwhile, one or both of them are open.
    let dead = start(node().door(Door::Refused)).await;
    let mut http = vec![(dead.url(), String::new())];
    shown += &heard(&http, "TERM").await;
    let also_dead = start(node().door(Door::Refused)).await;
    http.push((also_dead.url(), String::new()));
    shown += &heard(&http, "TERM").await;
    let nowhere = "no-such-host.invalid";
    shown += &heard(&[(format!("http://{nowhere}"), format!("ws://{nowhere}"))], "TERM").await;
    let (wrong, works) =
        (start(node().rule(on("eth_chainId").answer(MARK))).await, start(node()).await);
    let urls = [&wrong, &works].map(|node| (node.url(), node.ws_url()));
    let mut proxy = config(&urls[..1]).spawn();
    assert_eq!(proxy.ended().await, Some(4));
    shown += &(proxy.printed() + &heard(&urls, "TERM").await);
    check(&shown);
    for told in [
        "network",
        "exhausted",
        "circuit_open",
        "all_open",
        "fusebox_rpc_requests_total",
        "is open for",
        "serves another chain",
    ] {
        assert!(shown.contains(told), "{told} was never told");
    }
}

/// Panics with the lines that hold the marker.
fn check(heard: &str) {
    let found: Vec<_> = heard.lines().filter(|line| line.contains(MARK)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn no_bad_configuration_shows_what_was_in_it() {
    let url =
        |url: &str| format!("[[profile.default.chain.1.provider]]\nname = \"a\"\nhttp = {url}\n");
    let key = "${RPC_TEST_KEY}";
    let bad = [
        format!("a = {MARK}"),
        format!("[profile.default.chain.1]\nhttp = \"https://a/{MARK}"),
        url(&format!("\"{MARK}\"")),
        url(&format!("\"{key}\"")),
        url(&format!("\"{MARK}://a\"")),
        url(&format!("\"https://a:{MARK}/\"")),
        url(&format!("\"https://a/${{{MARK}-}}\"")),
        url(&format!("[\"{MARK}\"]")),
        url(&format!("{{ a = \"{MARK}\" }}")),
        url("\"https://a/${RPC_TEST_ODD}\""),
        url("\"https://a/${file:odd}\"") + "strategy = 1\n",
        url("\"https://a\"") + &format!("headers = {{ authorization = \"{MARK}\u{e9}\" }}\n"),
        url("\"https://a\"") + &format!("headers = {{ authorization = [\"{MARK}\"] }}\n"),
        url("\"https://a\"") + &format!("weight = \"{key}\"\n"),
        url("\"https://a\"") + &format!("breaker = {{ cooldown = \"{key}\", mode = \"{key}\" }}\n"),
        url("\"https://a\"") + &format!("[breaker]\nscope = \"{key}\"\ncooldown = \"{key}\"\n"),
        url("\"https://a\"") + &format!("[profile.\"{key}\"]\n"),
    ];
    for config in bad {
        let start = Start::with(&config)
            .env("RPC_TEST_KEY", MARK)
            .env("RPC_TEST_ODD", &format!("${{{MARK}}}"));
        fs::write(start.path().with_file_name("odd"), format!("${{{MARK}")).unwrap();
        let output = start.output();
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{config}\n{said}");
        check(&said);
    }
    for url in [
        MARK.to_owned(),
        format!("ws://a/{MARK}"),
        format!("http://a:{MARK}/"),
        format!("http://{MARK}@127.0.0.1:1"),
    ] {
        let mut proxy = Start::bare().args(["-r", &url, "--chain", "0"]).spawn();
        assert_eq!(proxy.ended().await, Some(2));
        check(&proxy.printed());
    }
    let mut proxy = Start::bare().args(["-r", &format!("http://127.0.0.1:1/{MARK}")]).spawn();
    proxy.says("no node has told its chain yet").await;
    proxy.signal("TERM");
    assert_eq!(proxy.ended().await, Some(0));
    check(&proxy.printed());
}
