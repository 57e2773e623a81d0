//! What a node sees of the chain.

use crate::support::{ask, refused};
use alloy::primitives::{Address, B256, U256};
use fusebox_testkit::{Chain, Finality, Node, Rule, any, block, on};
use serde_json::{Value, json};

const VAULT: Address = Address::with_last_byte(1);

/// 30 blocks with a log each, and the balance of the vault is its number.
fn thirty() -> Chain {
    let chain = Chain::new();
    for number in 1..=30_u64 {
        chain.mine(block().log(VAULT, [], number.to_be_bytes()));
        chain.set_balance(VAULT, U256::from(number));
    }
    chain
}

async fn seen(rule: Rule) -> (Chain, Node) {
    let chain = thirty();
    let node = Node::scripted(chain.clone()).rule(rule).start().await.unwrap();
    (chain, node)
}

async fn logs(node: &Node, filter: Value) -> usize {
    ask(&node.url(), "eth_getLogs", json!([filter])).await.as_array().unwrap().len()
}

#[tokio::test]
async fn a_stale_node_knows_nothing_newer() {
    let (chain, node) = seen(any().stale(20)).await;
    let url = node.url();
    assert_eq!(ask(&url, "eth_blockNumber", json!([])).await, "0xa");
    for tag in ["latest", "pending"] {
        let block = ask(&url, "eth_getBlockByNumber", json!([tag, false])).await;
        assert_eq!(block["hash"], json!(chain.block(10).unwrap().hash));
    }
    let by_number = async |n| ask(&url, "eth_getBlockByNumber", json!([n, false])).await;
    assert_eq!(by_number("0xb").await, Value::Null);
    assert_eq!(by_number("0xa").await["number"], "0xa");
    let hash = |number| chain.block(number).unwrap().hash;
    let by_hash = async |n| ask(&url, "eth_getBlockByHash", json!([hash(n), false])).await;
    assert_eq!(by_hash(11).await, Value::Null);
    assert_eq!(by_hash(10).await["number"], "0xa");
    assert_eq!(ask(&url, "eth_getBlockReceipts", json!([hash(11)])).await, Value::Null);

    assert_eq!(ask(&url, "eth_getBalance", json!([VAULT, "latest"])).await, "0xa");
    assert_eq!(ask(&url, "eth_getBalance", json!([VAULT])).await, "0xa");
    assert_eq!(ask(&url, "eth_getBalance", json!([VAULT, { "blockNumber": "0x9" }])).await, "0x9");
    for newer in [json!("0xb"), json!({ "blockHash": hash(11) })] {
        let error = refused(&url, "eth_getBalance", json!([VAULT, newer])).await;
        assert_eq!(error, (-32000, "header not found".into()));
    }

    assert_eq!(logs(&node, json!({ "fromBlock": "0x1" })).await, 10);
    assert_eq!(logs(&node, json!({ "fromBlock": "0x9", "toBlock": "0x1e" })).await, 2);
    assert_eq!(logs(&node, json!({ "fromBlock": "0xb", "toBlock": "0xc" })).await, 0);
    assert_eq!(logs(&node, json!({ "blockHash": hash(11) })).await, 0);
    assert_eq!(logs(&node, json!({ "blockHash": hash(10) })).await, 1);

    let truth = Node::scripted(chain.clone()).start().await.unwrap();
    let receipt = async |number| {
        let block = ask(&truth.url(), "eth_getBlockByNumber", json!([number, false])).await;
        ask(&url, "eth_getTransactionReceipt", json!([block["transactions"][0]])).await
    };
    assert_eq!(receipt("0xb").await, Value::Null);
    assert_eq!(receipt("0xa").await["blockNumber"], "0xa");
}

#[tokio::test]
async fn staleness_of_one_method_leaves_the_others_true() {
    let (chain, node) = seen(on("eth_getLogs").stale(20)).await;
    assert_eq!(ask(&node.url(), "eth_blockNumber", json!([])).await, "0x1e");
    assert_eq!(logs(&node, json!({ "fromBlock": "0x1", "toBlock": "0x1e" })).await, 10);
    assert_eq!(logs(&node, json!({ "blockHash": chain.head().hash })).await, 0);
}

