//! What has become final, and whether all of it was told.

use super::{
    Batch, Block, Book, Sighting, Watch, block,
    finality::Bound,
    halt::Halt,
    reader::{place, sighting},
};
use crate::{alert::AlertType, metrics::Metric, node::Node, output::log};
use serde_json::json;
use std::collections::BTreeSet;

/// Blocks in one second reading.
const AT_ONCE: u64 = 2_000;

impl<B: Book> Watch<B> {
    /// Asks what is final, where that is due.
    pub(super) async fn ask_finality(&mut self, node: &Node, head: u64) -> Result<(), Halt> {
        match self.finality.is_due(head, self.is_waited_for) {
            true => self.asked_finality(node, head).await,
            false => Ok(()),
        }
    }

    /// Asks what is final.
    pub(super) async fn asked_finality(&mut self, node: &Node, head: u64) -> Result<(), Halt> {
        if self.finality.ask(node, head).await? {
            log(&format!(
                "the node at {} does not say what is final: {} confirmations count instead",
                node.host, self.plan.confirmations_fallback
            ));
        }
        if self.finality.stands_still(head) {
            let last = self.last_final.map_or(0, |last| last.number);
            let reason = format!("no block has become final after {last} for half an hour");
            log(&reason);
            let at = self.seen.map_or(0, |seen| seen.time);
            let data = json!({ "reason": reason, "block": last });
            let cause = last.to_string();
            self.book.note(AlertType::ChainNotFinalizing, &cause, at, data).await?;
        }
        Ok(())
    }

    /// Takes in what is final now.
    pub(super) async fn settle(&mut self, node: &Node) -> Result<(), Halt> {
        let Some(bound) = self.seen.and_then(|seen| self.finality.bound(seen.number)) else {
            return Ok(());
        };
        self.settle_to(node, bound).await
    }

    pub(super) async fn settle_to(&mut self, node: &Node, bound: Bound) -> Result<(), Halt> {
        let (Some(seen), Some(last)) = (self.seen, self.last_final) else { return Ok(()) };
        let to = bound.number().min(seen.number);
        if to <= last.number {
            return Ok(());
        }
        let at = self.final_block(node, bound, to, seen).await?;
        let late = self.late(node, last.number + 1, to).await?;
        self.commit(Batch { sightings: late, last_final: Some(at), ..Batch::default() }).await?;
        self.unproven = self.unproven.split_off(&(to + 1));
        if self.is_waited_for {
            self.is_waited_for = !self.book.sightings(to + 1, seen.number).await?.is_empty();
        }
        Ok(())
    }

    /// The block of this number on the chain that was told. A node that calls another one final is not believed.
    async fn final_block(
        &mut self,
        node: &Node,
        bound: Bound,
        to: u64,
        seen: Block,
    ) -> Result<Block, Halt> {
        let told = match to == seen.number {
            true => Some(seen),
            false => self.book.stored(to).await?.map(|walked| walked.block),
        };
        match (told, bound) {
            (Some(told), Bound::Block(tag)) if tag.number == to && tag.hash != told.hash => {
                self.finality.forget();
                Err(Halt::Unanswered(format!(
                    "its final block {to} has hash {}, and its blocks led to {}",
                    tag.hash, told.hash
                )))
            }
            (Some(told), _) => Ok(told),
            // Below the first block that was walked.
            (None, _) => Ok(block(&self.reader.below_tip(node, to).await?)),
        }
    }

    /// What a second reading finds that the first one lacked. Where the headers prove that all was read there is none.
    async fn late(&self, node: &Node, from: u64, to: u64) -> Result<Vec<Sighting>, Halt> {
        let mut late = Vec::new();
        let mut open = self.unproven.range(from..=to).copied().collect::<BTreeSet<_>>();
        while let Some(from) = open.first().copied() {
            let rest = open.split_off(&from.saturating_add(AT_ONCE));
            let to = open.last().copied().unwrap_or(from);
            late.extend(self.late_within(node, from, to).await?);
            open = rest;
        }
        Ok(late)
    }

    async fn late_within(&self, node: &Node, from: u64, to: u64) -> Result<Vec<Sighting>, Halt> {
        let (reader, logs) = self.reader.second_reading(node, &self.wanted, from, to).await?;
        let stored: BTreeSet<_> = self
            .book
            .sightings(from, to)
            .await?
            .into_iter()
            .map(|(_, hash, index)| (hash, index))
            .collect();
        let mut read = BTreeSet::new();
        let mut missing = Vec::new();
        for log in logs {
            let (number, hash) = place(&log);
            if self.told(number).await? != Some(hash) {
                return Err(Halt::Unanswered(format!(
                    "{} has another block {number} than the one that was told",
                    reader.host
                )));
            }
            let id = (hash, log.log_index.unwrap_or_default());
            read.insert(id);
            if !stored.contains(&id) {
                missing.push(log);
            }
        }
        if stored.iter().any(|id| !read.contains(id)) {
            // It was checked when it was stored, so it stays.
            self.reader.inconsistent(&reader, "withdrawn");
        }
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let chain = self.plan.name.clone();
        metrics::counter!(Metric::LateFacts.name(), "chain" => chain)
            .increment(missing.len() as u64);
        let times = self.reader.sightings(&reader, missing.clone(), true).await?;
        let late = missing.iter().zip(times);
        Ok(late.map(|(log, timed)| sighting(log, timed.block, true)).collect())
    }
}
