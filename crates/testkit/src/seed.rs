//! Chance that can be had again.
//!
//! Each draw is a function of the seed, the rule and how often that rule was asked, and not of the order in which tasks
//! happen to run.

use rand::{Rng, RngCore, SeedableRng, rngs::StdRng};
use std::{env, ffi::OsStr, fmt, sync::OnceLock};

/// Names the seed of a run; without it each run has another.
pub(crate) const VARIABLE: &str = "FUSEBOX_TEST_SEED";

/// One for all, since one variable sets all.
static DRAWN: OnceLock<Seed> = OnceLock::new();

/// What every random choice of a [`Node`](crate::Node) follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Seed {
    /// The seed in `FUSEBOX_TEST_SEED`, else a new one, the same for all nodes of this process.
    ///
    /// # Panics
    /// When the variable is set and not a number: a run that was to be repeated would be another.
    pub fn of_this_run() -> Self {
        match env::var_os(VARIABLE) {
            Some(text) => Self::read(&text),
            None => *DRAWN.get_or_init(|| Self(rand::rng().next_u64())),
        }
    }

    fn read(text: &OsStr) -> Self {
        let seed = text.to_str().and_then(|text| text.parse().ok());
        Self(seed.unwrap_or_else(|| panic!("{VARIABLE}={text:?} is no seed: give a number")))
    }

    /// Shown by the test harness when the test fails, and only then.
    #[expect(clippy::print_stderr, reason = "the harness keeps it until the test fails")]
    pub(crate) fn print(self) {
        eprintln!("testkit: to see the same again, set {VARIABLE}={self}");
    }

    /// Between 0 and 1; the same for the same numbers.
    pub(crate) fn draw(self, rule: u64, turn: u64) -> f64 {
        self.source(rule, turn).random()
    }

    /// `length` bytes without meaning.
    pub(crate) fn garbage(self, turn: u64, length: usize) -> Vec<u8> {
        // No rule has this number.
        let mut source = self.source(u64::MAX, turn);
        (0..length).map(|_| source.random()).collect()
    }

    fn source(self, rule: u64, turn: u64) -> StdRng {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&rule.to_le_bytes());
        bytes[16..24].copy_from_slice(&turn.to_le_bytes());
        StdRng::from_seed(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_was_shown_can_be_given_again() {
        let seed = Seed(u64::MAX);
        assert_eq!(Seed::read(seed.to_string().as_ref()), seed);
        for text in ["", "x", "-1", "18446744073709551616"] {
            assert!(std::panic::catch_unwind(|| Seed::read(text.as_ref())).is_err(), "{text}");
        }
        assert_eq!(Seed::of_this_run(), Seed::of_this_run());
    }
}
