//! Contracts that were added after the cursors had passed their first block: each is read alone up to the cursors, a range
//! between two looks at the tip, and then joins the others.

use super::asked::Wanted;
use super::{Batch, Book, Sighting, Watch, halt::Halt};
use crate::{fold::Contract, node::Node};

impl<B: Book> Watch<B> {
    /// One range more. Whether there is more to be read.
    pub(super) async fn join(&mut self, node: &Node) -> Result<bool, Halt> {
        let (Some(seen), Some(last)) = (self.seen, self.last_final) else { return Ok(false) };
        let Some(joining) = self.joining.first().copied() else { return Ok(false) };
        let Contract { address, start, scanned_to, .. } = joining;
        let wanted = Wanted::new([joining], None);
        let from = start.max(scanned_to.saturating_add(1));
        let to = last.number.min(from.saturating_add(self.window.blocks() - 1));
        let mut sightings = match from <= to {
            true => self.alone(node, &wanted, from, to).await?,
            false => Vec::new(),
        };
        if to < last.number {
            let scanned = vec![(address, to)];
            self.commit(Batch { sightings, scanned, ..Batch::default() }).await?;
            self.joining[0].scanned_to = to;
            return Ok(true);
        }
        // What is not final joins in the same step: from the next block on it is walked with the others.
        if last.number < seen.number {
            let from = start.max(last.number + 1);
            if from <= seen.number {
                sightings.extend(self.not_final(node, &wanted, from, seen.number).await?);
            }
        }
        let scanned = vec![(address, seen.number)];
        self.commit(Batch { sightings, scanned, ..Batch::default() }).await?;
        self.joining.remove(0);
        self.wanted.add(joining);
        Ok(!self.joining.is_empty())
    }

    async fn alone(
        &mut self,
        node: &Node,
        wanted: &Wanted,
        from: u64,
        to: u64,
    ) -> Result<Vec<Sighting>, Halt> {
        let blocks = to - from + 1;
        let read = async {
            let (_, logs) = self.reader.history(node, wanted, from, to).await?;
            self.reader.sightings(node, logs, false).await
        };
        let read = read.await;
        match &read {
            Ok(_) => self.window.succeeded(blocks),
            Err(_) => self.window.failed(blocks),
        }
        read
    }

    /// Of blocks that may leave: they have to be those that were told.
    async fn not_final(
        &self,
        node: &Node,
        wanted: &Wanted,
        from: u64,
        to: u64,
    ) -> Result<Vec<Sighting>, Halt> {
        let (_, logs) = self.reader.history(node, wanted, from, to).await?;
        let sightings = self.reader.sightings(node, logs, false).await?;
        for sighting in &sightings {
            let number = sighting.block.number;
            if self.told(number).await? != Some(sighting.block.hash) {
                return Err(Halt::Unanswered(format!(
                    "it has another block {number} than the one that was told"
                )));
            }
        }
        Ok(sightings)
    }
}
