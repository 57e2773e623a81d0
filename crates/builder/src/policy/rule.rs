//! The rules themselves: those with a name of their own, and those of the consensus clients.
//!
//! A client's rule is the arithmetic of its source, off-by-ones included; the clients' documents are often one off. Their
//! defects at the start of a network are left out: what lies before slot 0 counts as present.

use super::{Finding, Known, TripCause, Verdict};
use crate::evidence::{Evidence, Reading, View, mask};
use rand::Rng;

/// What opens, and above or below which number. E is slots per epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The run exceeds `max`.
    Consecutive { max: u64 },
    /// More than `max` missed among the last `slots`.
    Window { slots: u64, max: u64 },
    /// Finality is more than `max` epochs behind.
    Finality { max: u64, epoch: u64 },
    /// A reorg deeper than `max` among the last `slots`.
    ReorgDepth { max: u64, slots: u64 },
    /// More than `max` reorgs among the last `slots`.
    ReorgCount { max: u64, slots: u64 },
    /// Lighthouse; without `finality` where nothing is known of it.
    Lighthouse { skips: u64, per_epoch: u64, finality: Option<u64>, epoch: u64 },
    /// Prysm: reached is enough, and the distance to the last block is one more than the run (prysm#12076).
    Prysm { consecutive: u64, faults: u64, epoch: u64 },
    /// Teku: too few different roots, or the run.
    Teku { window: u64, faults: u64, consecutive: u64 },
    /// Lodestar: too few blocks; no rule about runs.
    Lodestar { window: u64, faults: u64 },
    /// Nimbus: looks back from the head's slot, so it cannot see a run that no block has closed yet.
    Nimbus { epoch: u64 },
    /// Grandine: its book says 5 an epoch, its code 8.
    Grandine { skips: u64, per_epoch: u64, epoch: u64 },
    /// A defect.
    #[cfg(test)]
    Panics,
}

/// Nimbus opens beyond so many missed in the epoch before the head, or beyond so many in a row there.
const NIMBUS_MISSED: u64 = 5;
const NIMBUS_RUN: u64 = 3;

impl Rule {
    #[inline]
    pub(super) fn judge(&self, view: View, reading: &Reading, evidence: &Evidence) -> Verdict {
        let run = evidence.run_in(reading);
        let s = evidence.slot;
        match *self {
            Self::Consecutive { max } => above(TripCause::MissedRun, run, max),
            Self::Window { slots, max } => {
                above(TripCause::MissedWindow, reading.missed_in(slots), max)
            }
            Self::Finality { max, epoch } => finality(evidence, max, epoch),
            Self::ReorgDepth { max, slots } => {
                above(TripCause::ReorgDepth, evidence.reorgs.within(s, slots).0, max)
            }
            Self::ReorgCount { max, slots } => {
                above(TripCause::ReorgCount, evidence.reorgs.within(s, slots).1, max)
            }
            Self::Lighthouse { skips, per_epoch, finality: lag, epoch } => {
                if evidence.gate == Some(crate::Gate::Optimistic) {
                    return open(TripCause::Optimistic, 1, 0);
                }
                let missed = reading.missed_in(epoch);
                let lag = lag.map_or(Verdict::Closed, |lag| finality(evidence, lag, epoch));
                match lag {
                    _ if run > skips => open(TripCause::MissedRun, run, skips),
                    Verdict::Open(_) => lag,
                    _ if missed > per_epoch => open(TripCause::MissedWindow, missed, per_epoch),
                    _ => lag,
                }
            }
            Self::Prysm { consecutive, faults, epoch } => {
                if run.saturating_add(1) >= consecutive {
                    return open(TripCause::MissedRun, run, consecutive);
                }
                let missed = reading.missed_in(epoch);
                if s >= epoch && missed >= faults {
                    return open(TripCause::MissedWindow, missed, faults);
                }
                Verdict::Closed
            }
            Self::Teku { window, faults, consecutive } => {
                let roots = different_roots(reading, run, window);
                let least = window - faults;
                if roots < least {
                    return open(TripCause::MissedWindow, roots, least);
                }
                above(TripCause::MissedRun, run, consecutive)
            }
            Self::Lodestar { window, faults } => {
                let blocks = evidence.blocks_in(view, reading, window);
                let least = (window - faults).min(s.saturating_sub(1));
                if blocks < least {
                    return open(TripCause::MissedWindow, blocks, least);
                }
                Verdict::Closed
            }
            Self::Nimbus { epoch } => nimbus(reading, epoch),
            #[cfg(test)]
            Self::Panics => panic!("as it should"),
            Self::Grandine { skips, per_epoch, epoch } => {
                if run > skips {
                    return open(TripCause::MissedRun, run, skips);
                }
                above(TripCause::MissedWindow, reading.missed_in(epoch), per_epoch)
            }
        }
    }

