//! Which slots a history covers.

use super::lines::{InputProblem, LAST_SLOT};

/// Slots of one replay: 38 years of mainnet. Beyond it there is a typing error.
const MOST: u64 = 100_000_000;

/// The first and the last slot, as far as they were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first one; the first listed one if none.
    pub from: Option<u64>,
    /// The last one; the last listed one if none.
    pub to: Option<u64>,
}

impl Range {
    /// The first slot, if the first listed one is this.
    pub(super) fn first(&self, listed: Option<u64>) -> Result<u64, InputProblem> {
        let from = self.from.or(listed).ok_or(InputProblem::Empty)?;
        let to = self.to.or(listed).ok_or(InputProblem::Empty)?;
        // Before a listed slot that is outside is named, the range has to make sense.
        if self.to.is_some() {
            check(from, to)?
        }
        Ok(from)
    }

    /// Whether a listed slot is inside; `from` is known by now.
    pub(super) fn check(&self, slot: u64, from: u64) -> Result<(), InputProblem> {
        if slot < from || self.to.is_some_and(|to| slot > to) {
            let to = self.to.map_or_else(|| "the end".to_owned(), |to| to.to_string());
            return Err(InputProblem::Outside { slot, from, to });
        }
        check(from, slot)
    }
}

fn check(from: u64, to: u64) -> Result<(), InputProblem> {
    match to.checked_sub(from) {
        Some(0..MOST) if to <= LAST_SLOT => Ok(()),
        _ => Err(InputProblem::Range { from, to, most: MOST }),
    }
}
