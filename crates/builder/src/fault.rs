//! What counts as a fault of a slot.
//!
//! Today a slot fails when no block fills it. With Gloas (ePBS) the proposer's block arrives whatever the builder does, and it
//! is the builder's *payload* that may not. Policies do not change: they go on counting what a [`FaultSource`] calls
//! missed.

use crate::{
    evidence::{SlotFacts, Status},
    root::Root,
};

/// A block of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its root.
    pub root: Root,
    /// The block it builds on, where that is known.
    pub parent: Option<Root>,
    /// Whether it counts.
    pub validity: Validity,
    /// What became of its payload; before Gloas it comes with the block.
    pub payload: Payload,
}

/// Whether a block counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validity {
    /// Not known to be invalid.
    #[default]
    Valid,
    /// A node called it invalid, which is the only way out: pruning removes nothing.
    Invalid,
    /// It came after its slot was found missed and the breaker had tripped. It links other blocks, and fills nothing.
    Late,
}

/// What is known of a block's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Nobody has read the block's bid.
    #[default]
    Unknown,
    /// The proposer's own.
    Own,
    /// An external builder's, which has not come.
    Awaited,
    /// It was imported.
    Revealed,
}

/// Whether a slot's block is an ancestor of the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Canonical {
    /// A parent link is missing.
    #[default]
    Unsure,
    /// This one is.
    Block(Root),
    /// None is.
    None,
}

/// Everything known of a slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotView<'a> {
    /// Its blocks.
    pub blocks: &'a [Block],
    /// Which of them is canonical.
    pub canonical: Canonical,
    /// Whether it is over, and a node that would have seen a block has watched it to its end.
    pub seen: bool,
}

/// Turns what was observed of a slot into its status.
pub trait FaultSource {
    /// The status in both views.
    fn facts(&self, slot: &SlotView<'_>) -> SlotFacts;
}

/// A slot without a block is missed: all networks before Gloas.
#[derive(Clone, Copy, Debug)]
pub struct MissedBlock;

impl FaultSource for MissedBlock {
    fn facts(&self, slot: &SlotView<'_>) -> SlotFacts {
        let valid = |block: &&Block| block.validity == Validity::Valid;
        let blocks = slot.blocks.iter().filter(valid).count();
        let tree = match blocks {
            0 if slot.seen => Status::Missed,
            0 => Status::Unknown,
            _ => Status::Present,
        };
        let canonical = match slot.canonical {
            Canonical::Block(root) => {
                let counts = slot.blocks.iter().filter(valid).any(|block| block.root == root);
                if counts { Status::Present } else { Status::Missed }
            }
            Canonical::None => Status::Missed,
            // What is nowhere in the tree is not in one of its branches.
            Canonical::Unsure if tree == Status::Missed => Status::Missed,
            Canonical::Unsure => Status::Unknown,
        };
        SlotFacts { tree, canonical, blocks: u8::try_from(blocks).unwrap_or(u8::MAX) }
    }
}

/// A slot whose canonical block took an external builder's bid, and whose payload was not imported, is missed: from Gloas
/// on. A full block off the canonical chain does not hide that (lodestar#9815); a late reveal takes it back (teku#10911);
/// a slot without a block is no builder's fault.
#[derive(Clone, Copy, Debug)]
pub struct EmptyPayload;

impl FaultSource for EmptyPayload {
    fn facts(&self, slot: &SlotView<'_>) -> SlotFacts {
        let status = match slot.canonical {
            Canonical::Block(root) => {
                let block = slot.blocks.iter().find(|block| block.root == root);
                match block.map(|block| block.payload) {
                    Some(Payload::Own | Payload::Revealed) => Status::Present,
                    // Until the slot is over the payload may still come.
                    Some(Payload::Awaited) if slot.seen => Status::Missed,
                    _ => Status::Unknown,
                }
            }
            Canonical::None if slot.seen => Status::Present,
            Canonical::Unsure if slot.seen && slot.blocks.is_empty() => Status::Present,
            _ => Status::Unknown,
        };
        let blocks = u8::from(status == Status::Present);
        SlotFacts { tree: status, canonical: status, blocks }
    }
}
