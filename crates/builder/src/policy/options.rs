//! What stands beside a policy: how a breaker starts, recovers, and answers when nothing is known.

use crate::evidence::DEPTH;
use serde::{Deserialize, Serialize, Serializer};
use std::{fmt, num::NonZeroU64, str::FromStr};

/// How an open breaker closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Never, but for a restart or an admin's reset.
    UntilRestart,
    /// Its state is the last verdict that is known.
    None,
    /// After so many present slots in a row, the trip's slot at the earliest. Half-open from the first one on.
    Hysteresis(NonZeroU64),
}

/// What the slots before the start count as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Present: the tally starts with 0. A restart amid an outage gives builders a few more slots.
    #[default]
    Zero,
    /// Unknown, until a node has told.
    Backfill,
}

/// The answer where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnknown {
    /// Build locally.
    #[default]
    Local,
    /// Ask the builders.
    Forward,
}

/// Not one of an option's values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not one of {allowed}")]
pub struct OptionError {
    given: String,
    allowed: &'static str,
}

impl FromStr for Recovery {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let number = || text.strip_prefix("hysteresis(")?.strip_suffix(')')?.trim().parse().ok();
        match text {
            "until-restart" => Ok(Self::UntilRestart),
            "none" => Ok(Self::None),
            _ => number()
                .filter(|n: &NonZeroU64| n.get() <= DEPTH)
                .map(Self::Hysteresis)
                .ok_or_else(|| OptionError {
                    given: text.to_owned(),
                    allowed: "until-restart, none, hysteresis(1) to hysteresis(64)",
                }),
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UntilRestart => f.pad("until-restart"),
            Self::None => f.pad("none"),
            Self::Hysteresis(slots) => f.pad(&format!("hysteresis({slots})")),
        }
    }
}

impl Serialize for Recovery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recoveries_are_read_as_they_are_written() {
        for text in ["until-restart", "none", "hysteresis(1)", "hysteresis(64)"] {
            assert_eq!(text.parse::<Recovery>().unwrap().to_string(), text);
        }
        for text in ["", "seed", "hysteresis", "hysteresis(0)", "hysteresis(65)", "hysteresis(4"] {
            assert!(text.parse::<Recovery>().is_err(), "{text}");
        }
    }
}
