//! What is known of the slots before one slot, small enough to be judged in nanoseconds.
//!
//! Policies ask how many of the last slots are missed, and how long the run just before is. Both come from a mask of 64
//! slots and the last present one, which are kept up to date slot by slot; nothing is counted again. A slot may also be
//! *unknown*. That is neither missed nor present, so everything here is kept twice: as it would be if all unknown slots
//! were present, and as if all were missed. Where both lead to one verdict, what is unknown does not matter.

use crate::reorgs::Reorgs;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far back policies look, in slots: the width of a mask.
pub const DEPTH: u64 = 64;

/// Which blocks fill a slot.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Every valid block of the block tree, canonical or not. Who reorgs blocks away cannot empty a slot.
    #[default]
    Tree,
    /// The ancestors of the head only.
    Canonical,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tree => "tree",
            Self::Canonical => "canonical",
        })
    }
}

/// What is known of a slot in one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A block fills it.
    Present,
    /// It is over, somebody who would have seen a block watched, and there was none.
    Missed,
    /// Nobody can tell, or it is not over. Never evidence of a miss.
    Unknown,
}

/// What is known of a slot in both views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotFacts {
    /// Any valid block.
    pub tree: Status,
    /// Ancestors of the head.
    pub canonical: Status,
    /// How many different blocks, orphans and equivocations too.
    pub blocks: u8,
}

impl SlotFacts {
    /// One canonical block.
    pub const FILLED: Self = Self { tree: Status::Present, canonical: Status::Present, blocks: 1 };
    /// No block at all.
    pub const EMPTY: Self = Self { tree: Status::Missed, canonical: Status::Missed, blocks: 0 };
    /// One block, which lost a fork.
    pub const ORPHANED: Self = Self { tree: Status::Present, canonical: Status::Missed, blocks: 1 };
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { tree: Status::Unknown, canonical: Status::Unknown, blocks: 0 };
}

/// The slots before s, under one assumption about the unknown ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Bit i: slot s−1−i is missed.
    pub(crate) missed: u64,
    /// The last present slot before s. Slot 0 and everything before it is present.
    pub(crate) last_present: u64,
    /// Bit i: slot `last_present`−1−i is missed. Kept apart, since a run may be longer than the mask.
    pub(crate) before_last: u64,
}

impl Reading {
    fn push(&mut self, slot: u64, missed: bool) {
        if !missed {
            self.last_present = slot;
            self.before_last = self.missed;
        }
        self.missed = self.missed << 1 | u64::from(missed);
    }

    /// Missed ones among the `slots` (at most 64) before s.
    pub(crate) fn missed_in(&self, slots: u64) -> u64 {
        u64::from((self.missed & mask(slots)).count_ones())
    }
}

/// The lowest `slots` bits.
pub(crate) const fn mask(slots: u64) -> u64 {
    if slots >= DEPTH { u64::MAX } else { (1 << slots) - 1 }
}

/// One view of the slots before s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readings {
    /// Unknown slots taken as present.
    pub(crate) if_present: Reading,
    /// Unknown slots taken as missed.
    pub(crate) if_missed: Reading,
}

impl Readings {
    fn push(&mut self, slot: u64, status: Status) {
        self.if_present.push(slot, status == Status::Missed);
        self.if_missed.push(slot, status != Status::Present);
    }

    /// Bit i: slot s−1−i is unknown.
    pub(crate) fn unknown(&self) -> u64 {
        self.if_missed.missed & !self.if_present.missed
    }
}

/// Why a decision may have nothing to stand on. All but the first keep local building as the answer unless configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// The execution client is gone: the local builder is the broken part.
    ElOffline,
    /// Blocks come before their slot: this machine's clock is wrong.
    ClockSkew,
    /// The node is catching up.
    Syncing,
    /// No node has ever been fit to be asked.
    NoNode,
    /// The head's payload is not verified yet.
    Optimistic,
}

/// What is known of the slots before `slot`, of finality and of reorgs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub(crate) slot: u64,
    pub(crate) tree: Readings,
    pub(crate) canonical: Readings,
    /// Blocks beyond the first of each slot, as three binary digits: bit i of `extra[k]` is worth 2ᵏ blocks in slot s−1−i.
    pub(crate) extra: [u64; 3],
    pub(crate) finalized: Option<u64>,
    pub(crate) reorgs: Reorgs,
    pub(crate) gate: Option<Gate>,
    /// No node's stream is up.
    pub(crate) alone: bool,
    /// What can be missed are payloads, not blocks.
    pub(crate) payloads: bool,
}

