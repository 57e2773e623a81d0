//! What came of a run: a row a transaction, the differences to what had to come, and the sums.

use crate::{observe::Observed, scenario::Scenario};
use alloy::primitives::{Address, B256};
use fusebox_bindings::{State, Word};
use serde::{Serialize, Serializer};
use std::fmt;

/// A whole run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// What was played.
    pub scenario: Scenario,
    /// The contract that was called.
    pub host: Address,
    /// Its breaker: the storage slot.
    pub breaker: B256,
    /// One row a transaction, in chain order.
    pub timeline: Vec<Row>,
    /// The sums.
    pub summary: Summary,
    /// Where the chain, the observer or the scenario's expectations differ from the model. Empty when all is well.
    #[serde(serialize_with = "as_strings")]
    pub differences: Vec<Difference>,
}

/// A transaction of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// Its block's number.
    pub block: u64,
    /// Its block's time, in seconds from the start.
    pub time: u64,
    /// Who sent it: a traffic, or `fault`.
    pub sender: String,
    /// What it called.
    pub call: String,
    /// Who answered, where that is the question.
    pub answerer: Option<Answerer>,
    /// The gas it used, intrinsic gas included.
    pub gas: u64,
    /// The breaker's state just before it, at its block's time.
    #[serde(serialize_with = "as_string")]
    pub before: State,
    /// The breaker's state after it.
    #[serde(serialize_with = "as_string")]
    pub after: State,
    /// What it made the breaker emit.
    pub event: Option<ModelEvent>,
}

/// Who answered a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answerer {
    /// The contract that the breaker guards.
    Primary,
    /// The one behind it.
    Backup,
    /// Nobody: the call reverted.
    Nobody,
}

impl fmt::Display for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Primary => "primary",
            Self::Backup => "backup",
            Self::Nobody => "nobody",
        })
    }
}

/// A transition that the model made, in seconds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelEvent {
    /// The breaker opened.
    Opened {
        /// When it becomes half-open.
        retry_at: u64,
    },
    /// The breaker closed.
    Closed,
}

impl fmt::Display for ModelEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { retry_at } => write!(f, "Opened, retry at {retry_at}"),
            Self::Closed => f.write_str("Closed"),
        }
    }
}

/// The sums of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Calls by users.
    pub calls: u64,
    /// Of these, answered by the primary.
    pub by_primary: u64,
    /// Answered by the backup while open, without an attempt.
    pub by_backup_open: u64,
    /// Answered by the backup after a failed attempt.
    pub by_backup_attempt: u64,
    /// Reverted.
    pub failed: u64,
    /// Calls that found the breaker half-open.
    pub probes: u64,
    /// Of these, failed.
    pub probes_failed: u64,
    /// `Opened` events, those of failed probes included.
    pub opened: u64,
    /// `Closed` events.
    pub closed: u64,
    /// Seconds from the first outage to the first `Opened`.
    pub detection: Option<u64>,
    /// Seconds from the end of the last outage to the last `Closed`.
    pub recovery: Option<u64>,
    /// Seconds from each `Opened` out of closed to its `Closed`, or to the end.
    pub time_open: u64,
    /// Gas of all calls by users.
    pub gas: u64,
}

impl Summary {
    /// Answered by the backup, for either reason.
    pub fn by_backup(&self) -> u64 {
        self.by_backup_open + self.by_backup_attempt
    }

    pub(crate) fn new(scenario: &Scenario, timeline: &[Row]) -> Self {
        let mut sum = Self::default();
        let mut opened_at = None;
        let mut first_opened = None;
        let mut last_closed = None;
        for row in timeline {
            let Some(answerer) = row.answerer else { continue };
            sum.calls += 1;
            sum.gas += row.gas;
            let half_open = row.before == State::HalfOpen;
            sum.probes += u64::from(half_open);
            sum.probes_failed += u64::from(half_open && answerer != Answerer::Primary);
            match answerer {
                Answerer::Primary => sum.by_primary += 1,
                Answerer::Backup if row.before == State::Open => sum.by_backup_open += 1,
                Answerer::Backup => sum.by_backup_attempt += 1,
                Answerer::Nobody => sum.failed += 1,
            }
            match row.event {
                Some(ModelEvent::Opened { .. }) => {
                    sum.opened += 1;
                    first_opened.get_or_insert(row.time);
                    opened_at.get_or_insert(row.time);
                }
                Some(ModelEvent::Closed) => {
                    sum.closed += 1;
                    last_closed = Some(row.time);
                    sum.time_open += opened_at.take().map_or(0, |at| row.time - at);
                }
                None => {}
            }
        }
        sum.time_open += opened_at.map_or(0, |at| scenario.time.horizon.saturating_sub(at));
        let starts = scenario.fault.iter().map(|fault| fault.from);
        let ends = scenario.fault.iter().map(|fault| fault.until);
        let between = |from: Option<u64>, to: Option<u64>| to?.checked_sub(from?);
        sum.detection = between(starts.min(), first_opened);
        sum.recovery = between(ends.max(), last_closed);
        sum
    }
}

/// A difference between what happened and what had to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Somebody else answered a call.
    Answerer {
        /// The block's number.
        block: u64,
        /// The block's time, in seconds from the start.
        time: u64,
        /// Who had to answer.
        expected: Answerer,
        /// Who did.
        found: Answerer,
    },
    /// The breaker's word is another one.
    Word {
        /// The block's number.
        block: u64,
        /// The block's time, in seconds from the start.
        time: u64,
        /// The model's word.
        expected: Word,
        /// The word in storage.
        found: Word,
    },
    /// The observer saw other transitions.
    Events {
        /// The block's number.
        block: u64,
        /// The block's time, in seconds from the start.
        time: u64,
        /// The model's transitions.
        expected: Vec<Observed>,
        /// What the observer saw.
        found: Vec<Observed>,
    },
    /// A line of the scenario's `[expect]` is not met.
    Expectation {
        /// The key.
        key: &'static str,
        /// What it says.
        expected: u64,
        /// What came.
        found: u64,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answerer { block, time, expected, found } => {
                write!(f, "block {block} (t = {time}): {found} answered instead of {expected}")
            }
            Self::Word { block, time, expected, found } => write!(
                f,
                "block {block} (t = {time}): the breaker's word is {:#066x} instead of {:#066x}",
                found.0, expected.0
            ),
            Self::Events { block, time, expected, found } => write!(
                f,
                "block {block} (t = {time}): the events are {found:?} instead of {expected:?}"
            ),
            Self::Expectation { key, expected, found } => {
                write!(f, "the scenario expects {key} = {expected}, and it was {found}")
            }
        }
    }
}

fn as_string<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_strings<T: fmt::Display, S: Serializer>(
    values: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(ToString::to_string))
}
