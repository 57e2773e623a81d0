//! Asking a second endpoint while the first still thinks.
//!
//! It trades requests for the slowest answers. So it is off by default, only for calls that are harmless to repeat, only
//! to endpoints that are well, and only for a small share of calls: a pool whose nodes are all slow must not answer that
//! by asking them twice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::attempt::{Held, Tried};
use super::failover::Run;
use super::servers::lock;
use crate::config::{Hedge, HedgeAfter};
use crate::method::MethodClass;

/// How many latencies are remembered per class: the 99th percentile then rests on two or three of them.
const SAMPLES: usize = 256;

/// Below, a percentile would be one call's mood.
const MIN_SAMPLES: usize = 20;

/// One call in so many may be hedged: 5 %.
const CALLS_PER_HEDGE: u32 = 20;

/// How many unused hedges are kept for later: a burst of slow calls after a quiet hour is no reason for one of hedges.
const MOST_SAVED: u32 = 5;

/// What hedging remembers.
#[derive(Debug, Default)]
pub(crate) struct Hedging(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    /// Calls that could have been hedged, less those that pay for a hedge.
    credit: u32,
    latencies: BTreeMap<MethodClass, VecDeque<Duration>>,
}

impl Hedging {
    /// A success took so long.
    pub(crate) fn took(&self, class: MethodClass, elapsed: Duration) {
        let mut recent = lock(&self.0);
        let latencies = recent.latencies.entry(class).or_default();
        if latencies.len() == SAMPLES {
            latencies.pop_front();
        }
        latencies.push_back(elapsed);
    }

    /// How long to wait for the first answer.
    fn delay(&self, hedge: Hedge, class: MethodClass) -> Option<Duration> {
        let percentile = match hedge.after {
            HedgeAfter::Delay(delay) => return Some(delay),
            HedgeAfter::Percentile(percentile) => usize::from(percentile),
        };
        let recent = lock(&self.0);
        let latencies = recent.latencies.get(&class).filter(|all| all.len() >= MIN_SAMPLES)?;
        let mut sorted: Vec<Duration> = latencies.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() * percentile / 100).copied()
    }

    fn earn(&self) {
        let mut recent = lock(&self.0);
        recent.credit = (recent.credit + 1).min(CALLS_PER_HEDGE * MOST_SAVED);
    }

    fn spend(&self) -> bool {
        let mut recent = lock(&self.0);
        let left = recent.credit.checked_sub(CALLS_PER_HEDGE);
        recent.credit = left.unwrap_or(recent.credit);
        left.is_some()
    }
}

impl Run<'_> {
    /// One attempt, and where that is configured others beside it when it is slow. The first answer wins, and the
    /// permits of those that have not answered are cancelled: nothing can be concluded about them.
    pub(crate) async fn attempt_or_hedge(&mut self, index: usize, held: Held) -> (usize, Tried) {
        let shared = &self.pool.shared;
        let allowed = self.call.idempotent && self.pool.options.hedge && held.has_permit();
        let hedge = shared.cfg.hedge.filter(|_| allowed);
        let Some(hedge) = hedge else { return (index, self.attempt(index, held).await) };
        shared.hedging.earn();
        let Some(delay) = shared.hedging.delay(hedge, self.call.class) else {
            return (index, self.attempt(index, held).await);
        };
        let mut asked = BTreeSet::from([index]);
        let mut switches = vec![held.cancel_switch()];
        let mut failed = Vec::new();
        let run = &*self;
        let start = |index, held| async move { (index, run.attempt(index, held).await) };
        let mut running = FuturesUnordered::from_iter([start(index, held)]);
        let mut wake = shared.time.sleep_until(shared.time.now().after(delay));
        let mut left = hedge.max;
        let won = loop {
            tokio::select! {
                biased;
                Some((index, tried)) = running.next() => {
                    if tried.is_final() || running.is_empty() {
                        break (index, tried);
                    }
                    failed.push((index, tried));
                }
                () = &mut wake, if left > 0 => {
                    left -= 1;
                    wake = shared.time.sleep_until(shared.time.now().after(delay));
                    let others = &run.tried | &asked;
                    let second = shared.pick_hedge(run.call, &run.pool.options, &others);
                    let Some(second) = second.filter(|_| shared.hedging.spend()) else { continue };
                    let Some(held) = run.enter(run.target(second)) else { continue };
                    shared.metrics.hedge(run.target(second), run.call.class);
                    asked.insert(second);
                    switches.push(held.cancel_switch());
                    running.push(start(second, held));
                }
            }
        };
        switches.iter().for_each(|switch| switch.store(true, Ordering::Release));
        drop(running);
        for (index, tried) in failed {
            self.tried.insert(index);
            // What it means for the call, the other answer decides.
            let _ = self.learn_from(index, tried);
        }
        won
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_twenty_is_hedged_at_most() {
        let hedging = Hedging::default();
        let mut hedges = 0;
        for _ in 0..1_000 {
            hedging.earn();
            hedges += u32::from(hedging.spend());
        }
        assert_eq!(hedges, 50);
        (0..10_000).for_each(|_| hedging.earn());
        assert_eq!((0..100).filter(|_| hedging.spend()).count(), 5, "quiet hours save five");
    }

    #[test]
    fn a_percentile_needs_enough_samples() {
        let hedging = Hedging::default();
        let delay = |after| {
            hedging
                .delay(Hedge { after, max: 1 }, MethodClass::State)
                .map(|delay| delay.as_millis())
        };
        for ms in 1..=19 {
            hedging.took(MethodClass::State, Duration::from_millis(ms));
        }
        assert_eq!(delay(HedgeAfter::Percentile(50)), None);
        assert_eq!(delay(HedgeAfter::Delay(Duration::from_millis(7))), Some(7));
        hedging.took(MethodClass::State, Duration::from_millis(20));
        assert_eq!(delay(HedgeAfter::Percentile(50)), Some(11));
        assert_eq!(delay(HedgeAfter::Percentile(95)), Some(20));
    }
}
