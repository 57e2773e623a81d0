//! History in ranges, several under way at once and stored in order.

use super::{
    Batch, Book, Sighting, Walked, Watch, asked::Wanted, block, finality::Bound, halt::Halt,
    reader::Reader,
};
use crate::{metrics::Metric, node::Node};
use alloy::rpc::types::Header;
use futures_util::{StreamExt as _, stream::FuturesOrdered};

/// More would only fill the queue of a node, and what fails is read again.
const IN_FLIGHT: usize = 4;

/// The pieces of a range, where a node gives the logs of fewer blocks at once: more would be lost with what fails.
const PIECES: u64 = 64;

/// A range that was asked for.
struct Read {
    from: u64,
    to: u64,
    read: Result<(Header, Vec<Sighting>), Halt>,
}

async fn read(reader: Reader, node: Node, wanted: Wanted, from: u64, to: u64) -> Read {
    let read = async {
        let (end, logs) = reader.history(&node, &wanted, from, to).await?;
        Ok((end, reader.sightings(&node, logs, false).await?))
    };
    Read { from, to, read: read.await }
}

impl<B: Book> Watch<B> {
    /// What is final and was not read yet. Whether there was any.
    pub(super) async fn backfill(&mut self, node: &Node, tip: &Header) -> Result<bool, Halt> {
        self.asked_finality(node, tip.number).await?;
        let (Some(seen), Some(bound)) = (self.seen, self.finality.bound(tip.number)) else {
            return Ok(false);
        };
        let last = bound.number().min(tip.number);
        if last <= seen.number {
            return Ok(false);
        }
        // Ranges are not linked by parents' hashes: what was told must still stand, and be final.
        let there = self.reader.below_tip(node, seen.number).await?;
        self.walk(node, &there).await?;
        self.settle_to(node, Bound::Block(block(&there))).await?;
        self.ranges(node, there.number + 1, last).await?;
        Ok(true)
    }

    async fn ranges(&mut self, node: &Node, from: u64, last: u64) -> Result<(), Halt> {
        let mut next = from;
        let mut under_way = FuturesOrdered::new();
        loop {
            while under_way.len() < IN_FLIGHT && next <= last {
                let to = self.range_end(node, next, last);
                under_way.push_back(read(
                    self.reader.clone(),
                    node.clone(),
                    self.wanted.clone(),
                    next,
                    to,
                ));
                next = to + 1;
            }
            let Some(Read { from, to, read }) = under_way.next().await else { return Ok(()) };
            let blocks = to - from + 1;
            match read {
                Ok((end, sightings)) => {
                    self.window.succeeded(blocks);
                    self.told_range(&end, sightings).await?;
                    let chain = self.plan.name.clone();
                    metrics::counter!(Metric::BackfillBlocks.name(), "chain" => chain)
                        .increment(blocks);
                }
                // More than the pool asks for in pieces: at once, since no node is asked for what is known to be too much.
                Err(Halt::Refused(_)) if blocks > 1 => {
                    self.window.failed(blocks);
                    under_way = FuturesOrdered::new();
                    next = from;
                }
                Err(halt) => {
                    // It may be too slow for so many.
                    self.window.failed(blocks);
                    return Err(halt);
                }
            }
            let (chain, provider) = (self.plan.name.clone(), node.name.clone());
            metrics::gauge!(Metric::RangeBlocks.name(), "chain" => chain, "provider" => provider)
                .set(self.window.blocks() as f64);
        }
    }

    /// A range ends where the window does. Where a reorg may go below the final block, there is also an end at the bottom
    /// of what it may take back: the stored hash there is what the search stops at.
    fn range_end(&self, node: &Node, from: u64, last: u64) -> u64 {
        let in_pieces =
            node.longest_log_range().map_or(u64::MAX, |most| most.saturating_mul(PIECES));
        let blocks = self.window.blocks().min(in_pieces);
        let to = last.min(from.saturating_add(blocks - 1));
        let bottom = last.saturating_sub(self.plan.reorg_window);
        match !self.finality.is_by_tag() && (from..to).contains(&bottom) {
            true => bottom,
            false => to,
        }
    }

    async fn told_range(&mut self, end: &Header, sightings: Vec<Sighting>) -> Result<(), Halt> {
        let at = Some(block(end));
        let batch = Batch {
            blocks: vec![Walked { block: block(end), parent: end.parent_hash }],
            sightings,
            seen: at,
            last_final: at,
            ..Batch::default()
        };
        self.commit(batch).await
    }
}
