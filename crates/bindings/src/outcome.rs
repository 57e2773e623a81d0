//! What can come of a guarded call, and what an `Opened` event names as its cause.
//!
//! On the wire both are one byte. A newer host may emit a byte that this crate has no name for; the transition it
//! belongs to is real all the same, so [`Cause`] keeps the number instead of refusing the log.

use std::fmt;

/// What can come of a guarded call. The contract only ever adds members at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Outcome {
    /// The primary answered, and its answer was usable.
    Ok = 0,
    /// The primary reverted.
    Reverted = 1,
    /// The primary used up the gas it was given.
    BudgetSpent = 2,
    /// There is no contract at the primary's address.
    NoCode = 3,
    /// The answer is too short or cannot be decoded.
    BadReturn = 4,
    /// The answer is longer than the host accepts.
    ReturnTooLarge = 5,
    /// The answer is well-formed, and the host does not believe it.
    Rejected = 6,
    /// A person tripped the breaker.
    Forced = 7,
    /// A flag that the host watches was raised.
    Flagged = 8,
    /// Nothing was called, because the breaker is open.
    NotTried = 9,
}

impl Outcome {
    /// All of them, each at the index that is its byte.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::Reverted,
        Self::BudgetSpent,
        Self::NoCode,
        Self::BadReturn,
        Self::ReturnTooLarge,
        Self::Rejected,
        Self::Forced,
        Self::Flagged,
        Self::NotTried,
    ];

    /// The word used in alerts, reports and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Reverted => "reverted",
            Self::BudgetSpent => "budget-spent",
            Self::NoCode => "no-code",
            Self::BadReturn => "bad-return",
            Self::ReturnTooLarge => "return-too-large",
            Self::Rejected => "rejected",
            Self::Forced => "forced",
            Self::Flagged => "flagged",
            Self::NotTried => "not-tried",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl TryFrom<u8> for Outcome {
    type Error = UnknownOutcome;

    fn try_from(byte: u8) -> Result<Self, UnknownOutcome> {
        Self::ALL.get(usize::from(byte)).copied().ok_or(UnknownOutcome(byte))
    }
}

impl From<Outcome> for u8 {
    fn from(outcome: Outcome) -> Self {
        outcome as Self
    }
}

/// A byte that names no outcome: the host is newer than this crate, or no host at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown outcome {0}")]
pub struct UnknownOutcome(pub u8);

/// The cause byte of an `Opened` event, known or not. Displays as the outcome's word, else as the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause(pub u8);

impl Cause {
    /// The outcome that this byte stands for, if this crate knows it.
    pub fn outcome(self) -> Option<Outcome> {
        Outcome::try_from(self.0).ok()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome() {
            Some(outcome) => outcome.fmt(f),
            None => self.0.fmt(f),
        }
    }
}

impl From<u8> for Cause {
    fn from(byte: u8) -> Self {
        Self(byte)
    }
}

impl From<Outcome> for Cause {
    fn from(outcome: Outcome) -> Self {
        Self(outcome.into())
    }
}
