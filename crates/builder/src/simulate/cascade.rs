//! A relay fails, its users move to the next one, and that one is overloaded; and then breakers open all at once, and all
//! build locally, some with an execution client that cannot.
//!
//! Played twice: with the policy as it is in every operator's hands, and with thresholds that each operator has drawn anew,
//! from once to twice the policy's. Operators who do not all open in the same slot take the load off step by step.

use super::{
    Common, SimulateError, Summary,
    chance::{Chance, Draws, of_run, once, probability},
    healthy,
};
use crate::{
    breaker::Breaker,
    evidence::{Evidence, SlotFacts},
    policy::Compiled,
};
use fusebox_breaker::State;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Operators with settings of their own; each proposes equally often.
const OPERATORS: usize = 32;
/// Slots whose share of open breakers is shown.
const SHOWN: usize = 128;

/// The scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Cascade {
    /// The share of proposers of each relay; who has none builds locally. The first one fails, and its users are the
    /// second one's.
    pub relays: Vec<f64>,
    /// The share of proposers that a relay can serve. Above it a slot fails in proportion.
    pub capacity: f64,
    /// The share of operators whose execution client cannot build.
    pub el_bug: f64,
}

/// What one policy did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CascadeRow {
    /// The policy.
    pub policy: String,
    /// In the same words for all operators.
    pub fixed: Operators,
    /// With thresholds drawn by each operator.
    pub randomized: Operators,
}

/// What became of the operators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operators {
    /// Missed slots of a run.
    pub missed: Option<Summary>,
    /// The share of operators with an open breaker, by slot: the means.
    pub open: Vec<f64>,
    /// The share of runs in which no breaker ever opened.
    pub never_tripped: f64,
}

/// The scenario's numbers, checked.
struct Plan {
    /// The load of each living relay while all breakers are closed.
    loads: Vec<f64>,
    capacity: f64,
    miss: Chance,
    el_bug: Chance,
    /// How many operators have our breaker.
    ours: usize,
}

impl Cascade {
    fn plan(&self, common: &Common) -> Result<Plan, SimulateError> {
        for share in &self.relays {
            probability("relays", *share)?;
        }
        let [first, second, others @ ..] = self.relays.as_slice() else {
            return Err(SimulateError::Relays);
        };
        let sum: f64 = self.relays.iter().sum();
        // Shares that were written with a few digits may add up to a little more.
        if sum > 1.0 + 1e-9 {
            return Err(SimulateError::Shares(sum));
        }
        Ok(Plan {
            loads: [&[first + second], others].concat(),
            capacity: probability("capacity", self.capacity)?,
            miss: Chance::new("miss", common.miss)?,
            el_bug: Chance::new("el-bug", self.el_bug)?,
            // At most OPERATORS.
            ours: (common.adoption * OPERATORS as f64).round() as usize,
        })
    }

    pub(super) fn play(
        &self,
        common: &Common,
        policies: &[Compiled],
    ) -> Result<Vec<CascadeRow>, SimulateError> {
        let plan = self.plan(common)?;
        let row = |policy: &Compiled| CascadeRow {
            policy: policy.name().to_owned(),
            fixed: plan.play(common, policy, false),
            randomized: plan.play(common, policy, true),
        };
        Ok(policies.iter().map(row).collect())
    }
}

impl Plan {
    fn play(&self, common: &Common, policy: &Compiled, randomized: bool) -> Operators {
        let shown = SHOWN.min(usize::try_from(common.slots).unwrap_or(SHOWN));
        let (mut missed, mut open, mut quiet) = (Vec::new(), vec![0; shown], 0);
        for run in 0..common.runs {
            let mut rng = of_run(common.seed, run);
            let mut network = Network::new(self, common, policy, randomized, &mut rng);
            let (mut sum, mut tripped) = (0, false);
            for slot in 0..common.slots {
                sum += u64::from(network.slot(self, &Draws::next(&mut rng)));
                tripped |= network.open > 0;
                if let Some(open) = usize::try_from(slot).ok().and_then(|slot| open.get_mut(slot)) {
                    *open += network.open;
                }
            }
            missed.push(sum as f64);
            quiet += u64::from(!tripped);
        }
        let runs = common.runs as f64;
        let share = |open: usize| open as f64 / OPERATORS as f64 / runs;
        Operators {
            missed: Summary::of(missed),
            open: open.into_iter().map(share).collect(),
            never_tripped: quiet as f64 / runs,
        }
    }

    /// What a proposer meets at its relay, if it has one.
    fn relay_fails(&self, proposer: f64, closed: f64, draw: u32) -> Option<bool> {
        let mut from = 0.0;
        for share in &self.loads {
            from += share;
            if proposer < from {
                let over = (share * closed - self.capacity) / self.capacity.max(f64::MIN_POSITIVE);
                return Some(Chance::clamped(over).meets(draw));
            }
        }
        None
    }
}

/// One run: a chain that all operators see.
struct Network {
    evidence: Evidence,
    /// One for each operator who has ours; a single one where they are all the same.
    breakers: Vec<Breaker>,
    /// How many operators each of them stands for.
    weight: usize,
    bugs: Vec<bool>,
    open: usize,
}

impl Network {
    fn new(
        plan: &Plan,
        common: &Common,
        policy: &Compiled,
        randomized: bool,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let bugs = (0..OPERATORS).map(|_| once(rng, plan.el_bug)).collect();
        // Drawn in either case: the slots' draws that follow are the same in both.
        let drawn = (0..plan.ours).map(|_| common.breaker(&policy.clone().loosened(rng))).collect();
        let one = if plan.ours > 0 { vec![common.breaker(policy)] } else { Vec::new() };
        let (breakers, weight) = if randomized { (drawn, 1) } else { (one, plan.ours) };
        Self { evidence: healthy(), breakers, weight, bugs, open: 0 }
    }

    /// Whether the slot is missed.
    fn slot(&mut self, plan: &Plan, draws: &Draws) -> bool {
        self.open = 0;
        for breaker in &mut self.breakers {
            breaker.step(&self.evidence);
            self.open += usize::from(breaker.latch().state() != State::Closed) * self.weight;
        }
        let operator = Draws::one_of(draws.proposer, OPERATORS);
        let breaker = self.breakers.get(operator / self.weight.max(1));
        let refused = operator < plan.ours
            && breaker.is_some_and(|breaker| breaker.latch().state() != State::Closed);
        let closed = 1.0 - self.open as f64 / OPERATORS as f64;
        let proposer = f64::from(draws.other) / (1u64 << 32) as f64;
        let at_relay = plan.relay_fails(proposer, closed, draws.fate).filter(|_| !refused);
        let missed = plan.miss.meets(draws.miss) || at_relay.unwrap_or(self.bugs[operator]);
        self.evidence.push(if missed { SlotFacts::EMPTY } else { SlotFacts::FILLED });
        missed
    }
}
