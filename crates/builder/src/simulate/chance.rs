//! Probabilities, and the draws that meet them.

use super::SimulateError;
use rand::{Rng as _, RngCore as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A probability, ready to be compared with a draw of 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(name: &'static str, value: f64) -> Result<Self, SimulateError> {
        probability(name, value).map(Self::clamped)
    }

    /// Below 0 is never, above 1 is always.
    pub(super) fn clamped(value: f64) -> Self {
        // The product is at most 2³².
        Self((value.clamp(0.0, 1.0) * (1u64 << 32) as f64) as u64)
    }

    /// Whether it happens with this draw.
    pub(super) fn meets(self, draw: u32) -> bool {
        u64::from(draw) < self.0
    }
}

/// A number from 0 to 1.
pub(super) fn probability(name: &'static str, value: f64) -> Result<f64, SimulateError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(SimulateError::Probability { name, value })
    }
}

/// The draws of one run: no other run has them, and the seed says all of them.
pub(super) fn of_run(seed: u64, run: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(run.wrapping_add(1));
    rng
}

/// The draws of one slot. All policies get the same ones, so that they differ by what they do and not by luck.
pub(super) struct Draws {
    /// Who proposes.
    pub(super) proposer: u32,
    /// What the proposer meets.
    pub(super) fate: u32,
    /// Whether the slot is missed for another reason.
    pub(super) miss: u32,
    /// What else there is to be decided.
    pub(super) other: u32,
}

impl Draws {
    pub(super) fn next(rng: &mut ChaCha8Rng) -> Self {
        let (one, two) = (rng.next_u64(), rng.next_u64());
        Self {
            proposer: one as u32,
            fate: (one >> 32) as u32,
            miss: two as u32,
            other: (two >> 32) as u32,
        }
    }

    /// One of so many.
    pub(super) fn one_of(draw: u32, many: usize) -> usize {
        // Below `many`, since the draw is below 2³².
        ((u64::from(draw) * many as u64) >> 32) as usize
    }
}

/// Whether something happens once.
pub(super) fn once(rng: &mut ChaCha8Rng, chance: Chance) -> bool {
    chance.meets(rng.random())
}
