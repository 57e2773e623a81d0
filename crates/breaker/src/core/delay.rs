//! How long an open breaker stays open.
//!
//! The back-off doubles and is capped by time alone, so a short cooldown reaches the cap too. Jitter spreads a fleet
//! that lost the same node at the same instant. At the cap there is no room above, so what would stick out is mirrored
//! below it: clamped, the whole fleet would stand at the cap again. A hint is a promise of the other side and is never
//! undercut, only exceeded.

use std::time::Duration;

use crate::clock::nanos;
use crate::config::Config;

/// The length of an open, and how it came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    pub(super) total: Duration,
    pub(super) jitter: Duration,
    pub(super) hint: Option<Duration>,
}

impl Delay {
    /// A wait that somebody asked for: exact.
    pub(super) const fn exactly(total: Duration) -> Self {
        Self { total, jitter: Duration::ZERO, hint: None }
    }

    /// The wait of the open number `opens`, from 1. `draw` is uniform over all of `u32`.
    pub(super) fn of(cfg: &Config, opens: u32, hint: Option<Duration>, draw: u32) -> Self {
        let cap = nanos(cfg.max_cooldown);
        let (total, jitter) = match hint {
            Some(hint) => {
                let wait = nanos(hint.max(cfg.shortest_hint()).min(cfg.longest_hint()));
                let jitter = part(wait.min(cap), cfg.jitter_percent, draw);
                (wait.saturating_add(jitter), jitter)
            }
            None => {
                let wait = back_off(nanos(cfg.cooldown), opens, cap);
                let jitter = part(wait, cfg.jitter_percent, draw);
                let sum = wait.saturating_add(jitter);
                (if sum > cap { cap.saturating_sub(sum - cap) } else { sum }, jitter)
            }
        };
        Self { total: Duration::from_nanos(total), jitter: Duration::from_nanos(jitter), hint }
    }
}

fn back_off(cooldown: u64, opens: u32, cap: u64) -> u64 {
    let doublings = opens.saturating_sub(1);
    cooldown.saturating_mul(2u64.saturating_pow(doublings)).min(cap)
}

/// From nothing to `percent` of `whole`, both ends included.
fn part(whole: u64, percent: u8, draw: u32) -> u64 {
    let part =
        u128::from(whole) * u128::from(percent) * u128::from(draw) / (100 * u128::from(u32::MAX));
    u64::try_from(part).unwrap_or(u64::MAX)
}
