//! The contracts of the original article, whose events name no breaker.

use crate::{
    daemon::Daemon,
    support::{Chain, keeper_output, stdout},
};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, U256, keccak256},
    providers::Provider,
    rpc::types::TransactionRequest,
};
use serde_json::{Value, json};

/// Emits what it is told: a log with the first word as its topic, and the rest as data.
const EMITTER: &[u8] = &[
    0x5f, 0x35, // the topic: calldata at 0
    0x60, 0x20, 0x36, 0x03, // the size of the rest
    0x80, 0x60, 0x20, 0x5f, 0x37, // the rest to memory
    0x5f, 0xa1, 0x00, // LOG1, STOP
];

/// How long it stays open here.
const COOLDOWN: u64 = 1_000;

async fn emit(chain: &Chain, contract: Address, topic: B256, data: Option<u64>) {
    let mut input = topic.to_vec();
    data.iter().for_each(|word| input.extend(U256::from(*word).to_be_bytes::<32>()));
    let transaction = TransactionRequest::default()
        .with_to(contract)
        .with_gas_limit(100_000)
        .with_input(Bytes::from(input));
    let sent = chain.provider.send_transaction(transaction).await.unwrap();
    assert!(sent.get_receipt().await.unwrap().status());
}

/// Both open; when.
async fn open(chain: &Chain, contracts: [Address; 2]) -> u64 {
    let now = chain.provider.get_block(BlockId::latest()).await.unwrap().unwrap().header.timestamp;
    for contract in contracts {
        emit(chain, contract, keccak256("Opened(uint256)"), Some(now + COOLDOWN)).await;
    }
    now + COOLDOWN
}

#[tokio::test]
async fn a_marked_contract_is_told_without_ids_and_another_one_is_not() {
    let chain = Chain::start().await;
    let marked = chain.deploy_code(EMITTER).await;
    let other = chain.deploy_code(EMITTER).await;
    let daemon = Daemon::new(&format!(
        r#"
[[profile.default.chain.31337.provider]]
name = "node"
http = "{url}"
[chain.dev]
id = 31337
poll = "250ms"
confirmations = 64
[[chain.dev.watch]]
address = "{marked}"
label = "old-feed"
start = 1
legacy = {{}}
[[chain.dev.watch]]
address = "{other}"
start = 1
"#,
        url = chain.url(),
    ));
    let keeper = daemon.start();
    let key = format!("dev:{marked}:legacy");
    let next = |kind: &str, phase: &str| -> Value {
        let line = keeper.json();
        let (told, want) = (["type", "phase", "key", "label"], [kind, phase, &key, "old-feed"]);
        assert_eq!(told.map(|name| line[name].as_str().unwrap_or_default()), want, "{line}");
        line
    };

    let retry_at = open(&chain, [other, marked]).await;
    let opened = next("breaker.opened", "seen");
    assert_eq!(opened["retry_at"], retry_at);
    assert_eq!(opened["breaker"], "legacy");
    for unknown in ["cause", "threshold", "failures"] {
        assert!(opened.get(unknown).is_none(), "{opened}");
    }
    chain.advance(COOLDOWN).await;
    assert_eq!(next("breaker.half_open", "seen")["retry_at"], retry_at);
    for contract in [other, marked] {
        emit(&chain, contract, keccak256("Closed()"), None).await;
    }
    next("breaker.closed", "seen");

    open(&chain, [other, marked]).await;
    let opened = next("breaker.opened", "seen");
    let _: Value = chain.provider.raw_request("anvil_reorg".into(), (1, json!([]))).await.unwrap();
    assert_eq!(next("breaker.opened", "retracted")["fact"], opened["fact"]);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));

    let file = daemon.file();
    let status = keeper_output(["status", &key, "--json", "--config", file.to_str().unwrap()]);
    let status: Value = serde_json::from_str(&stdout(&status)).unwrap();
    assert_eq!((&status["key"], &status["state"]), (&key.into(), &"closed".into()), "{status}");
}
