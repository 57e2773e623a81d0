//! The store, as the watch sees it when it reads the past.

use crate::{
    alert::AlertType,
    fold::{Contract, Cursors, Ledger},
    store::StoreError,
    watch::{Batch, Block, Book, Sighting, Slot, Stored, Walked},
};
use alloy::primitives::{B256, U256};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a keeper of that time would have taken in: each block while it was the newest, and not yet final. What is wrong with
/// nodes today is not of that time, and storage of that time is seldom to be had.
#[derive(Debug)]
pub(super) struct Past(pub(super) Ledger);

type Answer<T> = Result<T, StoreError>;

impl Book for Past {
    fn genesis(&self) -> B256 {
        self.0.genesis()
    }

    fn anywhere_from(&self) -> Option<u64> {
        self.0.anywhere_from()
    }

    async fn cursors(&self) -> Answer<Cursors> {
        self.0.cursors().await
    }

    async fn stored(&self, number: u64) -> Answer<Option<Walked>> {
        self.0.stored(number).await
    }

    async fn sightings(&self, from: u64, to: u64) -> Answer<Vec<Stored>> {
        self.0.sightings(from, to).await
    }

    async fn contracts(&self) -> Answer<Vec<Contract>> {
        self.0.contracts().await
    }

    async fn history_ends_at(&self, _: u64) -> Answer<()> {
        Ok(())
    }

    async fn commit(&self, batch: &Batch) -> Answer<()> {
        for step in steps(batch) {
            self.0.commit(&step).await?;
        }
        Ok(())
    }

    async fn note(&self, _: AlertType, _: &str, _: u64, _: Value) -> Answer<()> {
        Ok(())
    }

    async fn words_wanted(&self) -> Answer<Vec<Slot>> {
        Ok(Vec::new())
    }

    async fn audit(&self) -> Answer<()> {
        Ok(())
    }

    async fn read_back(&self, _: Block, _: &[(Slot, U256)]) -> Answer<()> {
        Ok(())
    }
}

/// A batch block by block, so that what time alone does is told between two events of a range, too.
fn steps(batch: &Batch) -> Vec<Batch> {
    let mut steps = Vec::new();
    if let Some(to) = batch.rewound_to {
        steps.push(Batch { rewound_to: Some(to), ..Batch::default() });
    }
    if batch.seen.is_none() {
        // What was missing at first is in blocks that were passed.
        let sightings = batch.sightings.clone();
        steps.push(Batch { sightings, ..Batch::default() });
        return steps;
    }
    let mut blocks: BTreeMap<u64, (Walked, Vec<Sighting>)> = BTreeMap::new();
    for walked in &batch.blocks {
        blocks.insert(walked.block.number, (*walked, Vec::new()));
    }
    for sighting in &batch.sightings {
        // Of a range only the last block is known with its parent; of the others nothing is asked here.
        let walked = Walked { block: sighting.block, parent: B256::ZERO };
        let (_, own) = blocks.entry(sighting.block.number).or_insert((walked, Vec::new()));
        own.push(sighting.clone());
    }
    for (walked, sightings) in blocks.into_values() {
        let at = || Batch { blocks: vec![walked], seen: Some(walked.block), ..Batch::default() };
        if !sightings.is_empty() {
            // Its time counts before its events do.
            steps.push(at());
        }
        steps.push(Batch { sightings, ..at() });
    }
    steps
}
