//! The last blocks that were told, by hash: what a reorg is noticed with, and what it takes back.

use super::{Block, decode::Event, old::REORG_WINDOW};
use alloy::primitives::B256;
use std::collections::VecDeque;

/// Consecutive blocks, the oldest first. Never empty once it was restarted.
#[derive(Debug, Default)]
pub(super) struct Tail {
    blocks: VecDeque<Walked>,
}

/// A block and what was told of it.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) block: Block,
    pub(super) events: Vec<Event>,
}

impl Walked {
    pub(super) fn empty(block: Block) -> Self {
        Self { block, events: Vec::new() }
    }
}

impl Tail {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Begins anew at a block that has no remembered parent.
    pub(super) fn restart(&mut self, at: Walked) {
        self.blocks.clear();
        self.blocks.push_back(at);
    }

    /// The newest block.
    pub(super) fn tip(&self) -> Block {
        self.blocks.back().expect("restarted before it is used").block
    }

    /// The block so many before the newest one.
    pub(super) fn back(&self, blocks: usize) -> Option<Block> {
        self.blocks.iter().rev().nth(blocks).map(|walked| walked.block)
    }

    /// The number of the block to come.
    pub(super) fn next(&self) -> u64 {
        self.tip().number.saturating_add(1)
    }

    /// The hash of a block that is remembered.
    pub(super) fn hash_of(&self, number: u64) -> Option<B256> {
        let first = self.blocks.front()?.block.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        Some(self.blocks.get(index)?.block.hash)
    }

    /// Adds a block, and forgets the oldest one beyond the window. Whether it did.
    pub(super) fn push(&mut self, walked: Walked) -> bool {
        self.blocks.push_back(walked);
        self.blocks.len() as u64 > REORG_WINDOW + 1 && self.blocks.pop_front().is_some()
    }

    /// Forgets the newest block; `None` where it is the only one left, which is the ground to stand on.
    pub(super) fn pop(&mut self) -> Option<Walked> {
        if self.blocks.len() > 1 { self.blocks.pop_back() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(number: u64) -> Walked {
        Walked::empty(Block {
            number,
            hash: B256::from(alloy::primitives::U256::from(number)),
            time: number,
        })
    }

    #[test]
    fn it_remembers_the_window_and_no_more() {
        let mut tail = Tail::default();
        tail.restart(walked(0));
        for number in 1..=REORG_WINDOW {
            assert!(!tail.push(walked(number)));
        }
        assert_eq!(tail.hash_of(0), Some(B256::ZERO));
        assert_eq!(tail.next(), REORG_WINDOW + 1);
        assert!(tail.push(walked(REORG_WINDOW + 1)));
        assert_eq!(tail.hash_of(0), None);
        assert_eq!(tail.hash_of(1), Some(walked(1).block.hash));
        assert_eq!(tail.hash_of(REORG_WINDOW + 1), Some(walked(REORG_WINDOW + 1).block.hash));
        assert_eq!(tail.hash_of(REORG_WINDOW + 2), None);
    }

    #[test]
    fn the_last_block_is_never_popped() {
        let mut tail = Tail::default();
        tail.restart(walked(7));
        assert!(!tail.push(walked(8)));
        assert_eq!(tail.pop().unwrap().block.number, 8);
        assert!(tail.pop().is_none());
        assert_eq!(tail.tip().number, 7);
    }
}
