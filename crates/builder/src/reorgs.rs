//! Reorgs of the last slots, for the rules that count them.

use crate::evidence::DEPTH;
use std::fmt;

/// Reorgs of the last 64 slots, by the slot of the new head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reorgs {
    /// By slot modulo 64. One older than that is overwritten when its place is needed, and ignored until then.
    places: [Reorg; DEPTH as usize],
    newest: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reorg {
    slot: u64,
    count: u16,
    depth: u16,
}

impl fmt::Debug for Reorgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.places.iter().filter(|place| place.count > 0)).finish()
    }
}

impl Default for Reorgs {
    fn default() -> Self {
        Self { places: [Reorg::default(); DEPTH as usize], newest: None }
    }
}

impl Reorgs {
    pub(crate) fn add(&mut self, slot: u64, depth: u64) {
        let place = &mut self.places[(slot % DEPTH) as usize];
        if place.count > 0 && place.slot > slot {
            return;
        }
        if place.slot != slot {
            *place = Reorg { slot, count: 0, depth: 0 };
        }
        place.count = place.count.saturating_add(1);
        place.depth = place.depth.max(u16::try_from(depth).unwrap_or(u16::MAX));
        self.newest = self.newest.max(Some(slot));
    }

    /// The deepest one and the number of all, among the `slots` before s.
    pub(crate) fn within(&self, s: u64, slots: u64) -> (u64, u64) {
        let from = s.saturating_sub(slots);
        if self.newest.is_none_or(|newest| newest < from) {
            return (0, 0);
        }
        let inside = self.places.iter().filter(|place| (from..s).contains(&place.slot));
        inside.fold((0, 0), |(depth, count), place| {
            (depth.max(u64::from(place.depth)), count + u64::from(place.count))
        })
    }
}
