//! The watch on a scripted chain behind a proxy that misbehaves, and on a store in memory. `case_NN` are those of the
//! specification.

mod faults;
mod finality;
mod history;
mod reorgs;

use super::{
    Batch, Plan, Tapped, Watch, WatchError,
    health::{self, Health},
};
use crate::{
    alert::About,
    config::{Confirmations, Verify},
    fold::{ChainName, Ledger, Watched, WatchedContract},
    node::Nodes,
    store::{Store, StoreError},
};
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolEvent as _,
};
use fusebox_bindings::events;
use fusebox_rpc::{RpcConfig, Rules, Servers};
use fusebox_testkit::{BlockId, BlockPlan, Chain, Node, block};
use serde_json::{Value, json};
use sqlx::Row;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{task::JoinHandle, time::timeout};

const CHAIN: u64 = 31_337;
const HOST: Address = Address::repeat_byte(0x11);

/// Long enough for a loaded machine; nothing waits this long when all is well.
const DEADLINE: Duration = Duration::from_secs(20);

/// How often the tip is asked for here.
const POLL: Duration = Duration::from_millis(20);

/// A block in which the breaker opens.
fn opens(contract: Address) -> BlockPlan {
    let data = [U256::from(1_900_000_000_u64), U256::from(1)].map(|word| word.to_be_bytes::<32>());
    block().log(contract, [events::Opened::SIGNATURE_HASH, B256::ZERO], data.concat())
}

/// A block in which it closes.
fn closes(contract: Address) -> BlockPlan {
    block().log(contract, [events::Closed::SIGNATURE_HASH, B256::ZERO], Vec::new())
}

/// A store, and what is watched with it. The watch can be ended and begun again.
struct Bench {
    store: Store,
    node: Node,
    labels: Vec<&'static str>,
    plan: Plan,
    contracts: Vec<(Address, u64)>,
    legacy: Vec<Address>,
    genesis: B256,
    has_hints: bool,
}

/// A watch that runs.
struct Running {
    health: health::Handle,
    failing: Arc<AtomicUsize>,
    store: Store,
    task: JoinHandle<Result<(), WatchError>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is stored of a log: number of its block, kind, status, and whether it was late.
type Row4 = (u64, String, String, bool);

fn fact(number: u64, kind: &str, status: &str) -> Row4 {
    (number, kind.to_owned(), status.to_owned(), false)
}

impl Bench {
    /// From block 1 on, by the node at its first endpoint.
    async fn new(chain: &Chain, node: Node) -> Self {
        let plan = Plan {
            poll: Some(POLL),
            confirmations: Confirmations::Blocks(64),
            ..Plan::quick("main".to_owned())
        };
        Self {
            store: Store::in_memory().await.unwrap(),
            node,
            labels: Vec::new(),
            plan,
            contracts: vec![(HOST, 1)],
            legacy: Vec::new(),
            genesis: chain.block(0).unwrap().hash,
            has_hints: false,
        }
    }

    fn confirmations(mut self, confirmations: Confirmations) -> Self {
        self.plan.confirmations = confirmations;
        self
    }

    fn verify(mut self, verify: Verify) -> Self {
        self.plan.verify = verify;
        self
    }

