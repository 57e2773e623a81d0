//! A relay takes blinded blocks and never publishes them.
//!
//! From the first slot on to the repair, a proposer that reaches the relay misses its slot. One whose breaker is open builds
//! locally, and misses only for reasons of its own.

use super::{
    Common, SimulateError, Summary, Theory,
    chance::{Chance, Draws, of_run},
    healthy, share_without,
};
use crate::{
    breaker::Breaker,
    evidence::{Evidence, SlotFacts},
    policy::Compiled,
};
use fusebox_breaker::State;
use serde::Serialize;

/// The scenario.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Withhold {
    /// The share of proposers that reach the relay.
    pub share: f64,
    /// After how many slots it is repaired; never if none.
    pub repair: Option<u64>,
}

/// What one policy did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WithholdRow {
    /// The policy.
    pub policy: String,
    /// Slots until it tripped, over the runs in which it did.
    pub slots_to_trip: Option<Summary>,
    /// The share of runs in which it never did.
    pub never_tripped: f64,
    /// Missed slots of a run.
    pub missed: Option<Summary>,
    /// The same without any breaker: the mean.
    pub missed_without: f64,
    /// The same with one that knows the future: the mean.
    pub missed_oracle: f64,
    /// Proposals that were refused after the repair.
    pub refused_healthy: Option<Summary>,
    /// The wait that theory expects, where it says anything: a rule about runs, and no repair.
    pub theory: Option<Theory>,
}

#[derive(Debug)]
struct World {
    breaker: Breaker,
    evidence: Evidence,
    trip: Option<u64>,
    missed: u64,
    refused_healthy: u64,
}

#[derive(Debug, Default)]
struct Tallies {
    waits: Vec<f64>,
    missed: Vec<f64>,
    refused: Vec<f64>,
}

impl Withhold {
    pub(super) fn play(
        &self,
        common: &Common,
        policies: &[Compiled],
    ) -> Result<Vec<WithholdRow>, SimulateError> {
        let share = Chance::new("share", self.share)?;
        let adoption = Chance::new("adoption", common.adoption)?;
        let miss = Chance::new("miss", common.miss)?;
        let repair = self.repair.unwrap_or(u64::MAX);
        let mut tallies: Vec<_> = policies.iter().map(|_| Tallies::default()).collect();
        let (mut without, mut oracle) = (0, 0);
        for run in 0..common.runs {
            let mut rng = of_run(common.seed, run);
            let mut worlds: Vec<_> = policies
                .iter()
                .map(|policy| World {
                    breaker: common.breaker(policy),
                    evidence: healthy(),
                    trip: None,
                    missed: 0,
                    refused_healthy: 0,
                })
                .collect();
            for slot in 0..common.slots {
                let draws = Draws::next(&mut rng);
                let ours = adoption.meets(draws.proposer);
                let withheld = slot < repair && share.meets(draws.fate);
                let unlucky = miss.meets(draws.miss);
                without += u64::from(withheld || unlucky);
                oracle += u64::from((withheld && !ours) || unlucky);
                for world in &mut worlds {
                    world.propose(slot, ours, withheld, unlucky, slot >= repair);
                }
            }
            for (world, tally) in worlds.iter().zip(&mut tallies) {
                tally.waits.extend(world.trip.map(|slots| slots as f64));
                tally.missed.push(world.missed as f64);
                tally.refused.push(world.refused_healthy as f64);
            }
        }
        let mean = |sum: u64| sum as f64 / common.runs as f64;
        let rows = policies.iter().zip(tallies).map(|(policy, tally)| {
            let never_tripped = share_without(&tally.waits, common.runs);
            let slots_to_trip = Summary::of(tally.waits);
            let theory = slots_to_trip.as_ref().filter(|_| never_tripped == 0.0);
            let theory = theory.filter(|_| repair >= common.slots);
            WithholdRow {
                policy: policy.name().to_owned(),
                theory: theory.zip(policy.longest_run()).map(|(seen, longest)| {
                    let missing = self.share + (1.0 - self.share) * common.miss;
                    Theory::of_run(longest.saturating_add(1), missing, seen)
                }),
                slots_to_trip,
                never_tripped,
                missed: Summary::of(tally.missed),
                missed_without: mean(without),
                missed_oracle: mean(oracle),
                refused_healthy: Summary::of(tally.refused),
            }
        });
        Ok(rows.collect())
    }
}

impl World {
    #[inline]
    fn propose(&mut self, slot: u64, ours: bool, withheld: bool, unlucky: bool, repaired: bool) {
        self.breaker.step(&self.evidence);
        let open = self.breaker.latch().state() != State::Closed;
        if open && self.trip.is_none() {
            self.trip = Some(slot);
        }
        let refused = open && ours;
        let missed = unlucky || (withheld && !refused);
        self.missed += u64::from(missed);
        self.refused_healthy += u64::from(refused && repaired);
        self.evidence.push(if missed { SlotFacts::EMPTY } else { SlotFacts::FILLED });
    }
}