impl Evidence {
    /// All slots before `slot` are present, with one block each.
    #[must_use]
    pub fn filled(slot: u64) -> Self {
        let last_present = slot.saturating_sub(1);
        let reading = Reading { missed: 0, last_present, before_last: 0 };
        let readings = Readings { if_present: reading, if_missed: reading };
        Self {
            slot,
            tree: readings,
            canonical: readings,
            extra: [0; 3],
            finalized: None,
            reorgs: Reorgs::default(),
            gate: None,
            alone: false,
            payloads: false,
        }
    }

    /// Nothing is known of any slot before `slot`.
    #[must_use]
    pub fn unknown(slot: u64) -> Self {
        // Slot 0 is present in every chain.
        let mut evidence = Self::filled(slot.min(1));
        evidence.skip(slot);
        evidence
    }

    /// The slot about which is to be decided; only slots before it count.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// The missed run just before the slot, unknown slots taken as present.
    #[must_use]
    pub fn run(&self, view: View) -> u64 {
        self.run_in(&self.view(view).if_present)
    }

    /// The last slot that a block is known to fill.
    #[must_use]
    pub fn last_present(&self, view: View) -> u64 {
        self.view(view).if_missed.last_present
    }

    /// How many of the last 64 slots are unknown.
    #[must_use]
    pub fn unknown_slots(&self, view: View) -> u32 {
        self.view(view).unknown().count_ones()
    }

    /// How many present slots in a row end just before the slot: at most 64, and an unknown one ends them too.
    #[must_use]
    pub fn present_run(&self, view: View) -> u64 {
        u64::from(self.view(view).if_missed.missed.trailing_zeros())
    }

    /// What is known of the slot just before.
    #[must_use]
    pub fn last_status(&self, view: View) -> Status {
        let readings = self.view(view);
        match (readings.if_present.missed & 1, readings.if_missed.missed & 1) {
            (0, 0) => Status::Present,
            (0, _) => Status::Unknown,
            _ => Status::Missed,
        }
    }

    /// Goes to the next slot; `facts` are of the slot that this evidence was about.
    #[inline]
    pub fn push(&mut self, facts: SlotFacts) {
        self.tree.push(self.slot, facts.tree);
        self.canonical.push(self.slot, facts.canonical);
        // At most 8 blocks of a slot are kept, so at most 7 beyond the first.
        let extra = u64::from(facts.blocks.saturating_sub(1).min(7));
        for (digit, plane) in self.extra.iter_mut().enumerate() {
            *plane = *plane << 1 | (extra >> digit & 1);
        }
        self.slot += 1;
    }

    /// Goes to `slot`, and nothing is known of the slots between.
    pub(crate) fn skip(&mut self, slot: u64) {
        // Beyond the mask only the assumed ends of the runs change.
        let near = slot.saturating_sub(2 * DEPTH);
        if near > self.slot {
            for readings in [&mut self.tree, &mut self.canonical] {
                readings.if_present = Reading { missed: 0, last_present: near - 1, before_last: 0 };
                readings.if_missed.missed = u64::MAX;
            }
            self.extra = [0; 3];
            self.slot = near;
        }
        while self.slot < slot {
            self.push(SlotFacts::UNKNOWN);
        }
    }

    /// The finalized epoch, where it is known.
    #[must_use]
    pub fn with_finalized(mut self, epoch: Option<u64>) -> Self {
        self.finalized = epoch;
        self
    }

    /// The head moved to another branch at `slot`, leaving `depth` blocks behind.
    pub fn reorg(&mut self, slot: u64, depth: u64) {
        self.reorgs.add(slot, depth);
    }

    /// Whether all slots that a policy can look at are present, with one block each.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        let missed = |reading: &Reading| reading.missed | reading.before_last;
        let irregular = |view: &Readings| missed(&view.if_present) | missed(&view.if_missed);
        let [one, two, four] = self.extra;
        irregular(&self.tree) | irregular(&self.canonical) | one | two | four == 0
    }

    pub(crate) fn view(&self, view: View) -> &Readings {
        match view {
            View::Tree => &self.tree,
            View::Canonical => &self.canonical,
        }
    }

    pub(crate) fn run_in(&self, reading: &Reading) -> u64 {
        (self.slot.saturating_sub(1)).saturating_sub(reading.last_present)
    }

    /// All blocks in the last `slots` (at most 64); an unknown slot has one where it counts as present.
    pub(crate) fn blocks_in(&self, view: View, reading: &Reading, slots: u64) -> u64 {
        let mask = mask(slots);
        let present = u64::from((!reading.missed & mask).count_ones());
        if view == View::Canonical || self.extra == [0; 3] {
            return present;
        }
        let extra = self.extra.iter().enumerate();
        present + extra.map(|(k, plane)| u64::from((plane & mask).count_ones()) << k).sum::<u64>()
    }
}
