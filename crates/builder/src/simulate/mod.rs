//! What policies would do in outages that have not happened: seeded, without a clock, the same bytes for the same seed.
//!
//! Each scenario plays many runs. In a run every slot has its draws, which all policies share, and every policy a chain of its
//! own, since what it decides changes what is missed. Slots before a run are filled.

mod behind;
mod cascade;
mod chance;
mod reorg;
mod stats;
mod withhold;

pub use behind::{Behind, BehindRow};
pub use cascade::{Cascade, CascadeRow, Operators};
pub use reorg::{Reorg, ReorgRow};
pub use stats::{Summary, Theory};
pub use withhold::{Withhold, WithholdRow};

use crate::{
    breaker::Breaker,
    clock::SlotsPerEpoch,
    evidence::Evidence,
    policy::{Compiled, Known, OnUnknown, PolicySpec, Recovery},
    replay::Ignored,
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// The first slot of a run: far from genesis, and the first one of an epoch whatever that is.
const FIRST: u64 = 1 << 20;
/// Slots of all runs together. Above it there is a typing error, or a computer that is kept busy for days.
const MOST: u64 = 10_000_000_000;

/// What all scenarios have.
#[derive(Clone, Debug)]
pub struct Common {
    /// How many runs.
    pub runs: u64,
    /// How many slots each.
    pub slots: u64,
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// How they recover, unless each as is usual for it.
    pub recovery: Option<Recovery>,
    /// The network's.
    pub slots_per_epoch: SlotsPerEpoch,
    /// The probability that a slot is missed for reasons of its own.
    pub miss: f64,
    /// The share of proposers behind our breaker. The others never stop asking builders.
    pub adoption: f64,
    /// Everything that is drawn follows from it.
    pub seed: u64,
}

/// What goes wrong.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scenario {
    /// A relay withholds blocks.
    Withhold(Withhold),
    /// An adversary wants breakers open.
    Reorg(Reorg),
    /// The chain is healthy and our node is not.
    Behind(Behind),
    /// A relay fails, and its load takes the next one along.
    Cascade(Cascade),
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What went wrong.
    pub scenario: Scenario,
    /// Runs.
    pub runs: u64,
    /// Slots each.
    pub slots: u64,
    /// The background rate.
    pub miss: f64,
    /// The share of proposers behind our breaker.
    pub adoption: f64,
    /// The seed.
    pub seed: u64,
    /// Rules that were left out: no scenario knows of finality.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
    /// A row a policy.
    pub policies: Rows,
}

/// A row a policy, of the scenario's kind.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Rows {
    /// Of `withhold`.
    Withhold(Vec<WithholdRow>),
    /// Of `reorg`.
    Reorg(Vec<ReorgRow>),
    /// Of `behind`.
    Behind(Vec<BehindRow>),
    /// Of `cascade`.
    Cascade(Vec<CascadeRow>),
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// A share or a rate is not one.
    #[error("--{name} {value}: it must be from 0 to 1")]
    Probability {
        /// Which.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// A number is out of bounds.
    #[error("--{name} {value}: it must be from {least} to {most}")]
    Number {
        /// Which.
        name: &'static str,
        /// What was given.
        value: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// Too much.
    #[error("--runs {runs} times --slots {slots} is more than {MOST} slots")]
    TooLong {
        /// Runs.
        runs: u64,
        /// Slots each.
        slots: u64,
    },
    /// Shares of one whole are more than it.
    #[error("the shares of --relays add up to {0}, which is more than 1")]
    Shares(f64),
    /// There is nobody to fail.
    #[error("--relays needs the shares of two relays at least")]
    Relays,
}

/// Plays a scenario.
///
/// # Errors
/// Where a number is not what it has to be.
pub fn simulate(common: &Common, scenario: &Scenario) -> Result<Report, SimulateError> {
    let &Common { runs, slots, miss, adoption, seed, .. } = common;
    number("runs", runs, 1, MOST)?;
    number("slots", slots, 1, MOST)?;
    if runs.saturating_mul(slots) > MOST {
        return Err(SimulateError::TooLong { runs, slots });
    }
    chance::probability("miss", miss)?;
    chance::probability("adoption", adoption)?;
    let (policies, ignored) = policies(common);
    let rows = match scenario {
        Scenario::Withhold(scenario) => Rows::Withhold(scenario.play(common, &policies)?),
        Scenario::Reorg(scenario) => Rows::Reorg(scenario.play(common, &policies)?),
        Scenario::Behind(scenario) => Rows::Behind(scenario.play(common, &policies)?),
        Scenario::Cascade(scenario) => Rows::Cascade(scenario.play(common, &policies)?),
    };
    let scenario = scenario.clone();
    Ok(Report { scenario, runs, slots, miss, adoption, seed, ignored, policies: rows })
}

fn policies(common: &Common) -> (Vec<Compiled>, Vec<Ignored>) {
    let mut rng = ChaCha8Rng::seed_from_u64(common.seed);
    let (mut policies, mut ignored) = (Vec::new(), Vec::new());
    for spec in &common.policies {
        let policy = spec.compile(common.slots_per_epoch, &mut rng);
        let (policy, lacking) = policy.limited_to(Known { finality: false, reorgs: false });
        let name = spec.to_string();
        ignored.extend(lacking.into_iter().map(|rule| Ignored { policy: name.clone(), rule }));
        policies.extend(policy);
    }
    (policies, ignored)
}

fn number(name: &'static str, value: u64, least: u64, most: u64) -> Result<(), SimulateError> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(SimulateError::Number { name, value, least, most })
    }
}

impl Common {
    fn breaker(&self, policy: &Compiled) -> Breaker {
        let recovery = self.recovery.unwrap_or(policy.default_recovery());
        Breaker::with(policy.clone(), recovery, OnUnknown::Local)
    }
}

/// A healthy past.
fn healthy() -> Evidence {
    Evidence::filled(FIRST)
}

/// The share of runs without a figure.
fn share_without<T>(figures: &[T], runs: u64) -> f64 {
    1.0 - figures.len() as f64 / runs as f64
}
