//! From the tip back along the parents' hashes to what was told, and forward again, block by block.

use super::{Batch, Block, Book, Walked, Watch, block, halt::Halt, reader::sighting};
use crate::{alert::AlertType, metrics::Metric, node::Node};
use alloy::rpc::types::Header;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// Blocks below the tip that are walked rather than read in ranges, if they are final.
const WALKED: u64 = 256;

/// What is stored at once: a reorg is taken back and told anew in one step, as far as that is not too much.
const MOST_BLOCKS: usize = 64;
const MOST_SIGHTINGS: usize = 2_000;

/// How long a node may take to have the logs of a block that it has. Some have them later than the header.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a chain of headers leaves what was told.
#[derive(Debug)]
struct Path {
    /// The newest block that is on both.
    ancestor: Block,
    /// Those above it, the oldest first.
    headers: Vec<Header>,
}

impl<B: Book> Watch<B> {
    /// Everything up to this tip. Whether the chain is likely to have gone on meanwhile.
    pub(super) async fn follow(&mut self, node: &Node, tip: &Header) -> Result<bool, Halt> {
        let mut is_long = false;
        while let Some(seen) = self.seen {
            if tip.number.saturating_sub(seen.number) <= WALKED {
                self.walk(node, tip).await?;
                break;
            }
            is_long = true;
            if !self.backfill(node, tip).await? {
                let next = self.reader.below_tip(node, seen.number + WALKED).await?;
                self.walk(node, &next).await?;
            }
        }
        Ok(is_long)
    }

    /// Up to a block, by the parents that lead to it; what does not is taken back.
    pub(super) async fn walk(&mut self, node: &Node, to: &Header) -> Result<(), Halt> {
        if self.seen.is_some_and(|seen| seen.hash == to.hash) {
            return Ok(());
        }
        let Path { ancestor, headers } = self.path(node, to).await?;
        let mut batch = Batch::default();
        if let Some(seen) = self.seen.filter(|seen| seen.hash != ancestor.hash) {
            self.reorg(seen, ancestor).await?;
            batch.rewound_to = Some(ancestor);
        }
        let mut unproven = Vec::new();
        for header in &headers {
            let found = self.reader.block_logs(node, &self.wanted, header).await?;
            let at = block(header);
            if found.is_contradicted && self.is_too_early(at) {
                self.store_walked(batch, unproven).await?;
                return Err(Halt::Unanswered(format!(
                    "it has no logs in block {}, though the block's bloom says that there are some",
                    at.number
                )));
            }
            if !found.is_proven {
                unproven.push(at.number);
            }
            batch.sightings.extend(found.logs.iter().map(|log| sighting(log, at, false)));
            batch.blocks.push(Walked { block: at, parent: header.parent_hash });
            batch.seen = Some(at);
            if batch.blocks.len() >= MOST_BLOCKS || batch.sightings.len() >= MOST_SIGHTINGS {
                let (batch, unproven) = (std::mem::take(&mut batch), std::mem::take(&mut unproven));
                self.store_walked(batch, unproven).await?;
            }
        }
        self.store_walked(batch, unproven).await
    }

    async fn store_walked(&mut self, batch: Batch, unproven: Vec<u64>) -> Result<(), Halt> {
        if batch.seen.is_none() && batch.rewound_to.is_none() {
            return Ok(());
        }
        self.commit(batch).await?;
        self.unproven.extend(unproven);
        Ok(())
    }

    /// Whether such a block is to be asked for again. Its bloom may look so by chance, or be that of two other contracts:
    /// not for ever.
    fn is_too_early(&mut self, at: Block) -> bool {
        match self.hollow {
            Some((hash, since)) if hash == at.hash => since.elapsed() < PATIENCE,
            _ => {
                self.hollow = Some((at.hash, Instant::now()));
                true
            }
        }
    }

    /// Back to a block that was told. A reorg goes no further than the final block; where that is one by number alone it
    /// may go further, which is grave, down to the end of the window.
    async fn path(&self, node: &Node, to: &Header) -> Result<Path, Halt> {
        let last = self.last_final.map_or(0, |last| last.number);
        let mut headers = vec![to.clone()];
        let mut child = to.clone();
        let ancestor = loop {
            let Some(number) = child.number.checked_sub(1) else {
                return Err(self.no_ancestor());
            };
            if let Some(told) = self.told_block(number).await?
                && told.hash == child.parent_hash
            {
                break told;
            }
            if number <= last {
                let window = if self.finality.is_by_tag() { 0 } else { self.plan.reorg_window };
                if number.saturating_add(window) <= last {
                    return Err(self.no_ancestor());
                }
                self.is_alone_without(node).await?;
            }
            child = self.reader.parent(node, &child).await?;
            headers.push(child.clone());
        };
        headers.reverse();
        Ok(Path { ancestor, headers })
    }

    async fn told_block(&self, number: u64) -> Result<Option<Block>, Halt> {
        for known in [self.seen, self.last_final].into_iter().flatten() {
            if known.number == number {
                return Ok(Some(known));
            }
        }
        if self.seen.is_none_or(|seen| number > seen.number) {
            return Ok(None);
        }
        Ok(self.book.stored(number).await?.map(|walked| walked.block))
    }

    /// That the final block has left is not believed of a node while another one has it.
    async fn is_alone_without(&self, node: &Node) -> Result<(), Halt> {
        let Some(last) = self.last_final else { return Ok(()) };
        match self.reader.others_have(node, last).await {
            Some(true) => Err(Halt::Unanswered(format!(
                "it has not got block {} with hash {}, which counts as final and another node has",
                last.number, last.hash
            ))),
            _ => Ok(()),
        }
    }

    fn no_ancestor(&self) -> Halt {
        let Some(last) = self.last_final else {
            return Halt::Unanswered("the node's blocks lead nowhere".to_owned());
        };
        let (number, hash) = (last.number, last.hash);
        let below = match self.finality.is_by_tag() {
            true => "which was final".to_owned(),
            false => format!("nor are the {} before it", self.plan.reorg_window),
        };
        Halt::Foreign(format!(
            "block {number} with hash {hash} is no longer on the node's chain, {below}: \
             this is another chain, or one begun anew. Give another --store to follow it"
        ))
    }

    /// Blocks have left: counted, and told where one of them counted as final.
    async fn reorg(&self, seen: Block, ancestor: Block) -> Result<(), Halt> {
        let chain = self.plan.name.clone();
        let depth = seen.number.saturating_sub(ancestor.number);
        metrics::counter!(Metric::Reorgs.name(), "chain" => chain.clone()).increment(1);
        metrics::histogram!(Metric::ReorgDepth.name(), "chain" => chain).record(depth as f64);
        tracing::info!(chain = self.plan.name, depth, ancestor = ancestor.number, "reorg");
        let Some(last) = self.last_final.filter(|last| last.number > ancestor.number) else {
            return Ok(());
        };
        let reason = format!(
            "blocks {} to {} have left the chain, though {} counted as final",
            ancestor.number + 1,
            seen.number,
            last.number
        );
        self.board.degraded("reorg", reason.clone());
        let data = json!({ "reason": reason, "depth": depth, "block": last.number });
        let cause = format!("{}:{}", last.hash, ancestor.hash);
        Ok(self.book.note(AlertType::ChainDegraded, &cause, ancestor.time, data).await?)
    }
}
