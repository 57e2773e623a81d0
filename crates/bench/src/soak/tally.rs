//! How calls ended. Of a fixed size, however many there are: the memory that is measured is not its own.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use alloy::transports::{RpcError, TransportError};
use fusebox_rpc::{PoolError, Rejection, pool_error};

/// How one call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// With a result.
    Answered,
    /// With an error that a node gave.
    NodeError,
    /// The pool says why not, in one of its own errors.
    Refused(&'static str),
    /// Its caller gave up.
    GivenUp,
    /// With a result that is none of what was asked.
    Wrong,
    /// In any other way.
    Unexplained,
}

impl End {
    /// What an error says.
    #[must_use]
    pub fn of(error: &TransportError) -> Self {
        let refused = match (error, pool_error(error)) {
            (RpcError::ErrorResp(_), _) => return Self::NodeError,
            (_, Some(PoolError::Rejected(rejection))) => match rejection {
                Rejection::CircuitOpen { .. } => "circuit open",
                Rejection::HalfOpenBusy => "half-open, busy",
                Rejection::AllOpen { .. } => "all open",
                Rejection::Throttled { .. } => "throttled",
                Rejection::Deadline { .. } => "deadline",
                _ => return Self::Unexplained,
            },
            (_, Some(PoolError::Exhausted { .. })) => "no endpoint answered",
            // A filter's node.
            (_, Some(PoolError::PinLost { .. })) => "its endpoint is lost",
            _ => return Self::Unexplained,
        };
        Self::Refused(refused)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered => f.write_str("answered"),
            Self::NodeError => f.write_str("answered with a node's error"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::GivenUp => f.write_str("given up by the caller"),
            Self::Wrong => f.write_str("wrong answer"),
            Self::Unexplained => f.write_str("unexplained"),
        }
    }
}

/// How many of them did.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    ends: BTreeMap<End, u64>,
    slowest: Duration,
    example: Option<String>,
}

impl Tally {
    /// One more. `text` is asked for when nobody knows what it was.
    pub fn add(&mut self, end: End, took: Duration, text: impl FnOnce() -> String) {
        *self.ends.entry(end).or_insert(0) += 1;
        self.slowest = self.slowest.max(took);
        if matches!(end, End::Wrong | End::Unexplained) && self.example.is_none() {
            self.example = Some(text());
        }
    }

    /// How many ended so.
    #[must_use]
    pub fn count(&self, end: End) -> u64 {
        self.ends.get(&end).copied().unwrap_or(0)
    }

    /// All.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ends.values().sum()
    }

    /// The longest that one took.
    #[must_use]
    pub fn slowest(&self) -> Duration {
        self.slowest
    }

    /// The first that was wrong or unexplained.
    #[must_use]
    pub fn example(&self) -> Option<&str> {
        self.example.as_deref()
    }

    /// As a table.
    #[must_use]
    pub fn table(&self) -> String {
        let head = "| how calls ended | |\n|---|---:|\n".to_owned();
        self.ends.iter().fold(head, |table, (end, count)| table + &format!("| {end} | {count} |\n"))
    }
}

#[cfg(test)]
mod tests {
    use alloy::transports::TransportErrorKind;

    use super::*;

    #[test]
    fn only_errors_of_the_pool_are_reasons() {
        let why = PoolError::Exhausted { attempts: Vec::new() };
        assert_eq!(End::of(&why.into()), End::Refused("no endpoint answered"));
        let other = TransportErrorKind::custom_str("connection reset");
        assert_eq!(End::of(&other), End::Unexplained);
        let forced = PoolError::Rejected(Rejection::ForcedOpen);
        assert_eq!(End::of(&forced.into()), End::Unexplained, "no node here serves another chain");
    }

    #[test]
    fn the_first_surprise_is_kept() {
        let mut tally = Tally::default();
        tally.add(End::Answered, Duration::from_secs(2), || unreachable!());
        tally.add(End::Wrong, Duration::from_secs(1), || "first".to_owned());
        tally.add(End::Wrong, Duration::from_secs(1), || "second".to_owned());
        assert_eq!((tally.total(), tally.count(End::Wrong)), (3, 2));
        assert_eq!((tally.slowest(), tally.example()), (Duration::from_secs(2), Some("first")));
    }
}
