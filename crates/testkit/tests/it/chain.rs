//! The scripted chain is one that a suspicious client believes.

use crate::support::{Socket, ask, refused, sender, transfer};
use alloy::{
    consensus::{ReceiptEnvelope, proofs},
    primitives::{Address, B256, Bloom, U256, address, keccak256},
    rpc::types::{Block, Log, TransactionReceipt},
};
use fusebox_testkit::{Chain, ManualClock, Node, block};
use serde_json::json;
use std::time::Duration;

const VAULT: Address = address!("0x00000000000000000000000000000000000000aa");

fn topic() -> B256 {
    keccak256("Opened()")
}

#[tokio::test]
async fn hash_bloom_and_roots_are_those_of_what_the_node_tells() {
    let chain = Chain::new();
    chain.mine(block().log(VAULT, [topic()], [1, 2]).log(VAULT, [], []));
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    ask(&node.url(), "eth_sendRawTransaction", json!([transfer(0, 2_000_000_000, 1)])).await;
    let both = chain.mine(block().log(VAULT, [topic()], []));

    for number in ["0x0", "0x1", "0x2"] {
        let read = ask(&node.url(), "eth_getBlockByNumber", json!([number, true])).await;
        let block: Block = serde_json::from_value(read).unwrap();
        assert_eq!(block.header.hash, block.header.inner.hash_slow());
        let transactions = block.transactions.clone().into_transactions_vec();
        let transactions: Vec<_> = transactions.into_iter().map(|tx| tx.into_inner()).collect();
        let root = proofs::calculate_transaction_root(&transactions);
        assert_eq!(root, block.header.transactions_root);

        let read = ask(&node.url(), "eth_getBlockReceipts", json!([number])).await;
        let receipts: Vec<TransactionReceipt> = serde_json::from_value(read).unwrap();
        let inner: Vec<ReceiptEnvelope> = receipts
            .into_iter()
            .map(|receipt| receipt.into_inner().map_logs(|log| log.inner))
            .collect();
        assert_eq!(proofs::calculate_receipt_root(&inner), block.header.receipts_root);
        let bloom = inner.iter().fold(Bloom::ZERO, |all, next| all | *next.logs_bloom());
        assert_eq!(bloom, block.header.logs_bloom);
    }
    let last = ask(&node.url(), "eth_getBlockByHash", json!([both.hash, false])).await;
    assert_eq!(last["transactions"].as_array().unwrap().len(), 2);
    let count = ask(&node.url(), "eth_getTransactionCount", json!([sender(), "latest"])).await;
    assert_eq!(count, "0x1");
}

