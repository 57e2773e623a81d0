//! The keeper is killed at any moment, while the chain reorganises and the receiver fails: what stands announced is what
//! is on the chain, and what is repeated carries the same id.

use crate::{
    daemon::{Daemon, SECRET},
    support::{anvil, deploy_code},
};
use alloy::{
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, U256},
    providers::{DynProvider, Provider, ProviderBuilder},
    rpc::types::{Filter, TransactionRequest},
    sol_types::SolEvent,
};
use fusebox_bindings::events;
use fusebox_testkit::{Heard, Seed, Sink};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::sleep;

/// How often the keeper is killed; `make soak` says 200.
fn kills() -> u32 {
    std::env::var("KEEPER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12)
}

/// Emits what it is told: a log with the first two words as topics, and the rest as data.
const EMITTER: &[u8] = &[
    0x60, 0x20, 0x35, 0x5f, 0x35, // the topics: calldata at 32, calldata at 0
    0x60, 0x40, 0x36, 0x03, // the size of the rest
    0x80, 0x60, 0x40, 0x5f, 0x37, // the rest to memory
    0x5f, 0xa2, 0x00, // LOG2, STOP
];

struct Emitter {
    provider: DynProvider,
    address: Address,
}

impl Emitter {
    async fn deploy(provider: DynProvider) -> Self {
        Self { address: deploy_code(&provider, EMITTER).await, provider }
    }

    /// A block with one event of a breaker: it opens for an hour or so, or closes.
    async fn emit(&self, breaker: u8, retry_at: Option<u64>) {
        let (topic, data) = match retry_at {
            Some(retry_at) => {
                (events::Opened::SIGNATURE_HASH, vec![U256::from(retry_at), U256::from(1)])
            }
            None => (events::Closed::SIGNATURE_HASH, vec![]),
        };
        let mut input = [topic, B256::with_last_byte(breaker)].concat();
        data.iter().for_each(|word| input.extend(word.to_be_bytes::<32>()));
        let transaction = TransactionRequest::default()
            .with_to(self.address)
            .with_gas_limit(100_000)
            .with_input(Bytes::from(input));
        let sent = self.provider.send_transaction(transaction).await.unwrap();
        // A reorg that was asked for before a kill may come only now, and take it away again.
        if let Ok(receipt) = sent.get_receipt().await {
            assert!(receipt.status());
        }
    }

    async fn call(&self, method: &'static str, params: Value) {
        let _: Value = self.provider.raw_request(method.into(), params).await.unwrap();
    }

    /// The facts that are on the chain, as messages name them.
    async fn facts(&self) -> BTreeSet<String> {
        let filter = Filter::new().address(self.address).from_block(0);
        let logs = self.provider.get_logs(&filter).await.unwrap();
        let fact = |log: &alloy::rpc::types::Log| {
            format!("31337:{}:{}", log.block_hash.unwrap(), log.log_index.unwrap())
        };
        logs.iter().map(fact).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_killed_at_random_points_it_announces_what_is_on_the_chain() {
    let seed = Seed::of_this_run();
    println!("{seed:?}");
    let mut random = StdRng::seed_from_u64(seed.0);
    let node = anvil().spawn();
    let provider = ProviderBuilder::default().connect_http(node.endpoint_url()).erased();
    let emitter = Emitter::deploy(provider).await;
    // Ten blocks, so that a reorg never reaches the contract.
    emitter.call("anvil_mine", json!([10])).await;

    let is_calm = Arc::new(AtomicBool::new(false));
    let sink = Sink::builder().secret(SECRET).unreliable_until(&is_calm);
    let sink = sink.start().await.unwrap();
    let daemon = Daemon::new(&format!(
        r#"
[[profile.default.chain.31337.provider]]
name = "node"
http = "{url}"
[chain.dev]
id = 31337
poll = "250ms"
confirmations = 3
[[chain.dev.watch]]
address = "{host}"
label = "host"
start = 0
read_back = false
[channel.hook]
type = "webhook"
url = "{sink}"
secrets = ["${{HOOK_SECRET}}"]
[[route]]
channels = ["hook"]
"#,
        url = node.endpoint(),
        host = emitter.address,
        sink = sink.url(),
    ));

    // What was final when it began is history, and is not told: it begins before anything happens.
    let keeper = daemon.start();
    keeper.says("watching");
    sleep(Duration::from_secs(1)).await;
    keeper.kill();

    for kill in 0..kills() {
        let keeper = daemon.start();
        let lives = Duration::from_millis(random.random_range(50..900));
        let busy = async {
            loop {
                let opens = random.random_bool(0.6);
                let breaker = random.random_range(1..5);
                emitter.emit(breaker, opens.then_some(4_000_000_000)).await;
                if random.random_bool(0.25) {
                    let depth = random.random_range(1..=3);
                    emitter.call("anvil_reorg", json!([depth, []])).await;
                }
                sleep(Duration::from_millis(random.random_range(0..120))).await;
            }
        };
        tokio::select! {
            () = busy => {}
            () = sleep(lives) => {}
        }
        keeper.kill();
        if kill % 5 == 4 {
            // A longer absence.
            emitter.call("anvil_mine", json!([20])).await;
        }
    }

    is_calm.store(true, Ordering::Relaxed);
    let keeper = daemon.start();
    emitter.call("anvil_mine", json!([1])).await;
    let canonical = emitter.facts().await;
    assert!(canonical.len() > 3, "something happened: {canonical:?}");
    for _ in 0..1_500 {
        if Heard::of(&sink.deliveries()).standing() == canonical {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    // And nothing more comes that changes it.
    sleep(Duration::from_secs(1)).await;
    sink.assert_verified();
    let heard = Heard::of(&sink.deliveries());
    let standing = heard.standing();
    let missing: Vec<_> = canonical.difference(&standing).collect();
    let false_ones: Vec<_> = standing.difference(&canonical).collect();
    assert!(
        missing.is_empty() && false_ones.is_empty(),
        "{seed:?}: of {} facts these are not announced: {missing:#?}, these stand and are not on the chain: \
         {false_ones:#?}; it said {:#?}",
        canonical.len(),
        keeper.said()
    );
    assert!(
        heard.contradictions().is_empty(),
        "these ids say two things: {:?}",
        heard.contradictions()
    );
    assert_eq!(keeper.stop("TERM").0, Some(0));
}