    fn at(mut self, labels: &[&'static str]) -> Self {
        self.labels = labels.to_vec();
        self
    }

    fn from(mut self, start: u64) -> Self {
        self.contracts = vec![(HOST, start)];
        self
    }

    fn nodes(&self) -> Nodes {
        let provider = |label: &&str| {
            let mut provider = json!({ "name": label, "http": self.node.url_of(label) });
            if self.has_hints {
                provider["ws"] = self.node.ws_url_of(label).into();
            }
            provider
        };
        let providers: Vec<Value> = match self.labels.is_empty() {
            true => vec![json!({ "name": "lone", "http": self.node.url() })],
            false => self.labels.iter().map(provider).collect(),
        };
        let chain =
            json!({ "provider": providers, "deadlines": { "connect": "1s", "attempt": "2s" } });
        let config = RpcConfig::from_value(json!({
            "breaker": { "mode": "disabled" },
            "profile": { "default": { "chain": { CHAIN.to_string(): chain } } },
        }));
        let (config, rules) = (config.unwrap(), Rules::shipped());
        Nodes::configured(&config, "default", CHAIN, &Servers::default(), rules).unwrap()
    }

    async fn start(&self) -> Running {
        self.start_on(self.nodes()).await
    }

    async fn start_on(&self, nodes: Nodes) -> Running {
        let contracts = self.contracts.iter().map(|(address, start)| WatchedContract {
            address: *address,
            label: None,
            start: *start,
            breakers: BTreeMap::new(),
            read_back: false,
            is_legacy: self.legacy.contains(address),
        });
        let name = ChainName {
            id: CHAIN,
            name: "main".to_owned(),
            tx_link: None,
            reorg_window: self.plan.reorg_window,
        };
        let watched =
            Watched { contracts: contracts.collect(), anywhere: None, tells_history: true };
        let router = Arc::new(|_: &About| Vec::new());
        let ledger = Ledger::open(self.store.clone(), name, self.genesis, watched, router);
        let failing = Arc::<AtomicUsize>::default();
        let fails = failing.clone();
        let fail = move |_: &Batch| {
            let fails =
                fails.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            match fails {
                Ok(_) => Err(StoreError::Corrupt("the disk is full".to_owned())),
                Err(_) => Ok(()),
            }
        };
        let book = Tapped::new(ledger.await.unwrap(), fail);
        let (watch, health) = Watch::new(nodes, book, self.plan.clone());
        let task = tokio::spawn(watch.run());
        Running { health, failing, store: self.store.clone(), task }
    }
}

impl Running {
    /// Waits until its health is so.
    async fn until(&self, what: &str, is: impl Fn(&Health) -> bool) -> Health {
        let mut health = self.health.clone();
        let found = timeout(DEADLINE, health.wait_for(|health| is(health))).await;
        match found {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(_)) => panic!("the watch ended before: {what}"),
            Err(_) => panic!("never: {what}; it is {:?}", self.health.borrow()),
        }
    }

    /// Waits until all up to this block is told.
    async fn sees(&self, block: BlockId) {
        let what = format!("{} is seen", block.number);
        self.until(&what, |health| health.seen.is_some_and(|seen| seen.hash == block.hash)).await;
    }

    /// Waits until this block counts as final.
    async fn settles(&self, number: u64) {
        let what = format!("{number} is final");
        self.until(&what, |health| health.last_final.is_some_and(|last| last.number == number))
            .await;
    }

    /// What is stored of all logs.
    async fn facts(&self) -> Vec<Row4> {
        let rows = sqlx::query(
            "SELECT block_number, kind, status, late FROM fact ORDER BY block_number, log_index, status",
        )
        .fetch_all(self.store.reader());
        let row = |row: &sqlx::any::AnyRow| {
            let number: i64 = row.get(0);
            (number.unsigned_abs(), row.get(1), row.get(2), row.get::<i64, _>(3) != 0)
        };
        rows.await.unwrap().iter().map(row).collect()
    }

    /// The states of all breakers, in the order of their slots.
    async fn states(&self) -> Vec<String> {
        let rows = sqlx::query("SELECT state FROM breaker ORDER BY breaker");
        let rows = rows.fetch_all(self.store.reader()).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// What was told, in order: type and phase.
    async fn told(&self) -> Vec<(String, String)> {
        let rows = sqlx::query("SELECT type, phase FROM message ORDER BY seq");
        let rows = rows.fetch_all(self.store.reader()).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// Waits until so many facts are stored.
    async fn has(&self, count: usize) -> Vec<Row4> {
        let enough = async {
            loop {
                let facts = self.facts().await;
                if facts.len() >= count {
                    return facts;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        timeout(DEADLINE, enough).await.unwrap()
    }
}

fn told(kind: &str, phase: &str) -> (String, String) {
    (kind.to_owned(), phase.to_owned())
}
