//! What a step of the watch learned. It is stored whole or not at all, and storing it again changes nothing.

use super::Block;
use alloy::primitives::{Address, B256, Bytes};

/// A step along one chain. What it does not say stays as it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// The newest stored block that is still on the chain: what is above it has left.
    pub(crate) rewound_to: Option<Block>,
    /// Blocks that were walked, the oldest first, each the child of the one before.
    pub(crate) blocks: Vec<Walked>,
    /// Logs of breakers, in chain order.
    pub(crate) sightings: Vec<Sighting>,
    /// All up to this block is told.
    pub(crate) seen: Option<Block>,
    /// All up to this block is told, and will not leave.
    pub(crate) last_final: Option<Block>,
    /// Contracts that were read up to a block that the cursors had passed before: those that were added later.
    pub(crate) scanned: Vec<(Address, u64)>,
}

/// A block that was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) block: Block,
    pub(crate) parent: B256,
}

/// A log with a breaker's topic, where it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) block: Block,
    pub(crate) transaction: Option<B256>,
    pub(crate) log_index: u64,
    pub(crate) contract: Address,
    pub(crate) topics: Vec<B256>,
    pub(crate) data: Bytes,
    /// It was missing when its block was first read.
    pub(crate) late: bool,
}
