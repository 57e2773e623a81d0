//! The words for what a breaker is in, why, and what it tells a caller it turns away.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::outcome::Category;

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum State {
    /// Calls go through; failures are counted.
    Closed,
    /// Calls are rejected until the deadline.
    Open,
    /// A few calls go through as probes; they decide.
    HalfOpen,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        })
    }
}

/// What an operator wants of a breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Mode {
    /// It decides by itself.
    #[default]
    Normal,
    /// It rejects all; trips, resets and results change nothing. Earlier permits are stale. Leaving it goes to half-open.
    ForcedOpen,
    /// It admits all and records nothing. Leaving it goes to closed, with every count at zero.
    Disabled,
    /// It decides by itself but admits what it would reject, and ignores how that call ends. Its states are those of a
    /// normal breaker that saw only the calls it would have admitted.
    Shadow,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Normal => "normal",
            Self::ForcedOpen => "forced-open",
            Self::Disabled => "disabled",
            Self::Shadow => "shadow",
        })
    }
}

/// Why a transition happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Cause {
    /// Consecutive failures of any category reached their threshold.
    Total,
    /// Consecutive failures of this category reached its threshold.
    Category(Category),
    /// The failure rate of the count window.
    CountRate,
    /// The failure rate of the time window.
    TimeRate,
    /// The rate of slow calls in a window.
    SlowRate,
    /// A probe failed.
    ProbeFailed(Category),
    /// A probe answered, too slowly.
    ProbeSlow,
    /// A probe's permit was dropped.
    ProbeDropped,
    /// A probe's permit was dropped by a panic.
    ProbePanicked,
    /// A probe said nothing for as long as its lease.
    LeaseExpired,
    /// A person or a program asked for it.
    Manual,
    /// Another breaker of the same host opened.
    Sibling,
    /// The cooldown was over, and a call came.
    Traffic,
    /// The cooldown was over, and a poll or another event noticed.
    Proactive,
    /// It stood so in a snapshot.
    Restored,
    /// Enough probes succeeded.
    Recovered,
}

impl Cause {
    /// Seven bits: the kind above, the category in the lowest three.
    pub(crate) const fn to_bits(self) -> u8 {
        let (kind, category) = match self {
            Self::Total => (0, 0),
            Self::Category(c) => (1, c.index()),
            Self::CountRate => (2, 0),
            Self::TimeRate => (3, 0),
            Self::SlowRate => (4, 0),
            Self::ProbeFailed(c) => (5, c.index()),
            Self::ProbeSlow => (6, 0),
            Self::ProbeDropped => (7, 0),
            Self::ProbePanicked => (8, 0),
            Self::LeaseExpired => (9, 0),
            Self::Manual => (10, 0),
            Self::Sibling => (11, 0),
            Self::Traffic => (12, 0),
            Self::Proactive => (13, 0),
            Self::Restored => (14, 0),
            Self::Recovered => (15, 0),
        };
        (kind << 3) | category as u8
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        match (bits >> 3) & 0xf {
            0 => Self::Total,
            1 => Self::Category(Category::from_bits(bits)),
            2 => Self::CountRate,
            3 => Self::TimeRate,
            4 => Self::SlowRate,
            5 => Self::ProbeFailed(Category::from_bits(bits)),
            6 => Self::ProbeSlow,
            7 => Self::ProbeDropped,
            8 => Self::ProbePanicked,
            9 => Self::LeaseExpired,
            10 => Self::Manual,
            11 => Self::Sibling,
            12 => Self::Traffic,
            13 => Self::Proactive,
            14 => Self::Restored,
            _ => Self::Recovered,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Total => "too many consecutive failures",
            Self::Category(c) => return write!(f, "too many consecutive {c} failures"),
            Self::CountRate => "too high a failure rate in the count window",
            Self::TimeRate => "too high a failure rate in the time window",
            Self::SlowRate => "too high a rate of slow calls",
            Self::ProbeFailed(c) => return write!(f, "a probe failed ({c})"),
            Self::ProbeSlow => "a probe was too slow",
            Self::ProbeDropped => "a probe was dropped",
            Self::ProbePanicked => "a probe panicked",
            Self::LeaseExpired => "a probe outlived its lease",
            Self::Manual => "manual",
            Self::Sibling => "a sibling opened",
            Self::Traffic => "a call after the deadline",
            Self::Proactive => "a poll after the deadline",
            Self::Restored => "restored from a snapshot",
            Self::Recovered => "enough probes succeeded",
        })
    }
}

/// Why a call was not let through. Nothing was sent: retrying elsewhere is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Rejected {
    /// It is open. Retry after `retry_in`.
    CircuitOpen {
        /// Time to the deadline, on the clock the call was judged by.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration"))]
        retry_in: Duration,
        /// Why it opened.
        cause: Cause,
    },
    /// Enough probes are under way. Retry when one has ended.
    HalfOpenBusy {
        /// Time to the end of the oldest probe's lease: the latest moment at which something changes.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration"))]
        retry_in: Duration,
    },
    /// An operator holds it open. Retry when the mode has changed.
    ForcedOpen,
}

impl Rejected {
    /// How long to wait, where time alone changes the answer.
    #[must_use]
    pub const fn retry_in(&self) -> Option<Duration> {
        match self {
            Self::CircuitOpen { retry_in, .. } | Self::HalfOpenBusy { retry_in } => Some(*retry_in),
            Self::ForcedOpen => None,
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CircuitOpen { retry_in, cause } => {
                write!(f, "circuit open ({cause}): retry in {retry_in:?}")
            }
            Self::HalfOpenBusy { retry_in } => {
                write!(
                    f,
                    "circuit half-open, all probes taken: retry in {retry_in:?} at the latest"
                )
            }
            Self::ForcedOpen => f.write_str("circuit forced open by an operator"),
        }
    }
}

impl Error for Rejected {}

/// How a call through the breaker went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError<E> {
    /// The breaker did not let it through; nothing was called.
    Rejected(Rejected),
    /// It was called, and this is its error.
    Inner(E),
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Inner(inner) => inner.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for CallError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rejected(rejected) => Some(rejected),
            Self::Inner(inner) => Some(inner),
        }
    }
}

impl<E> From<Rejected> for CallError<E> {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}
