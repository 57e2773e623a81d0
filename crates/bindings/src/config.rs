//! What an owner chooses, and what the contract refuses.
//!
//! The checks are those of `build` and `configure` in the contract, in the same order, so a configuration that is
//! wrong in two ways is refused for the same reason here and there, and before gas was paid to hear it.

use crate::word::{Fields, LATCH, ONCE_PER_BLOCK, PROBE_ONLY, Word};

/// The part of a breaker that its owner chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Config {
    /// Consecutive failures, weighted, that trip it; at least 1.
    pub failure_threshold: u16,
    /// Seconds from a trip to half-open; at least 1.
    pub cooldown: u32,
    /// Good probes that close it; at least 1.
    pub success_threshold: u8,
    /// Seconds that the doubling cooldown never exceeds; at least `cooldown`, and equal to it = constant.
    pub max_cooldown: u32,
    /// Seconds after which an old failure no longer counts; 0 = failures count for ever.
    pub window: u32,
    /// [`LATCH`], [`ONCE_PER_BLOCK`] and [`PROBE_ONLY`], or-ed; no others.
    pub flags: u8,
}

impl Config {
    /// `build(failureThreshold, cooldown)` of the contract: one good probe closes it, the cooldown (seconds) is
    /// constant, every failure counts.
    pub const fn simple(failure_threshold: u16, cooldown: u32) -> Self {
        Self {
            failure_threshold,
            cooldown,
            success_threshold: 1,
            max_cooldown: cooldown,
            window: 0,
            flags: 0,
        }
    }

    /// `safe(failureThreshold, cooldown)` of the contract, for hosts that anyone may call: one failure a block
    /// counts, two good probes close it, and the cooldown (seconds) doubles up to sixteen times its start.
    pub const fn safe(failure_threshold: u16, cooldown: u32) -> Self {
        Self {
            success_threshold: 2,
            max_cooldown: cooldown.saturating_mul(16),
            flags: ONCE_PER_BLOCK,
            ..Self::simple(failure_threshold, cooldown)
        }
    }

    /// Whether the contract would take it.
    ///
    /// # Errors
    ///
    /// The [`ConfigError`] that stands for the custom error of the contract's revert.
    pub const fn check(&self) -> Result<(), ConfigError> {
        let Self { max_cooldown, cooldown, .. } = *self;
        let unknown = self.flags & !(LATCH | ONCE_PER_BLOCK | PROBE_ONLY);
        if self.failure_threshold == 0 {
            Err(ConfigError::FailureThresholdZero)
        } else if cooldown == 0 {
            Err(ConfigError::CooldownZero)
        } else if max_cooldown < cooldown {
            Err(ConfigError::MaxCooldownBelowCooldown { max_cooldown, cooldown })
        } else if self.success_threshold == 0 {
            Err(ConfigError::SuccessThresholdZero)
        } else if unknown != 0 {
            Err(ConfigError::UnknownFlags { unknown })
        } else {
            Ok(())
        }
    }
}

/// Why a [`Config`] is refused. Each variant has the name of the contract's custom error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A threshold of 0 marks an empty slot, so no breaker can have it.
    #[error("failure threshold is 0, must be at least 1")]
    FailureThresholdZero,
    /// Without a cooldown an open breaker would be half-open at once.
    #[error("cooldown is 0 s, must be at least 1 s")]
    CooldownZero,
    /// The cap would cut the first cooldown already.
    #[error("max cooldown of {max_cooldown} s is below the cooldown of {cooldown} s")]
    MaxCooldownBelowCooldown {
        /// Seconds.
        max_cooldown: u32,
        /// Seconds.
        cooldown: u32,
    },
    /// It would close without a probe.
    #[error("success threshold is 0, must be at least 1")]
    SuccessThresholdZero,
    /// A flag of a newer contract, or a typo: what it should do is not known here.
    #[error("unknown flags {unknown:#010b}")]
    UnknownFlags {
        /// The bits that were not understood.
        unknown: u8,
    },
}

impl Word {
    /// A closed breaker, as a host's constructor stores it.
    ///
    /// # Errors
    ///
    /// Those of [`Config::check`].
    pub fn build(config: Config) -> Result<Self, ConfigError> {
        configure(Self::default(), config)
    }

    /// The part that its owner chose, as it is stored. Not checked: an empty slot gives zeros.
    pub fn config(self) -> Config {
        Config {
            failure_threshold: self.failure_threshold(),
            cooldown: self.cooldown(),
            success_threshold: self.success_threshold(),
            max_cooldown: self.max_cooldown(),
            window: self.window(),
            flags: self.flags(),
        }
    }
}

/// Gives a breaker a configuration, also its first one.
///
/// Its state stays: this neither trips nor un-trips, so counts end up below their new thresholds, and [`LATCH`] acts
/// from the next opening.
///
/// # Errors
///
/// Those of [`Config::check`].
pub fn configure(word: Word, config: Config) -> Result<Word, ConfigError> {
    config.check()?;
    let live = Fields::from(word);
    Ok(Word::from(Fields {
        failure_count: live.failure_count.min(config.failure_threshold - 1),
        failure_threshold: config.failure_threshold,
        cooldown: config.cooldown,
        success_count: live.success_count.min(config.success_threshold - 1),
        success_threshold: config.success_threshold,
        max_cooldown: config.max_cooldown,
        window: config.window,
        flags: config.flags,
        ..live
    }))
}
