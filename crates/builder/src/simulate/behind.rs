//! The chain is healthy, and our node is not: every trip is a false one.
//!
//! The node delivers blocks some slots late, or nothing at all for a while and everything afterwards. With the gates, what it
//! does not show is unknown. Without them, which no setting allows, it would be missed.

use super::{
    Common, SimulateError,
    chance::{Chance, Draws, of_run},
    healthy, number,
};
use crate::{
    breaker::Breaker,
    evidence::{DEPTH, Evidence, Gate, SlotFacts},
    policy::Compiled,
};
use fusebox_breaker::State;
use serde::Serialize;
use std::collections::BTreeMap;

/// The scenario.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Behind {
    /// How many slots late blocks come.
    pub lag: u64,
    /// For how many slots from the first one on nothing comes.
    pub lose: u64,
}

/// What one policy did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BehindRow {
    /// The policy.
    pub policy: String,
    /// Whether what the node does not show counted as unknown.
    pub gates: bool,
    /// Trips of a run: the mean.
    pub false_trips: f64,
    /// The share of runs that have one.
    pub runs_with_trip: f64,
    /// Refused proposals of a run, by cause: the means.
    pub refused: BTreeMap<&'static str, f64>,
}

#[derive(Debug, Default)]
struct Tallies {
    trips: u64,
    runs: u64,
    refused: BTreeMap<&'static str, u64>,
}

impl Behind {
    pub(super) fn play(
        &self,
        common: &Common,
        policies: &[Compiled],
    ) -> Result<Vec<BehindRow>, SimulateError> {
        number("lag", self.lag, 0, DEPTH)?;
        let miss = Chance::new("miss", common.miss)?;
        let mut rows = Vec::new();
        for policy in policies {
            for gates in [true, false] {
                let mut tallies = Tallies::default();
                for run in 0..common.runs {
                    self.run(common, policy, gates, miss, run, &mut tallies);
                }
                let mean = |sum: u64| sum as f64 / common.runs as f64;
                rows.push(BehindRow {
                    policy: policy.name().to_owned(),
                    gates,
                    false_trips: mean(tallies.trips),
                    runs_with_trip: mean(tallies.runs),
                    refused: tallies
                        .refused
                        .into_iter()
                        .map(|(cause, n)| (cause, mean(n)))
                        .collect(),
                });
            }
        }
        Ok(rows)
    }

    fn run(
        &self,
        common: &Common,
        policy: &Compiled,
        gates: bool,
        miss: Chance,
        run: u64,
        tallies: &mut Tallies,
    ) {
        let mut rng = of_run(common.seed, run);
        let mut breaker = common.breaker(policy);
        let unseen = if gates { SlotFacts::UNKNOWN } else { SlotFacts::EMPTY };
        // The whole truth is known up to so many slots before; while nothing comes at all, `lost` is all there is.
        let (mut shown, mut lost) = (healthy(), healthy());
        let mut truth = std::collections::VecDeque::new();
        let mut has_tripped = false;
        for slot in 0..common.slots {
            let mut evidence = lost;
            let is_lost = slot <= self.lose && self.lose > 0;
            if !is_lost {
                evidence = shown;
                truth.iter().for_each(|_| evidence.push(unseen));
            }
            // The node that lags knows it; the one that is silent does not.
            let lags = !is_lost && !truth.is_empty();
            evidence.gate = (gates && lags).then_some(Gate::Syncing);
            has_tripped |= decide(&mut breaker, &evidence, tallies);

            let missed = miss.meets(Draws::next(&mut rng).miss);
            truth.push_back(if missed { SlotFacts::EMPTY } else { SlotFacts::FILLED });
            if truth.len() as u64 > self.lag {
                truth.pop_front().into_iter().for_each(|facts| shown.push(facts));
            }
            if slot < self.lose {
                lost.push(unseen);
            }
        }
        tallies.runs += u64::from(has_tripped);
    }
}

/// Whether it tripped.
fn decide(breaker: &mut Breaker, evidence: &Evidence, tallies: &mut Tallies) -> bool {
    let before = breaker.latch().state();
    let (forward, cause) = breaker.answer(evidence);
    if !forward {
        *tallies.refused.entry(cause.name()).or_default() += 1;
    }
    let tripped = before == State::Closed && breaker.latch().state() == State::Open;
    tallies.trips += u64::from(tripped);
    tripped
}
