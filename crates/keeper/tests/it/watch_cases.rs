//! The cases of the specification that concern the watch, as the program meets them: anvil behind a proxy that misbehaves.
//! The others, and more of each, are beside the watch, on scripted chains.

use crate::support::{Chain, Running, keeper_output, stderr};
use alloy::{primitives::Bytes, providers::Provider};
use fusebox_testkit::{Door, Node, NodeBuilder, RangeWording, RpcError, on};
use serde_json::{Value, json};

fn proxy(chain: &Chain) -> NodeBuilder {
    Node::proxy(chain.url()).label("node")
}

fn watch(chain: &Chain, url: &str, more: &[&str]) -> Running {
    let host = chain.host.to_string();
    let args = ["run", "--json", "--watch", &host, "--rpc-url", url];
    Running::start(args.iter().chain(more))
}

async fn mine(chain: &Chain, blocks: u64) {
    let _: Value = chain.provider.raw_request("anvil_mine".into(), (blocks, 1)).await.unwrap();
}

/// The next line about a breaker: its type, its phase and its block.
fn told(keeper: &Running) -> (String, String, u64) {
    loop {
        let line = keeper.json();
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        if text("type").starts_with("breaker.") {
            return (text("type"), text("phase"), line["block"]["number"].as_u64().unwrap());
        }
    }
}

fn line(kind: &str, phase: &str, block: u64) -> (String, String, u64) {
    (kind.to_owned(), phase.to_owned(), block)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_01_logs_that_come_later_than_the_head_are_waited_for() {
    let chain = Chain::start().await;
    let node = proxy(&chain).start().await.unwrap();
    let keeper = watch(&chain, &node.url(), &[]);
    keeper.says("is closed at block");
    node.add(on("eth_getBlockReceipts").error(RpcError::new(-32601, "no such method")));
    let late = node.add(on("eth_getLogs").stale(20));
    let opened = chain.trip().await;
    keeper.says("though the block's bloom says that there are some");
    node.remove(late);
    assert_eq!(told(&keeper), line("breaker.opened", "seen", opened));
    let closed = chain.recover().await;
    assert_eq!(told(&keeper).0, "breaker.half_open");
    assert_eq!(told(&keeper), line("breaker.closed", "seen", closed), "and it was told once");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_04_an_announced_opening_is_retracted_without_a_further_block() {
    let chain = Chain::start().await;
    let keeper = watch(&chain, &chain.url(), &[]);
    keeper.says("is closed at block");
    let opened = chain.trip().await;
    assert_eq!(told(&keeper), line("breaker.opened", "seen", opened));
    let empty: [Value; 0] = [];
    let _: Value = chain.provider.raw_request("anvil_reorg".into(), (2, empty)).await.unwrap();
    assert_eq!(told(&keeper), line("breaker.opened", "retracted", opened));
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_05_the_same_transaction_mined_later_is_retracted_and_told_again() {
    let chain = Chain::start().await;
    let keeper = watch(&chain, &chain.url(), &[]);
    keeper.says("is closed at block");
    let opened = chain.trip().await;
    let first = keeper.json();
    assert_eq!(first["type"], "breaker.opened");
    mine(&chain, 2).await;
    let raw: Bytes =
        chain.provider.raw_request("debug_getRawTransaction".into(), [&first["tx"]]).await.unwrap();
    let _: Value =
        chain.provider.raw_request("anvil_reorg".into(), (3, json!([[raw, 2]]))).await.unwrap();
    assert_eq!(told(&keeper), line("breaker.opened", "retracted", opened));
    let again = keeper.json();
    assert_eq!((&again["phase"], &again["tx"]), (&"seen".into(), &first["tx"]));
    assert_eq!(again["block"]["number"], opened + 2);
    assert_ne!(again["fact"], first["fact"]);
    assert_eq!(again["moved_from"]["number"], opened, "{again}");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_09_a_cap_of_seven_blocks_that_is_lifted_ends_in_all_of_history() {
    let chain = Chain::start().await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.push(chain.trip().await);
        expected.push(chain.recover().await);
        mine(&chain, 1_500).await;
    }
    let node = proxy(&chain).start().await.unwrap();
    let cap = node.add(on("eth_getLogs").range_cap(7, RangeWording::Unknown));
    let keeper = watch(&chain, &node.url(), &["--from-block", "0"]);
    node.called("eth_getLogs", 20).await;
    node.remove(cap);
    let mut blocks = Vec::new();
    while blocks.len() < expected.len() {
        let (kind, _, block) = told(&keeper);
        if matches!(&*kind, "breaker.opened" | "breaker.closed") {
            blocks.push(block);
        }
    }
    assert_eq!(blocks, expected);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_11_an_event_in_the_last_final_block_is_told_once() {
    let chain = Chain::start().await;
    mine(&chain, 400).await;
    let opened = chain.trip().await;
    // As far below the head as anvil's final block.
    mine(&chain, 64).await;
    let keeper = watch(&chain, &chain.url(), &["--from-block", "0"]);
    let (kind, _, block) = told(&keeper);
    assert_eq!((&*kind, block), ("breaker.opened", opened));
    let closed = chain.recover().await;
    assert_eq!(told(&keeper).0, "breaker.half_open");
    assert_eq!(told(&keeper), line("breaker.closed", "seen", closed));
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_21_a_chain_id_that_changes_halts_the_chain_and_is_refused_at_the_start() {
    let chain = Chain::start().await;
    let node = proxy(&chain).start().await.unwrap();
    let keeper = watch(&chain, &node.url(), &[]);
    keeper.says("is closed at block");
    let opened = chain.trip().await;
    assert_eq!(told(&keeper), line("breaker.opened", "seen", opened));
    // Another node behind the same name.
    node.door(Door::Refused).await;
    keeper.says("no answer from");
    let _: Value = chain.provider.raw_request("anvil_setChainId".into(), [5]).await.unwrap();
    node.door(Door::Open).await;
    keeper.says("on chain 5, not 31337");
    assert_eq!(keeper.json()["type"], "chain.identity");
    mine(&chain, 3).await;

    let host = chain.host.to_string();
    let url = node.url();
    let again = keeper_output(["run", "--watch", &host, "-r", &url, "--chain", "31337"]);
    assert_eq!(again.status.code(), Some(4), "{}", stderr(&again));
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]), "it has told nothing more");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_filter_is_ever_made_and_an_idle_block_costs_one_request() {
    const BLOCKS: usize = 30;
    let chain = Chain::start().await;
    let node = proxy(&chain).start().await.unwrap();
    let keeper = watch(&chain, &node.url(), &[]);
    keeper.says("is closed at block");
    let before = node.all_calls().len();
    for _ in 0..BLOCKS {
        mine(&chain, 1).await;
        node.called("eth_getBlockByNumber", node.calls("eth_getBlockByNumber").len() + 1).await;
    }
    let calls = node.all_calls().split_off(before);
    // A block is the tip of a poll, or the parent of one where two came between two polls. The tag is asked for rarely.
    let is_a_block = |call: &&fusebox_testkit::Call| {
        call.params.pointer("/0") == Some(&"latest".into()) || call.method == "eth_getBlockByHash"
    };
    let others: Vec<_> = calls.iter().filter(|call| !is_a_block(call)).collect();
    assert!(others.len() <= 1 + BLOCKS / 32, "{others:?}");
    for method in ["eth_newFilter", "eth_newBlockFilter", "eth_getFilterChanges", "eth_subscribe"] {
        node.assert_never(method);
    }
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}