#[tokio::test]
async fn logs_are_found_by_range_by_hash_and_by_what_is_in_them() {
    let chain = Chain::new();
    let first = chain.mine(block().log(VAULT, [topic()], []));
    chain.mine(block().log(Address::ZERO, [topic()], []).log(VAULT, [], []));
    let node = Node::scripted(chain).start().await.unwrap();
    let found = async |filter| {
        let read = ask(&node.url(), "eth_getLogs", json!([filter])).await;
        let logs: Vec<Log> = serde_json::from_value(read).unwrap();
        logs.iter()
            .map(|log| (log.block_number.unwrap(), log.log_index.unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(json!({ "fromBlock": "0x0", "toBlock": "0x9" })).await,
        [(1, 0), (2, 0), (2, 1)]
    );
    assert_eq!(found(json!({ "fromBlock": "0x1", "toBlock": "0x1" })).await, [(1, 0)]);
    assert_eq!(found(json!({ "fromBlock": "0x3", "toBlock": "0x9" })).await, []);
    assert_eq!(found(json!({})).await, [(2, 0), (2, 1)], "without a range: the latest block");
    assert_eq!(found(json!({ "blockHash": first.hash })).await, [(1, 0)]);
    assert_eq!(found(json!({ "fromBlock": "0x0", "address": VAULT })).await, [(1, 0), (2, 1)]);
    assert_eq!(found(json!({ "fromBlock": "0x0", "topics": [topic()] })).await, [(1, 0), (2, 0)]);

    let unknown = json!([{ "blockHash": B256::ZERO }]);
    assert_eq!(refused(&node.url(), "eth_getLogs", unknown).await.1, "unknown block");
    let reversed = json!([{ "fromBlock": "0x2", "toBlock": "0x1" }]);
    assert_eq!(refused(&node.url(), "eth_getLogs", reversed).await.1, "invalid block range params");
}

#[tokio::test]
async fn state_is_that_of_the_block_that_is_named() {
    let chain = Chain::new();
    let slot = U256::from(7);
    chain.set_balance(VAULT, U256::from(5));
    chain.mine_empty(1);
    chain.set_balance(VAULT, U256::from(6));
    chain.set_storage(VAULT, slot, B256::with_last_byte(9));
    chain.set_code(VAULT, [0xfe].into());
    chain.set_call(VAULT, [1].into(), [2].into());
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let url = node.url();
    assert_eq!(ask(&url, "eth_getBalance", json!([VAULT, "0x0"])).await, "0x5");
    assert_eq!(ask(&url, "eth_getBalance", json!([VAULT, "latest"])).await, "0x6");
    let by_hash = json!([VAULT, { "blockHash": chain.head().hash }]);
    assert_eq!(ask(&url, "eth_getBalance", by_hash).await, "0x6");
    assert_eq!(ask(&url, "eth_getCode", json!([VAULT, "latest"])).await, "0xfe");
    let word = ask(&url, "eth_getStorageAt", json!([VAULT, "0x7", "latest"])).await;
    assert_eq!(word, json!(B256::with_last_byte(9)));
    let call = json!({ "to": VAULT, "data": "0x01" });
    assert_eq!(ask(&url, "eth_call", json!([call, "latest"])).await, "0x02");
    assert_eq!(ask(&url, "eth_call", json!([call, "0x0"])).await, "0x");
    let future = json!([VAULT, "0x2"]);
    assert_eq!(refused(&url, "eth_getBalance", future).await, (-32000, "header not found".into()));

    chain.reorg(1, [block()]);
    assert_eq!(ask(&url, "eth_getBalance", json!([VAULT, "latest"])).await, "0x5");
}

#[test]
fn a_chain_can_be_shown() {
    let chain = Chain::with_id(5);
    assert!(format!("{chain:?}").contains("number: 0"));
}

#[tokio::test]
async fn a_reorg_makes_other_blocks_and_keeps_the_old_ones_by_hash() {
    let chain = Chain::new();
    let (gone, above) = (chain.mine(block()), chain.mine(block()));
    let (other_half, third) = (chain.fork(), chain.fork());
    let new = chain.reorg(2, [block(), block(), block()]);
    assert_eq!((gone.number, above.number, new.number), (1, 2, 3));
    assert_ne!(chain.block(1), Some(gone));
    assert_eq!(other_half.block(1), Some(gone));
    assert_ne!(other_half.mine(block()).hash, third.mine(block()).hash);
    let node = Node::scripted(chain).start().await.unwrap();
    let old = ask(&node.url(), "eth_getBlockByHash", json!([gone.hash, false])).await;
    assert_eq!(old["number"], "0x1");
}

#[tokio::test]
async fn subscribers_hear_of_heads_and_of_logs_that_a_reorg_takes_away() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let mut heads = Socket::open(&node.ws_url()).await.unwrap();
    let mut logs = Socket::open(&node.ws_url()).await.unwrap();
    heads.ask("eth_subscribe", json!(["newHeads"])).await;
    logs.ask("eth_subscribe", json!(["logs", { "address": VAULT }])).await;

    chain.mine(block().log(VAULT, [], []).log(Address::ZERO, [], []));
    chain.reorg(1, [block(), block().log(VAULT, [], [])]);
    assert_eq!([heads.head().await, heads.head().await, heads.head().await], [1, 1, 2]);
    let mut heard = Vec::new();
    for _ in 0..3 {
        let log = logs.json().await["params"]["result"].take();
        heard.push((log["blockNumber"].clone(), log["removed"].clone()));
    }
    let wanted = [("0x1", false), ("0x1", true), ("0x2", false)];
    assert_eq!(heard, wanted.map(|(number, removed)| (json!(number), json!(removed))));
}

#[tokio::test]
async fn blocks_follow_the_clock() {
    let clock = ManualClock::new(Duration::ZERO);
    let chain = Chain::new();
    let builder = Node::scripted(chain.clone()).clock(clock.clone());
    let node = builder.block_time(Duration::from_secs(12)).start().await.unwrap();
    let mut heads = Socket::open(&node.ws_url()).await.unwrap();
    heads.ask("eth_subscribe", json!(["newHeads"])).await;
    clock.sleeping(1).await;
    clock.advance(Duration::from_secs(11));
    assert_eq!(chain.head().number, 0);
    clock.advance(Duration::from_secs(1));
    assert_eq!(heads.head().await, 1);
    clock.advance(Duration::from_secs(24));
    assert_eq!([heads.head().await, heads.head().await], [2, 3]);
    assert_eq!(chain.header().timestamp, Chain::new().header().timestamp + 36);
}

#[tokio::test]
async fn what_the_chain_does_not_know_it_can_be_taught() {
    let chain = Chain::new();
    chain.set_answer("trace_block", json!([{ "type": "call" }]));
    let node = Node::scripted(chain).start().await.unwrap();
    assert_eq!(ask(&node.url(), "trace_block", json!(["0x1"])).await[0]["type"], "call");
    let (code, message) = refused(&node.url(), "eth_newFilter", json!([{}])).await;
    assert_eq!((code, message.contains("eth_newFilter")), (-32601, true));
}
