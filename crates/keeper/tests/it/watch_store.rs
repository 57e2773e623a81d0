//! The cases of the specification that need a file or outlive the process.

use crate::{
    daemon::Daemon,
    support::{Chain, Running, anvil},
};
use alloy::providers::Provider;
use fusebox_testkit::{Node, RangeWording, on};
use serde_json::{Value, json};
use std::time::Duration;

/// A keeper of this chain by the node at these URLs.
fn daemon(chain: &Chain, http: &str, ws: Option<&str>, more: &str) -> Daemon {
    let host = chain.host;
    let ws = ws.map(|ws| format!("ws = \"{ws}\"\n")).unwrap_or_default();
    Daemon::new(&format!(
        r#"
[[profile.default.chain.31337.provider]]
name = "node"
http = "{http}"
{ws}
[chain.dev]
id = 31337
profile = "default"
{more}

[[chain.dev.watch]]
address = "{host}"
start = 1

[store]
url = "sqlite:keeper.db"
"#
    ))
}

async fn call(chain: &Chain, method: &'static str, params: Value) {
    let _: Value = chain.provider.raw_request(method.into(), params).await.unwrap();
}

/// The next line of this type.
fn next(keeper: &Running, kind: &str) -> Value {
    loop {
        let line = keeper.json();
        if line["type"] == kind {
            return line;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_06_a_reorg_while_the_keeper_is_down_is_found_at_the_start() {
    let chain = Chain::start().await;
    let daemon = daemon(&chain, &chain.url(), None, "poll = \"250ms\"");
    let keeper = daemon.start();
    let opened = chain.trip().await;
    let first = next(&keeper, "breaker.opened");
    assert_eq!(first["block"]["number"], opened);
    call(&chain, "anvil_mine", json!([3, 1])).await;
    assert_eq!(keeper.stop("TERM").0, Some(0));
    // The last failure and what came after it.
    call(&chain, "anvil_reorg", json!([5, []])).await;
    let keeper = daemon.start();
    let retracted = next(&keeper, "breaker.opened");
    assert_eq!((&retracted["phase"], &retracted["fact"]), (&"retracted".into(), &first["fact"]));
    // What is left of the failures on the new chain, and one more.
    chain.ask().await;
    chain.ask().await;
    let again = next(&keeper, "breaker.opened");
    assert_eq!(again["phase"], "seen");
    assert_ne!(again["fact"], first["fact"]);
    assert_eq!(keeper.stop("TERM").0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_07_a_reorg_of_eight_below_four_confirmations_degrades_the_chain_and_is_read_again() {
    let chain = Chain::start().await;
    let more = "poll = \"250ms\"\nconfirmations = 4\nreorg_window = 20";
    let daemon = daemon(&chain, &chain.url(), None, more);
    let keeper = daemon.start();
    chain.trip().await;
    next(&keeper, "breaker.opened");
    call(&chain, "anvil_mine", json!([6, 1])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    call(&chain, "anvil_reorg", json!([8, []])).await;
    let degraded = next(&keeper, "chain.degraded");
    assert!(degraded["reason"].as_str().unwrap().contains("counted as final"), "{degraded}");
    let retracted = next(&keeper, "breaker.opened");
    assert_eq!(
        (&retracted["phase"], &retracted["after_final"]),
        (&"retracted".into(), &true.into())
    );
    chain.ask().await;
    chain.ask().await;
    assert_eq!(next(&keeper, "breaker.opened")["phase"], "seen", "it goes on");

    // Deeper than the window.
    call(&chain, "anvil_mine", json!([40, 1])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    call(&chain, "anvil_reorg", json!([35, []])).await;
    let identity = next(&keeper, "chain.identity");
    assert!(
        identity["reason"].as_str().unwrap().contains("nor are the 20 before it"),
        "{identity}"
    );
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]), "nothing more is told, and it stays up");
    let mut keeper = daemon.start();
    assert_eq!(keeper.end(), Some(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_08_a_websocket_that_breaks_off_again_and_again_loses_nothing() {
    let chain = Chain::start().await;
    let node = Node::proxy(chain.url())
        .rule(on("newHeads").every(4).bad_frame())
        .cut_websockets_every(Duration::from_millis(50))
        .start()
        .await
        .unwrap();
    let daemon = daemon(&chain, &node.url(), Some(&node.ws_url()), "poll = \"250ms\"");
    let keeper = daemon.start();
    for _ in 0..4 {
        let opened = chain.trip().await;
        assert_eq!(next(&keeper, "breaker.opened")["block"]["number"], opened);
        let closed = chain.recover().await;
        assert_eq!(next(&keeper, "breaker.closed")["block"]["number"], closed);
    }
    node.called("eth_subscribe", 2).await;
    for call in node.calls("eth_subscribe") {
        assert_eq!(call.params, json!(["newHeads"]));
    }
    for filter in ["eth_newFilter", "eth_newBlockFilter", "eth_getFilterChanges"] {
        node.assert_never(filter);
    }
    assert_eq!(keeper.stop("TERM").0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_21_another_chain_under_the_same_name_is_refused_at_the_start() {
    let chain = Chain::start().await;
    let node = Node::proxy(chain.url()).start().await.unwrap();
    let daemon = daemon(&chain, &node.url(), None, "poll = \"250ms\"");
    let keeper = daemon.start();
    chain.trip().await;
    next(&keeper, "breaker.opened");
    assert_eq!(keeper.stop("TERM").0, Some(0));

    let by_id = node.add(fusebox_testkit::any().chain_id(5));
    let mut keeper = daemon.start();
    keeper.says("none of the nodes is on chain 31337");
    assert_eq!(keeper.end(), Some(4));
    node.remove(by_id);

    // One that was begun anew shares its genesis, and not what was final.
    let anew = Chain::on(anvil().args(["--timestamp", "1700000000"]).spawn()).await;
    let other = self::daemon(&anew, &anew.url(), None, "");
    std::fs::copy(other.file(), daemon.file()).unwrap();
    let mut keeper = daemon.start();
    keeper.says("this is another chain, or one begun anew");
    assert_eq!(keeper.end(), Some(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_strangers_emit_while_it_is_down_is_told_when_it_is_back() {
    let chain = Chain::start().await;
    let daemon = Daemon::new(&format!(
        r#"
[[profile.default.chain.31337.provider]]
name = "node"
http = "{}"
[chain.dev]
id = 31337
poll = "250ms"
[[chain.dev.watch]]
anywhere = true
start = "latest"
alert = true
"#,
        chain.url()
    ));
    let keeper = daemon.start();
    keeper.says("watching");
    let opened = chain.trip().await;
    assert_eq!(next(&keeper, "breaker.opened")["block"]["number"], opened);
    keeper.kill();
    let closed = chain.recover().await;
    let keeper = daemon.start();
    assert_eq!(next(&keeper, "breaker.closed")["block"]["number"], closed);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learned_of_a_node_outlives_the_keeper() {
    let chain = Chain::start().await;
    call(&chain, "anvil_mine", json!([300, 1])).await;
    let node = Node::proxy(chain.url()).start().await.unwrap();
    node.add(on("eth_getLogs").range_cap(7, RangeWording::Alchemy));
    let daemon = daemon(&chain, &node.url(), None, "poll = \"100ms\"");
    let keeper = daemon.start();
    keeper.says(" is closed at block");
    assert_eq!(keeper.stop("TERM").0, Some(0));
    let longest = |from: usize| {
        let asked = node.calls("eth_getLogs").split_off(from);
        let blocks = asked.iter().filter_map(|call| {
            let number = |name: &str| {
                let text = call.params[0][name].as_str()?.strip_prefix("0x")?;
                u64::from_str_radix(text, 16).ok()
            };
            Some(number("toBlock")? + 1 - number("fromBlock")?)
        });
        blocks.max()
    };
    assert!(longest(0) > Some(7), "it was too much at first");

    let before = node.calls("eth_getLogs").len();
    call(&chain, "anvil_mine", json!([600, 1])).await;
    let opened = chain.trip().await;
    let keeper = daemon.start();
    assert_eq!(next(&keeper, "breaker.opened")["block"]["number"], opened);
    assert_eq!(longest(before), Some(7), "and was not asked for again");
    assert_eq!(keeper.stop("TERM").0, Some(0));
}
