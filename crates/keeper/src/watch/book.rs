//! What the watch needs of the store.

use super::{Batch, Block, Walked};
use crate::{
    alert::AlertType,
    fold::{Contract, Cursors, Ledger},
    store::StoreError,
};
use alloy::primitives::{Address, B256, U256};
use serde_json::Value;

/// A log that is stored: the number and the hash of its block, and its place in it.
pub(crate) type Stored = (u64, B256, u64);

/// A word of storage: the contract, and the slot in it.
pub(crate) type Slot = (Address, B256);

type Answer<T> = Result<T, StoreError>;

/// The store, as the watch sees it.
pub(crate) trait Book: Send + Sync + 'static {
    /// The hash of block 0.
    fn genesis(&self) -> B256;
    /// The first block that is read of contracts that nobody listed, where they count.
    fn anywhere_from(&self) -> Option<u64>;
    /// Where the chain that was read stands.
    fn cursors(&self) -> impl Future<Output = Answer<Cursors>> + Send;
    /// A walked block that is on the chain as far as is known, and is still kept.
    fn stored(&self, number: u64) -> impl Future<Output = Answer<Option<Walked>>> + Send;
    /// The logs of these blocks that are on the chain as far as is known.
    fn sightings(&self, from: u64, to: u64) -> impl Future<Output = Answer<Vec<Stored>>> + Send;
    /// The contracts that are listed, and how far each was read.
    fn contracts(&self) -> impl Future<Output = Answer<Vec<Contract>>> + Send;
    /// What is final when the chain is read for the first time.
    fn history_ends_at(&self, number: u64) -> impl Future<Output = Answer<()>> + Send;
    /// Stores all of it, or nothing.
    fn commit(&self, batch: &Batch) -> impl Future<Output = Answer<()>> + Send;
    /// What is no log. The same kind and cause are told once.
    fn note(
        &self,
        kind: AlertType,
        cause: &str,
        at: u64,
        data: Value,
    ) -> impl Future<Output = Answer<()>> + Send;
    /// The words that are to be compared with what the events told.
    fn words_wanted(&self) -> impl Future<Output = Answer<Vec<Slot>>> + Send;
    /// Has all words compared again.
    fn audit(&self) -> impl Future<Output = Answer<()>> + Send;
    /// What storage has at a block.
    fn read_back(
        &self,
        block: Block,
        words: &[(Slot, U256)],
    ) -> impl Future<Output = Answer<()>> + Send;
}

impl Book for Ledger {
    fn genesis(&self) -> B256 {
        self.genesis()
    }

    fn anywhere_from(&self) -> Option<u64> {
        self.anywhere_from()
    }

    async fn cursors(&self) -> Answer<Cursors> {
        self.cursors().await
    }

    async fn stored(&self, number: u64) -> Answer<Option<Walked>> {
        self.stored(number).await
    }

    async fn sightings(&self, from: u64, to: u64) -> Answer<Vec<Stored>> {
        self.sightings(from, to).await
    }

    async fn contracts(&self) -> Answer<Vec<Contract>> {
        self.contracts().await
    }

    async fn history_ends_at(&self, number: u64) -> Answer<()> {
        self.history_ends_at(number).await
    }

    async fn commit(&self, batch: &Batch) -> Answer<()> {
        self.commit(batch).await
    }

    async fn note(&self, kind: AlertType, cause: &str, at: u64, data: Value) -> Answer<()> {
        self.note(kind, cause, at, data).await
    }

    async fn words_wanted(&self) -> Answer<Vec<Slot>> {
        self.words_wanted().await
    }

    async fn audit(&self) -> Answer<()> {
        self.audit().await
    }

    async fn read_back(&self, block: Block, words: &[(Slot, U256)]) -> Answer<()> {
        self.read_back(block, words).await
    }
}

/// The same, with somebody who sees each step before it is stored, and may refuse it: the simulator looks on, and tests
/// have a disk that is full.
#[derive(Debug)]
pub(crate) struct Tapped<F> {
    ledger: Ledger,
    tap: F,
}

impl<F: Fn(&Batch) -> Answer<()> + Send + Sync + 'static> Tapped<F> {
    pub(crate) fn new(ledger: Ledger, tap: F) -> Self {
        Self { ledger, tap }
    }
}

impl<F: Fn(&Batch) -> Answer<()> + Send + Sync + 'static> Book for Tapped<F> {
    fn genesis(&self) -> B256 {
        self.ledger.genesis()
    }

    fn anywhere_from(&self) -> Option<u64> {
        self.ledger.anywhere_from()
    }

    async fn cursors(&self) -> Answer<Cursors> {
        self.ledger.cursors().await
    }

    async fn stored(&self, number: u64) -> Answer<Option<Walked>> {
        self.ledger.stored(number).await
    }

    async fn sightings(&self, from: u64, to: u64) -> Answer<Vec<Stored>> {
        self.ledger.sightings(from, to).await
    }

    async fn contracts(&self) -> Answer<Vec<Contract>> {
        self.ledger.contracts().await
    }

    async fn history_ends_at(&self, number: u64) -> Answer<()> {
        self.ledger.history_ends_at(number).await
    }

    async fn commit(&self, batch: &Batch) -> Answer<()> {
        (self.tap)(batch)?;
        self.ledger.commit(batch).await
    }

    async fn note(&self, kind: AlertType, cause: &str, at: u64, data: Value) -> Answer<()> {
        self.ledger.note(kind, cause, at, data).await
    }

    async fn words_wanted(&self) -> Answer<Vec<Slot>> {
        self.ledger.words_wanted().await
    }

    async fn audit(&self) -> Answer<()> {
        self.ledger.audit().await
    }

    async fn read_back(&self, block: Block, words: &[(Slot, U256)]) -> Answer<()> {
        self.ledger.read_back(block, words).await
    }
}
