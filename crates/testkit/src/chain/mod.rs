//! A chain that a test writes by hand.
//!
//! No EVM runs. But each block is a real one: its hash, bloom, transaction root and receipts root can be recomputed
//! from what the node tells, because clients that are worth testing do recompute them.

mod answer;
mod block;
mod logs;
mod state;

pub use block::{BlockId, BlockPlan, block};

use alloy::{
    consensus::Header,
    primitives::{Address, B256, Bytes, U256},
};
use block::Sealed;
use serde_json::Value;
use state::State;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::broadcast;

pub(crate) use answer::subscribe;
pub(crate) use block::decode;

/// Head changes that a slow subscriber may be behind. Beyond, its subscription ends.
const BACKLOG: usize = 4096;

/// A chain to be told. Clones are the same chain; [`fork`](Self::fork) makes another.
#[derive(Clone)]
pub struct Chain {
    inner: Arc<Mutex<Inner>>,
    changes: broadcast::Sender<Change>,
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("Chain").field("id", &inner.id).field("head", &inner.head().id()).finish()
    }
}

#[derive(Clone)]
pub(crate) struct Inner {
    id: u64,
    /// From the genesis on; never empty.
    canonical: Vec<Arc<Sealed>>,
    /// Also those that a reorg has left behind, which geth still gives by hash.
    by_hash: BTreeMap<B256, Arc<Sealed>>,
    /// Blocks made so far, those of reorgs and forks too. It goes into each block, so that no two are the same.
    made: Arc<AtomicU64>,
    /// Sent, and not in a block yet.
    pool: Vec<Bytes>,
    /// How far `safe` and `finalized` are behind the head.
    finality: u64,
    canned: BTreeMap<String, Value>,
}

/// What subscribers hear of.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Added(Arc<Sealed>),
    Removed(Arc<Sealed>),
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

impl Chain {
    /// Chain 31337, only its genesis. Two of them are alike, until they are told different things.
    pub fn new() -> Self {
        Self::with_id(31_337)
    }

    /// Another chain id; the genesis differs with it.
    pub fn with_id(id: u64) -> Self {
        let genesis = Arc::new(Sealed::genesis(id));
        let inner = Inner {
            id,
            by_hash: BTreeMap::from([(genesis.hash(), Arc::clone(&genesis))]),
            canonical: vec![genesis],
            made: Arc::default(),
            pool: Vec::new(),
            // anvil's: two epochs.
            finality: 64,
            canned: BTreeMap::new(),
        };
        Self::of(inner)
    }

    fn of(inner: Inner) -> Self {
        Self { inner: Arc::new(Mutex::new(inner)), changes: broadcast::Sender::new(BACKLOG) }
    }

    /// The same chain up to now, that goes its own way from here: the other half of a split.
    pub fn fork(&self) -> Self {
        Self::of(self.lock().clone())
    }

    /// Adds a block and returns it. What was sent before goes into it.
    pub fn mine(&self, plan: BlockPlan) -> BlockId {
        self.lock().append(plan, &self.changes)
    }

    /// Adds `count` empty blocks and returns the last one, or the head if `count` is 0.
    pub fn mine_empty(&self, count: u64) -> BlockId {
        for _ in 0..count {
            self.mine(block());
        }
        self.head()
    }

    /// Takes `depth` blocks away and puts others there. Balances and storage become what they were below.
    ///
    /// # Panics
    /// When that would take the genesis.
    pub fn reorg(&self, depth: usize, plans: impl IntoIterator<Item = BlockPlan>) -> BlockId {
        let mut inner = self.lock();
        assert!(depth < inner.canonical.len(), "a reorg of {depth} would take the genesis too");
        let keep = inner.canonical.len() - depth;
        for gone in inner.canonical.split_off(keep).into_iter().rev() {
            // Nobody listening is no error.
            let _ = self.changes.send(Change::Removed(gone));
        }
        for plan in plans {
            inner.append(plan, &self.changes);
        }
        inner.head().id()
    }

    /// The newest block.
    pub fn head(&self) -> BlockId {
        self.lock().head().id()
    }

    /// The block of this number.
    pub fn block(&self, number: u64) -> Option<BlockId> {
        self.lock().at(number).map(|block| block.id())
    }

    /// The header of the newest block.
    pub fn header(&self) -> Header {
        self.lock().head().header().clone()
    }

    /// How many blocks `safe` and `finalized` are behind the head; 64 unless told.
    pub fn set_finality(&self, behind: u64) {
        self.lock().finality = behind;
    }

    /// From the head on, `account` has `wei`.
    pub fn set_balance(&self, account: Address, wei: U256) {
        self.state(|state| state.balances.insert(account, wei));
    }

    /// From the head on, the next nonce of `account` is `nonce`.
    pub fn set_nonce(&self, account: Address, nonce: u64) {
        self.state(|state| state.nonces.insert(account, nonce));
    }

    /// From the head on, `account` has this code.
    pub fn set_code(&self, account: Address, code: Bytes) {
        self.state(|state| state.codes.insert(account, code));
    }

    /// From the head on, this word is in that slot.
    pub fn set_storage(&self, account: Address, slot: U256, word: B256) {
        self.state(|state| state.storage.insert((account, slot), word));
    }

    /// From the head on, a call of `to` with exactly `data` returns `result`. Others return nothing, as without code.
    pub fn set_call(&self, to: Address, data: Bytes, result: Bytes) {
        self.state(|state| state.calls.insert((to, data), result));
    }

    /// Every call of `method` is answered with `result`, also if it is one that the chain knows.
    pub fn set_answer(&self, method: &str, result: Value) {
        self.lock().canned.insert(method.into(), result);
    }

    /// Raw transactions that were sent and are in no block yet.
    pub fn pool(&self) -> Vec<Bytes> {
        self.lock().pool.clone()
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn state<T>(&self, change: impl FnOnce(&mut State) -> T) {
        let mut inner = self.lock();
        let head = inner.canonical.len() - 1;
        // Copies the block if someone reads it just now; both are the same block, so both lists get the new one.
        let block = Arc::make_mut(&mut inner.canonical[head]);
        change(Arc::make_mut(&mut block.state));
        let block = Arc::clone(&inner.canonical[head]);
        inner.by_hash.insert(block.hash(), block);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change is whole before anything can panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn head(&self) -> &Arc<Sealed> {
        self.canonical.last().expect("the genesis is never taken away")
    }

    fn at(&self, number: u64) -> Option<&Arc<Sealed>> {
        self.canonical.get(usize::try_from(number).ok()?)
    }

    fn append(&mut self, plan: BlockPlan, changes: &broadcast::Sender<Change>) -> BlockId {
        let salt = self.made.fetch_add(1, Ordering::Relaxed);
        let sent = std::mem::take(&mut self.pool);
        let block = Arc::new(plan.seal(self.head(), self.id, salt, sent));
        self.by_hash.insert(block.hash(), Arc::clone(&block));
        self.canonical.push(Arc::clone(&block));
        let id = block.id();
        // Nobody listening is no error.
        let _ = changes.send(Change::Added(block));
        id
    }
}