#[tokio::test]
async fn hidden_blocks_are_unknown_and_the_head_stays() {
    let (chain, node) = seen(any().hide(5..=6)).await;
    let url = node.url();
    assert_eq!(ask(&url, "eth_blockNumber", json!([])).await, "0x1e");
    for (number, is_hidden) in [(4, false), (5, true), (6, true), (7, false)] {
        let hash = chain.block(number).unwrap().hash;
        let number = format!("{number:#x}");
        let by_number = ask(&url, "eth_getBlockByNumber", json!([number, false])).await;
        let by_hash = ask(&url, "eth_getBlockByHash", json!([hash, false])).await;
        assert_eq!((by_number.is_null(), by_hash.is_null()), (is_hidden, is_hidden));
        assert_eq!(logs(&node, json!({ "blockHash": hash })).await, usize::from(!is_hidden));
    }
    assert_eq!(logs(&node, json!({ "fromBlock": "0x4", "toBlock": "0x7" })).await, 2);
    assert_eq!(refused(&url, "eth_getBalance", json!([VAULT, "0x5"])).await.0, -32000);
    node.add(any().hide(30..=30));
    assert_eq!(ask(&url, "eth_getBlockByNumber", json!(["latest", false])).await, Value::Null);
}

#[tokio::test]
async fn a_node_can_be_on_another_side_of_a_split() {
    let chain = thirty();
    let other = chain.fork();
    chain.mine(block());
    other.mine(block());
    let builder = Node::scripted(&chain).upstream("fork", &other).endpoint("b");
    let node = builder.rule(any().at("b").pin_to("fork")).start().await.unwrap();
    let hash = async |url: String, number| {
        ask(&url, "eth_getBlockByNumber", json!([number, false])).await["hash"].clone()
    };
    assert_eq!(hash(node.url(), "0x1e").await, hash(node.url_of("b"), "0x1e").await);
    assert_ne!(hash(node.url(), "0x1f").await, hash(node.url_of("b"), "0x1f").await);
    let upstreams: Vec<_> =
        node.all_calls().into_iter().map(|call| call.upstream.unwrap()).collect();
    assert_eq!(upstreams, ["main", "fork", "main", "fork"]);
}

#[tokio::test]
async fn chain_id_and_genesis_are_overridden() {
    let hash = B256::with_last_byte(7);
    let (chain, node) = seen(any().chain_id(5).genesis(hash)).await;
    let url = node.url();
    assert_eq!(ask(&url, "eth_chainId", json!([])).await, "0x5");
    assert_eq!(ask(&url, "net_version", json!([])).await, "5");
    for tag in ["0x0", "earliest"] {
        assert_eq!(
            ask(&url, "eth_getBlockByNumber", json!([tag, false])).await["hash"],
            json!(hash)
        );
    }
    let first = ask(&url, "eth_getBlockByNumber", json!(["0x1", false])).await;
    assert_eq!(first["hash"], json!(chain.block(1).unwrap().hash));
}

#[tokio::test]
async fn finality_is_where_it_is_told_to_be() {
    let (chain, node) = seen(any().named("none")).await;
    chain.set_finality(4);
    let url = node.url();
    let finalized = async || ask(&url, "eth_getBlockByNumber", json!(["finalized", false])).await;
    assert_eq!(finalized().await["number"], "0x1a");
    let stale = node.add(any().stale(10));
    assert_eq!(finalized().await["number"], "0x14", "what is final is no newer than the head");
    node.remove(stale);
    let at = node.add(any().finality(Finality::At(3)));
    assert_eq!(finalized().await["number"], "0x3");
    assert_eq!(logs(&node, json!({ "fromBlock": "0x1", "toBlock": "finalized" })).await, 3);
    node.remove(at);
    let null = node.add(any().finality(Finality::Null));
    assert_eq!(finalized().await, Value::Null);
    node.remove(null);
    node.add(any().finality(Finality::Unsupported));
    assert_eq!(refused(&url, "eth_getBlockByNumber", json!(["safe", false])).await.0, -32602);
    let filter = json!([{ "fromBlock": "0x1", "toBlock": "finalized" }]);
    assert_eq!(refused(&url, "eth_getLogs", filter).await.0, -32602);
    assert_eq!(ask(&url, "eth_getBlockByNumber", json!(["latest", false])).await["number"], "0x1e");
}