    /// What is left of it without that data, and the name of what is not.
    pub(super) fn limited_to(self, known: Known) -> (Option<Self>, Option<&'static str>) {
        match self {
            Self::Finality { .. } if !known.finality => (None, Some("finality")),
            Self::ReorgDepth { .. } if !known.reorgs => (None, Some("reorg-depth")),
            Self::ReorgCount { .. } if !known.reorgs => (None, Some("reorg-count")),
            Self::Lighthouse { skips, per_epoch, finality: Some(_), epoch } if !known.finality => {
                let rest = Self::Lighthouse { skips, per_epoch, finality: None, epoch };
                (Some(rest), Some("the finality of lighthouse"))
            }
            rule => (Some(rule), None),
        }
    }

    pub(super) fn loosened(self, rng: &mut impl Rng) -> Self {
        let mut lax = |limit: u64| limit.saturating_add(rng.random_range(0..=limit));
        match self {
            Self::Consecutive { max } => Self::Consecutive { max: lax(max) },
            Self::Window { slots, max } => Self::Window { slots, max: lax(max) },
            Self::Finality { max, epoch } => Self::Finality { max: lax(max), epoch },
            Self::ReorgDepth { max, slots } => Self::ReorgDepth { max: lax(max), slots },
            Self::ReorgCount { max, slots } => Self::ReorgCount { max: lax(max), slots },
            Self::Lighthouse { skips, per_epoch, finality, epoch } => Self::Lighthouse {
                skips: lax(skips),
                per_epoch: lax(per_epoch),
                finality: finality.map(&mut lax),
                epoch,
            },
            Self::Prysm { consecutive, faults, epoch } => {
                Self::Prysm { consecutive: lax(consecutive), faults: lax(faults), epoch }
            }
            Self::Teku { window, faults, consecutive } => Self::Teku {
                window,
                faults: lax(faults).min(window - 1),
                consecutive: lax(consecutive),
            },
            Self::Lodestar { window, faults } => {
                Self::Lodestar { window, faults: lax(faults).min(window - 1) }
            }
            // Its numbers are fixed in the client.
            Self::Nimbus { epoch } => Self::Nimbus { epoch },
            #[cfg(test)]
            Self::Panics => self,
            Self::Grandine { skips, per_epoch, epoch } => {
                Self::Grandine { skips: lax(skips), per_epoch: lax(per_epoch), epoch }
            }
        }
    }
}

fn open(cause: TripCause, value: u64, limit: u64) -> Verdict {
    Verdict::Open(Finding { cause, value, limit })
}

fn above(cause: TripCause, value: u64, max: u64) -> Verdict {
    if value > max { open(cause, value, max) } else { Verdict::Closed }
}

fn finality(evidence: &Evidence, max: u64, epoch: u64) -> Verdict {
    match evidence.finalized {
        None => Verdict::Unknown,
        Some(finalized) => {
            let lag = (evidence.slot / epoch).saturating_sub(finalized);
            above(TripCause::FinalityLag, lag, max)
        }
    }
}

/// Teku's count of different latest-block roots at the slots of the window. The root at its first slot counts even where
/// that slot is empty and the root an older block's: one fault goes unseen.
fn different_roots(reading: &Reading, run: u64, window: u64) -> u64 {
    if run >= window {
        return 0;
    }
    let first_is_missed = reading.missed >> (window - 1) & 1;
    window - reading.missed_in(window) + first_is_missed
}

fn nimbus(reading: &Reading, epoch: u64) -> Verdict {
    let inside = reading.before_last & mask(epoch - 1);
    let missed = u64::from(inside.count_ones());
    if missed > NIMBUS_MISSED {
        return open(TripCause::MissedWindow, missed, NIMBUS_MISSED);
    }
    let (mut run, mut left) = (0, inside);
    while left != 0 {
        left &= left << 1;
        run += 1;
    }
    above(TripCause::MissedRun, run, NIMBUS_RUN)
}
