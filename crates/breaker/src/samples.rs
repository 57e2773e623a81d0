//! Good calls that wait to enter a window.
//!
//! A rate is judged when a call fails or is slow, so until then it makes no difference whether the good calls before it
//! are in the window or only counted. They are counted here, by one atomic operation each instead of a lock, and whoever
//! takes the lock next brings them in first.
//!
//! ```text
//!  63        32   31     30        0
//! ┌────────────┬────────┬───────────┐
//! │ round (32) │ locked │ count     │
//! └────────────┴────────┴───────────┘
//! ```
//!
//! Each holder of the lock ends a round. A call notes the round, looks at what else it must know (the era, the end of
//! the newest bucket), and is counted only if the round is still the same: then none of it has changed. A round that
//! comes back after 2^32 others while one call is looking is no concern.

use crate::clock::Tick;
use crate::sync::{AtomicU64, Ordering};

const ROUND: u64 = 1 << 32;
const LOCKED: u64 = 1 << 31;
const COUNT: u64 = LOCKED - 1;

/// On a cache line of its own: every good call writes here, and reads the word elsewhere.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Samples {
    waiting: AtomicU64,
    /// From when on a sample belongs to another bucket than the newest.
    until: AtomicU64,
}

/// A round, as it was when a call began to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round(u64);

impl Samples {
    pub(crate) fn new(until: Tick) -> Self {
        Self { waiting: AtomicU64::new(0), until: AtomicU64::new(until.as_nanos()) }
    }

    /// The round; to be asked for before anything that must hold while a sample is counted.
    #[inline]
    pub(crate) fn round(&self) -> Round {
        Round(self.waiting.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn until(&self) -> Tick {
        Tick::from_nanos(self.until.load(Ordering::Acquire))
    }

    /// Counts a good call, if the round is not over.
    #[inline]
    pub(crate) fn count(&self, Round(mut seen): Round) -> bool {
        let round = seen & !(LOCKED | COUNT);
        loop {
            let is_open = seen & LOCKED == 0 && seen & !COUNT == round;
            if !is_open || seen & COUNT == COUNT {
                return false;
            }
            let next = seen + 1;
            match self.waiting.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Ends the round: nothing is counted until [`Samples::open`]. Only under the lock.
    #[inline]
    pub(crate) fn close(&self) -> u32 {
        // At most 31 bits.
        (self.waiting.fetch_or(LOCKED, Ordering::AcqRel) & COUNT) as u32
    }

    /// Begins the next round, when all that a call looks at is published. Only under the lock.
    #[inline]
    pub(crate) fn open(&self, until: Tick) {
        self.until.store(until.as_nanos(), Ordering::Release);
        let round = self.waiting.load(Ordering::Relaxed) & !(LOCKED | COUNT);
        self.waiting.store(round.wrapping_add(ROUND), Ordering::Release);
    }
}
