//! The slots of a half-open breaker, each with the time its probe started.

use crate::clock::Tick;

/// Probes under way. A free slot shows the origin, so that equal sets are equal values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Probes {
    /// One bit a slot.
    taken: u16,
    since: [Tick; Self::MOST as usize],
}

impl Probes {
    pub(super) const MOST: u8 = 16;

    pub(super) const fn in_flight(&self) -> u8 {
        // At most 16 bits can be set.
        self.taken.count_ones() as u8
    }

    /// Takes a free slot; there must be one.
    pub(super) fn take(&mut self, now: Tick) -> u8 {
        let slot = self.taken.trailing_ones() as u8;
        debug_assert!(slot < Self::MOST, "a slot is only taken where one is free");
        self.taken |= 1 << slot;
        self.since[usize::from(slot)] = now;
        slot
    }

    /// Gives a slot back; false if it was free.
    pub(super) fn release(&mut self, slot: u8) -> bool {
        let bit = 1 << slot;
        let was_taken = self.taken & bit != 0;
        self.taken &= !bit;
        self.since[usize::from(slot)] = Tick::ZERO;
        was_taken
    }

    /// When the oldest probe started.
    pub(super) fn oldest(&self) -> Option<Tick> {
        (0..Self::MOST)
            .filter(|slot| self.taken & (1 << slot) != 0)
            .map(|slot| self.since[usize::from(slot)])
            .min()
    }
}
