//! A scenario: what happens to the contracts, in seconds from the start, and what must come of it.
//!
//! Scenarios are TOML. The built-in ones are part of the library, and a test parses each of them.

use serde::{Deserialize, Serialize};

const BUILTIN: &[(&str, &str)] =
    &[("outage-and-recovery", include_str!("builtin/outage-and-recovery.toml"))];

/// A whole scenario. All times are seconds from its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scenario {
    /// What it is called on the command line.
    pub name: String,
    /// What it is about, in one line.
    pub about: String,
    /// The chain's clock.
    pub time: Time,
    /// The parameters under test, given to the deployed host.
    pub policy: Policy,
    /// What goes wrong.
    #[serde(default)]
    pub fault: Vec<Fault>,
    /// Who calls.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
    /// What must come of it: a scenario is also a test.
    pub expect: Expect,
}

/// The chain's clock, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Time {
    /// Seconds between blocks; block n has timestamp start + n · block.
    pub block: u64,
    /// The last block's time.
    pub horizon: u64,
}

/// The breaker's parameters, as `Resilient` takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// Consecutive failures that trip the breaker.
    pub failure_threshold: u16,
    /// Seconds from a trip to half-open; also the cap, so that the cooldown is constant.
    pub cooldown: u32,
}

/// Something that goes wrong with a contract for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Fault {
    /// The contract it happens to.
    pub on: FaultTarget,
    /// What happens to it.
    pub kind: FaultKind,
    /// The first second in force.
    pub from: u64,
    /// The first second no longer in force.
    pub until: u64,
}

/// The contracts that faults can happen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultTarget {
    /// The primary.
    Moody,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// Every call reverts.
    Outage,
}

/// A stream of calls to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Traffic {
    /// Who calls.
    pub name: String,
    /// How the calls are spread over time.
    pub kind: TrafficKind,
    /// Seconds between two calls; the first comes after one such interval.
    pub every: u64,
}

/// How calls are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrafficKind {
    /// At equal intervals.
    Regular,
}

/// What must come of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Expect {
    /// Number of `Opened` events.
    pub opened: u64,
    /// Number of `Closed` events.
    pub closed: u64,
    /// User calls that the primary answered.
    pub by_primary: u64,
    /// User calls that the backup answered.
    pub by_backup: u64,
    /// User calls that reverted.
    pub failed: u64,
}

/// A policy parameter that was given wrongly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Not of the form `key=value`.
    #[error("`{0}` is not of the form key=value; keys are {KEYS}")]
    NotKeyValue(String),
    /// A key that no policy has.
    #[error("there is no policy parameter `{0}`; there are {KEYS}")]
    UnknownKey(String),
    /// A value that the parameter cannot have.
    #[error("{key} is a whole number from 1 to {max}, not `{value}`")]
    BadValue {
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
        /// Its largest value.
        max: u64,
    },
}

const KEYS: &str = "failure_threshold, cooldown";

impl Scenario {
    /// The scenario of this name that comes with the library.
    ///
    /// # Panics
    /// Never: a test parses every one of them.
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Some(toml::from_str(text).expect("a test parses every built-in scenario"))
    }

    /// The names of the scenarios that come with the library, in the order to read them.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }
}

impl Policy {
    /// Changes one parameter, given as `key=value`.
    ///
    /// # Errors
    /// When the parameter is unknown or the value out of its range; the message says what is allowed.
    pub fn set(&mut self, assignment: &str) -> Result<(), PolicyError> {
        let (key, value) = assignment
            .split_once('=')
            .ok_or_else(|| PolicyError::NotKeyValue(assignment.to_owned()))?;
        match key {
            "failure_threshold" => {
                self.failure_threshold = parse("failure_threshold", value, u16::MAX)?;
            }
            "cooldown" => self.cooldown = parse("cooldown", value, u32::MAX)?,
            _ => return Err(PolicyError::UnknownKey(key.to_owned())),
        }
        Ok(())
    }
}

fn parse<T>(key: &'static str, value: &str, max: T) -> Result<T, PolicyError>
where
    T: Copy + Into<u64> + PartialEq + From<u8> + std::str::FromStr,
{
    match value.parse::<T>() {
        Ok(number) if number != T::from(0) => Ok(number),
        _ => Err(PolicyError::BadValue { key, value: value.to_owned(), max: max.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_scenario_parses_and_bears_its_name() {
        for name in Scenario::builtin_names() {
            let scenario = Scenario::builtin(name).expect("it is listed");
            assert_eq!(scenario.name, name);
        }
        assert!(Scenario::builtin("no-such-scenario").is_none());
    }

    #[test]
    fn a_policy_parameter_is_set_within_its_range_only() {
        let mut policy = Policy { failure_threshold: 3, cooldown: 100 };
        policy.set("failure_threshold=65535").unwrap();
        policy.set("cooldown=1").unwrap();
        assert_eq!(policy, Policy { failure_threshold: 65535, cooldown: 1 });

        for (given, message) in [
            ("failure_threshold=0", "failure_threshold is a whole number from 1 to 65535, not `0`"),
            (
                "failure_threshold=65536",
                "failure_threshold is a whole number from 1 to 65535, not `65536`",
            ),
            ("cooldown=-1", "cooldown is a whole number from 1 to 4294967295, not `-1`"),
            (
                "cooldwn=1",
                "there is no policy parameter `cooldwn`; there are failure_threshold, cooldown",
            ),
            (
                "cooldown",
                "`cooldown` is not of the form key=value; keys are failure_threshold, cooldown",
            ),
        ] {
            assert_eq!(policy.set(given).unwrap_err().to_string(), message);
        }
        assert_eq!(
            policy,
            Policy { failure_threshold: 65535, cooldown: 1 },
            "nothing was half set"
        );
    }
}
