//! What a node sees of the chain. Which methods that touches, `view` says.

use super::{Effect, RangeCap, RangeWording, ResultCap, ResultWording, Rule};
use alloy::primitives::B256;
use std::ops::RangeInclusive;

/// What becomes of the tags `safe` and `finalized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// They are this block.
    At(u64),
    /// The node does not know them: −32602.
    Unsupported,
    /// `null`.
    Null,
}

/// # Views of the chain
impl Rule {
    /// As the chain was `blocks` ago: the head, `latest`, by number and by hash, receipts and state. Newer blocks are
    /// unknown, and their logs are `[]` even where geth would give an error: a client can't tell it from no logs.
    ///
    /// On one method alone it is a node whose parts disagree. Subscriptions are not changed.
    pub fn stale(self, blocks: u64) -> Self {
        self.with(Effect::Stale(blocks))
    }

    /// The blocks of these numbers are unknown, with all that is in them; the head stays.
    pub fn hide(self, blocks: RangeInclusive<u64>) -> Self {
        self.with(Effect::Hide(blocks))
    }

    /// Another upstream is asked: a fork, the other half of a split, another chain.
    pub fn pin_to(self, upstream: impl Into<String>) -> Self {
        self.with(Effect::PinTo(upstream.into()))
    }

    /// Says another chain id.
    pub fn chain_id(self, id: u64) -> Self {
        self.with(Effect::ChainId(id))
    }

    /// Says another hash of block 0.
    pub fn genesis(self, hash: B256) -> Self {
        self.with(Effect::Genesis(hash))
    }

    /// Overrides the tags `safe` and `finalized`.
    pub fn finality(self, finality: Finality) -> Self {
        self.with(Effect::Finality(finality))
    }
}

/// # Caps of `eth_getLogs`
impl Rule {
    /// Refuses a range of more than `blocks`, in the words of a provider.
    ///
    /// # Panics
    /// When `blocks` is 0.
    pub fn range_cap(self, blocks: u64, wording: RangeWording) -> Self {
        assert_ne!(blocks, 0, "no range has 0 blocks: use error()");
        self.with(Effect::RangeCap(RangeCap { blocks, wording }))
    }

    /// Refuses an answer of more than `logs`, in the words of a provider.
    pub fn result_cap(self, logs: usize, wording: ResultWording) -> Self {
        self.with(Effect::ResultCap(ResultCap { logs, wording }))
    }
}
