//! What a beacon node can vouch for.
//!
//! A node vouches for a slot when its stream was up, and its blocks complete, from before the slot to its end. Silence of
//! any other node says nothing.

use crate::{evidence::Gate, root::Root};

/// One of the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Its stream of events.
    pub(super) up: bool,
    /// All its blocks are known from this slot on; none until it was asked for them.
    sees_from: Option<u64>,
    /// The slot in which it was last heard to be well, with a head that is known.
    well_at: u64,
    syncing: bool,
    el_offline: bool,
    skewed: bool,
    pub(super) optimistic: bool,
    pub(super) head: Option<(u64, Root)>,
    pub(super) finalized: Option<u64>,
}

impl Node {
    /// Up, and well until now.
    pub(super) fn trusted(now: u64) -> Self {
        Self { up: true, sees_from: Some(now), well_at: now, ..Self::default() }
    }

    /// It can be asked, and it says everything.
    pub(super) fn is_fit(&self) -> bool {
        self.up && self.sees_from.is_some() && self.gate().is_none()
    }

    /// Whether it has watched a slot that is over now.
    pub(super) fn has_seen(&self, slot: u64) -> bool {
        self.sees_from.is_some_and(|from| from <= slot)
    }

    /// What is wrong with it.
    pub(super) fn gate(&self) -> Option<Gate> {
        match self {
            Self { el_offline: true, .. } => Some(Gate::ElOffline),
            Self { skewed: true, .. } => Some(Gate::ClockSkew),
            Self { syncing: true, .. } => Some(Gate::Syncing),
            _ => None,
        }
    }

    pub(super) fn stream(&mut self, up: bool) {
        self.up = up;
        // A stream that is back has a gap, and one that is new knows nothing of what was before.
        self.sees_from = None;
    }

    /// Its blocks are complete up to now, and will be as long as its stream is up.
    pub(super) fn reconciled(&mut self, now: u64) {
        if self.up && self.gate().is_none() {
            self.sees_from = Some(now);
            self.well_at = now;
        }
    }

    /// What it says of itself. The first slot for which it cannot vouch any more, if there is one.
    pub(super) fn report(&mut self, syncing: bool, el_offline: bool, now: u64) -> Option<u64> {
        (self.syncing, self.el_offline) = (syncing, el_offline);
        if self.gate().is_some() {
            return Some(self.blind());
        }
        if self.sees_from.is_some() {
            self.well_at = now;
        }
        None
    }

    /// Its blocks come early, or in time again.
    pub(super) fn skew(&mut self, skewed: bool) -> Option<u64> {
        self.skewed = skewed;
        skewed.then(|| self.blind())
    }

    /// It vouches for nothing since it was last well, and that slot.
    pub(super) fn blind(&mut self) -> u64 {
        self.sees_from = None;
        self.well_at
    }
}
