//! Up to where blocks will not leave the chain any more.
//!
//! A tag is asked for rarely: it moves once in many blocks, and nobody waits for it unless there is a fact below it. Where
//! a node has no such tag, a number of confirmations stands in. One that works but stands still is not replaced: what
//! does not become final is told, and is not declared final.

use super::{Block, block, halt::Halt};
use crate::{config::Confirmations, node::Node};
use alloy::{eips::BlockNumberOrTag, providers::Provider};
use std::time::Duration;
use tokio::time::Instant;

/// An epoch of Ethereum: the tag does not move within one.
const EVERY_BLOCKS: u64 = 32;

/// While something waits to become final.
const EVERY: Duration = Duration::from_secs(30);

/// While nothing waits and few blocks come.
const RARELY: Duration = Duration::from_secs(600);

/// How long a tag may stand still.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// What is final, as far as the node says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// This very block.
    Block(Block),
    /// The block of this number on the chain that was read.
    Number(u64),
}

impl Bound {
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Block(block) => block.number,
            Self::Number(number) => number,
        }
    }
}

/// Follows what is final.
#[derive(Debug)]
pub(super) struct Finality {
    policy: Confirmations,
    fallback: u64,
    /// What the tag said last.
    tag: Option<Block>,
    is_unsupported: bool,
    asked: Option<(Instant, u64)>,
    /// When the tag moved, and whether it was told that it does not.
    moved: Option<Instant>,
    is_told: bool,
}

impl Finality {
    pub(super) fn new(policy: Confirmations, fallback: u64) -> Self {
        Self {
            policy,
            fallback,
            tag: None,
            is_unsupported: false,
            asked: None,
            moved: None,
            is_told: false,
        }
    }

    /// Whether a final block is one that the chain itself has declared final.
    pub(super) fn is_by_tag(&self) -> bool {
        self.tag_name().is_some() && !self.is_unsupported
    }

    fn tag_name(&self) -> Option<BlockNumberOrTag> {
        match self.policy {
            Confirmations::Finalized => Some(BlockNumberOrTag::Finalized),
            Confirmations::Safe => Some(BlockNumberOrTag::Safe),
            Confirmations::Blocks(_) => None,
        }
    }

    /// Whether the tag is to be asked for at this head.
    pub(super) fn is_due(&self, head: u64, is_waited_for: bool) -> bool {
        if self.tag_name().is_none() {
            return false;
        }
        let Some((asked, at)) = self.asked else { return true };
        let patience = if is_waited_for { EVERY } else { RARELY };
        // Nothing becomes final without a block.
        head > at && (head - at >= EVERY_BLOCKS || asked.elapsed() >= patience)
    }

    /// Asks the node for its tag. Whether it is new that there is none.
    pub(super) async fn ask(&mut self, node: &Node, head: u64) -> Result<bool, Halt> {
        let Some(tag) = self.tag_name() else { return Ok(false) };
        let answer = node.provider.get_block_by_number(tag).await;
        let found = match answer {
            Ok(found) => found.map(|found| block(&found.header)),
            // What the node itself says: that it does not know such a tag.
            Err(error) if error.as_error_resp().is_some() => None,
            Err(error) => return Err(error.into()),
        };
        self.asked = Some((Instant::now(), head));
        Ok(self.heard(found, head))
    }

    /// What was heard was of another chain.
    pub(super) fn forget(&mut self) {
        self.tag = None;
        self.asked = None;
    }

    fn heard(&mut self, found: Option<Block>, head: u64) -> bool {
        // 0 is what nodes say that know the word and not the thing.
        let found = found.filter(|found| {
            found.number > 0 || head <= self.fallback.saturating_mul(2) || self.tag.is_some()
        });
        match found {
            Some(found) => {
                self.is_unsupported = false;
                if self.tag.is_none_or(|tag| found.number > tag.number) {
                    self.tag = Some(found);
                    self.moved = Some(Instant::now());
                    self.is_told = false;
                }
                false
            }
            // One that has worked is waited for.
            None if self.tag.is_some() => false,
            None => !std::mem::replace(&mut self.is_unsupported, true),
        }
    }

    /// What is final when this block is the newest.
    pub(super) fn bound(&self, head: u64) -> Option<Bound> {
        match (self.policy, self.tag) {
            (Confirmations::Blocks(count), _) => Some(Bound::Number(head.saturating_sub(count))),
            (_, Some(tag)) => Some(Bound::Block(tag)),
            _ if self.is_unsupported => Some(Bound::Number(head.saturating_sub(self.fallback))),
            _ => None,
        }
    }

    /// Whether it is news that the tag has stood still for long while blocks came.
    pub(super) fn stands_still(&mut self, head: u64) -> bool {
        let is_behind = self.tag.is_some_and(|tag| head > tag.number);
        let is_long = self.moved.is_some_and(|moved| moved.elapsed() >= PATIENCE);
        is_behind && is_long && !std::mem::replace(&mut self.is_told, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::B256;
    use tokio::time;

    fn at(number: u64) -> Option<Block> {
        Some(Block { number, hash: B256::ZERO, time: 0 })
    }

    fn tagged() -> Finality {
        Finality::new(Confirmations::Finalized, 64)
    }

    #[test]
    fn a_number_of_confirmations_asks_nobody() {
        let finality = Finality::new(Confirmations::Blocks(4), 64);
        assert!(!finality.is_due(100, true) && !finality.is_by_tag());
        assert_eq!(finality.bound(100), Some(Bound::Number(96)));
        assert_eq!(finality.bound(3), Some(Bound::Number(0)));
    }

    #[tokio::test]
    async fn a_tag_that_a_node_does_not_have_is_replaced_by_a_number_and_told_once() {
        let mut finality = tagged();
        assert_eq!(finality.bound(100), None, "nobody was asked");
        assert!(finality.is_by_tag() && finality.is_due(100, false));
        assert!(finality.heard(None, 100));
        assert!(!finality.heard(at(0), 129), "0 above twice the fallback is none");
        assert_eq!(finality.bound(200), Some(Bound::Number(136)));
        assert!(!finality.is_by_tag());

        assert!(!finality.heard(at(130), 200), "there is one after all");
        assert!(finality.is_by_tag());
        assert_eq!(finality.bound(200).unwrap().number(), 130);
        assert!(!finality.heard(None, 300));
        assert_eq!(finality.bound(300).unwrap().number(), 130, "what worked is not replaced");

        let mut short = tagged();
        assert!(!short.heard(at(0), 128), "a chain may be short");
        assert_eq!(short.bound(128).unwrap().number(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_asked_for_every_32_blocks_or_when_somebody_waits() {
        let mut finality = tagged();
        finality.asked = Some((Instant::now(), 100));
        assert!(!finality.is_due(131, true) && finality.is_due(132, false));
        time::advance(EVERY).await;
        assert!(!finality.is_due(100, true), "no block, nothing new");
        assert!(finality.is_due(101, true) && !finality.is_due(101, false));
        time::advance(RARELY).await;
        assert!(finality.is_due(101, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tag_that_stands_still_is_told_once_until_it_moves() {
        let mut finality = tagged();
        finality.heard(at(100), 164);
        time::advance(PATIENCE).await;
        assert!(!finality.stands_still(100), "so does the chain");
        assert!(finality.stands_still(300) && !finality.stands_still(301));
        finality.heard(at(101), 302);
        assert!(!finality.stands_still(302));
        time::advance(PATIENCE).await;
        assert!(finality.stands_still(303));
    }
}
