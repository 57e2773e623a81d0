//! An adversary with stake wants breakers open, so that validators earn less than it does.
//!
//! Against the canonical view its own proposal is built beside the block before it, and orphans that with some probability.
//! Against the tree view an orphan is present, and all that is left is to withhold its own proposals. The same policy is
//! judged both ways: the difference is why `seed` counts the tree.

use super::{
    Common, SimulateError, Summary,
    chance::{Chance, Draws, of_run},
    share_without,
};
use crate::{
    evidence::{Evidence, SlotFacts, Status, View},
    policy::Compiled,
};
use fusebox_breaker::State;
use serde::Serialize;

/// The scenario.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reorg {
    /// The adversary's share of proposals.
    pub stake: f64,
    /// The probability that its proposal orphans the block before.
    pub success: f64,
}

/// What it cost to open one policy in one view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReorgRow {
    /// The policy.
    pub policy: String,
    /// The view it was judged in.
    pub view: View,
    /// The adversary's own proposals until the trip, over the runs that have one.
    pub proposals_spent: Option<Summary>,
    /// Slots until the trip.
    pub slots_to_trip: Option<Summary>,
    /// The share of runs without a trip.
    pub never_tripped: f64,
}

impl Reorg {
    pub(super) fn play(
        &self,
        common: &Common,
        policies: &[Compiled],
    ) -> Result<Vec<ReorgRow>, SimulateError> {
        let stake = Chance::new("stake", self.stake)?;
        let success = Chance::new("success", self.success)?;
        let miss = Chance::new("miss", common.miss)?;
        let mut rows = Vec::new();
        for policy in policies {
            for view in [View::Tree, View::Canonical] {
                let policy = policy.clone().in_view(view);
                let (mut spent, mut waits) = (Vec::new(), Vec::new());
                for run in 0..common.runs {
                    let mut attack = Attack::new(common, &policy, view, run);
                    if let Some(slot) = attack.run(common.slots, stake, success, miss) {
                        spent.push(attack.spent as f64);
                        waits.push(slot as f64);
                    }
                }
                rows.push(ReorgRow {
                    policy: policy.name().to_owned(),
                    view,
                    never_tripped: share_without(&waits, common.runs),
                    proposals_spent: Summary::of(spent),
                    slots_to_trip: Summary::of(waits),
                });
            }
        }
        Ok(rows)
    }
}

struct Attack {
    breaker: crate::Breaker,
    view: View,
    rng: rand_chacha::ChaCha8Rng,
    /// Up to the slot before the last one, which can still be orphaned.
    settled: Evidence,
    last: SlotFacts,
    spent: u64,
}

impl Attack {
    fn new(common: &Common, policy: &Compiled, view: View, run: u64) -> Self {
        let (breaker, rng) = (common.breaker(policy), of_run(common.seed, run));
        let settled = Evidence::filled(super::FIRST - 1);
        Self { breaker, view, rng, settled, last: SlotFacts::FILLED, spent: 0 }
    }

    /// The slot of the first trip.
    fn run(&mut self, slots: u64, stake: Chance, success: Chance, miss: Chance) -> Option<u64> {
        for slot in 0..slots {
            let mut evidence = self.settled;
            evidence.push(self.last);
            self.breaker.step(&evidence);
            if self.breaker.latch().state() != State::Closed {
                return Some(slot);
            }
            let draws = Draws::next(&mut self.rng);
            let adversary = stake.meets(draws.proposer);
            self.spent += u64::from(adversary);
            let mut own = SlotFacts::FILLED;
            if adversary && self.view == View::Tree {
                own = SlotFacts::EMPTY;
            } else if adversary {
                if success.meets(draws.fate) && self.last.canonical == Status::Present {
                    self.last.canonical = Status::Missed;
                }
            } else if miss.meets(draws.miss) {
                own = SlotFacts::EMPTY;
            }
            self.settled.push(self.last);
            self.last = own;
        }
        None
    }
}
