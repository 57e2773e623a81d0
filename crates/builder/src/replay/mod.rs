//! Policies over history: every slot as if it were our own proposal.

mod blocks;
mod events;
mod lines;
mod missed;
mod range;
mod row;

pub use blocks::BlocksCsv;
pub use events::{EventLine, EventLog, EventOptions, Told, replay_events};
pub use lines::{InputError, InputProblem};
pub use missed::MissedCsv;
pub use range::Range;
pub use row::Row;

use crate::{
    breaker::Decision,
    clock::SlotsPerEpoch,
    evidence::{DEPTH, Evidence, SlotFacts, Status, View},
    policy::{Known, PolicySpec, Recovery},
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use row::{Peak, Running};
use serde::Serialize;

/// Slots before the first judged one of a list of missed slots, where its policies would see the present ones before it.
pub const WARM_UP: u64 = 64;

/// What is known of slots, one after the other.
pub trait Source {
    /// The evidence about the next slot, beginning with the first one and ending with the one after the last.
    ///
    /// # Errors
    /// Where the file is not as it must be.
    fn next(&mut self) -> Result<Option<&Evidence>, InputError>;
    /// The first slot.
    fn from(&self) -> u64;
    /// The last slot; right when all has been read.
    fn to(&self) -> u64;
    /// How many slots were missed, of those read.
    fn missed(&self) -> Missed;
}

/// Missed slots of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Missed {
    /// Without a canonical block.
    pub canonical: u64,
    /// Without any block.
    pub tree: u64,
}

impl Missed {
    fn count(&mut self, facts: Option<SlotFacts>) {
        let missed = |status| u64::from(status == Status::Missed);
        if let Some(facts) = facts {
            self.canonical += missed(facts.canonical);
            self.tree += missed(facts.tree);
        }
    }
}

/// In which views policies are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Views {
    /// Each rule in its own.
    Preset,
    /// All in this one.
    Only(View),
    /// All in both, a row each.
    #[default]
    Both,
}

/// What is asked of history.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// In which views.
    pub views: Views,
    /// How they recover, unless each as is usual for it.
    pub recovery: Option<Recovery>,
    /// The network's.
    pub slots_per_epoch: SlotsPerEpoch,
    /// The finalized epoch, for the whole history.
    pub finalized: Option<u64>,
    /// Slots from the first one that are not judged.
    pub warm_up: u64,
    /// Slots whose decisions are shown.
    pub decide: Vec<u64>,
    /// What a `random` window is drawn from.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The file.
    pub file: String,
    /// The first slot.
    pub from: u64,
    /// The last slot.
    pub to: u64,
    /// How many were missed.
    pub missed: Missed,
    /// Rules that were left out, for want of data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
    /// A row a policy and view.
    pub policies: Vec<Row>,
    /// The decisions that were asked for.
    pub decisions: Vec<PolicyDecision>,
}

/// A rule that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Of which policy.
    pub policy: String,
    /// Which rule.
    pub rule: &'static str,
}

/// One policy's decision about one slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyDecision {
    /// The policy.
    pub policy: String,
    /// In which view.
    pub view: View,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A decision was asked for that is not taken.
    #[error("slot {slot} is not judged: the first one is {first}, the last one {last}")]
    NotJudged {
        /// Which.
        slot: u64,
        /// The first judged one.
        first: u64,
        /// The last judged one.
        last: u64,
    },
}

/// Runs policies over a history.
///
/// # Errors
/// Where the file is not as it must be, or a decision is asked for outside of it.
pub fn replay(
    source: &mut impl Source,
    file: &str,
    options: &Options,
) -> Result<Report, ReplayError> {
    let (mut rows, ignored) = rows(options);
    let first = source.from().saturating_add(options.warm_up).max(1);
    let mut decide = options.decide.clone();
    decide.sort_unstable();
    decide.dedup();
    let (mut decisions, mut asked) = (Vec::new(), decide.iter().copied().peekable());
    let mut peaks = [Peak::default(); 2];
    let with_finality = options.finalized.is_some();
    let mut is_settled = false;
    while let Some(evidence) = source.next()? {
        let slot = evidence.slot();
        if slot < first {
            continue;
        }
        // Half of mainnet: nothing that a policy looks at has changed since the slot before, but for the epoch.
        let is_quiet = evidence.is_quiet() && slot > DEPTH && !with_finality;
        if is_settled && is_quiet && asked.peek() != Some(&slot) {
            continue;
        }
        peaks[0].see(evidence, View::Tree);
        peaks[1].see(evidence, View::Canonical);
        let finalized;
        let evidence = if with_finality {
            finalized = evidence.with_finalized(options.finalized);
            &finalized
        } else {
            evidence
        };
        if asked.next_if_eq(&slot).is_some() {
            decisions.extend(rows.iter_mut().map(|row| row.decide(evidence)));
        } else {
            rows.iter_mut().for_each(|row| row.judge(evidence));
        }
        is_settled = is_quiet && rows.iter().all(|row| row.last != Some(slot));
    }
    let (from, to) = (source.from(), source.to());
    let last = to + 1;
    if let Some(slot) = decide.into_iter().find(|slot| !(first..=last).contains(slot)) {
        return Err(ReplayError::NotJudged { slot, first, last });
    }
    Ok(Report {
        file: file.to_owned(),
        from,
        to,
        missed: source.missed(),
        ignored,
        policies: rows.into_iter().map(|row| row.finish(&peaks)).collect(),
        decisions,
    })
}

fn rows(options: &Options) -> (Vec<Running>, Vec<Ignored>) {
    // A list of slots knows nothing of reorgs, and of finality what it is told.
    let known = Known { finality: options.finalized.is_some(), reorgs: false };
    let views: &[Option<View>] = match options.views {
        Views::Preset => &[None],
        Views::Only(View::Tree) => &[Some(View::Tree)],
        Views::Only(View::Canonical) => &[Some(View::Canonical)],
        Views::Both => &[Some(View::Tree), Some(View::Canonical)],
    };
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let (mut rows, mut ignored) = (Vec::new(), Vec::new());
    for spec in &options.policies {
        let policy = spec.compile(options.slots_per_epoch, &mut rng);
        let (policy, lacking) = policy.limited_to(known);
        let name = spec.to_string();
        ignored.extend(lacking.into_iter().map(|rule| Ignored { policy: name.clone(), rule }));
        let Some(policy) = policy else { continue };
        for view in views {
            let policy = policy.clone();
            let policy = view.map_or(policy.clone(), |view| policy.in_view(view));
            rows.push(Running::new(policy, options.recovery));
        }
    }
    (rows, ignored)
}
