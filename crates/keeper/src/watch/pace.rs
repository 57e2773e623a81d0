//! How often the tip is asked for.

use super::Block;
use std::{collections::VecDeque, time::Duration};

/// Faster would be of no use to anybody who is told.
const MIN: Duration = Duration::from_millis(250);

/// A chain may make a block only when there is something to put into it: it is asked for all the same.
const MAX: Duration = Duration::from_secs(15);

/// Before there are two blocks to compare.
const UNKNOWN: Duration = Duration::from_millis(500);

/// Timestamps are whole seconds, so one difference says little.
const SAMPLE: usize = 64;

/// The time between blocks, as their timestamps have it.
#[derive(Debug)]
pub(super) struct Pace {
    fixed: Option<Duration>,
    /// Number and time, the oldest first.
    last: VecDeque<(u64, u64)>,
}

impl Pace {
    /// Fixed, or measured.
    pub(super) fn new(fixed: Option<Duration>) -> Self {
        Self { fixed, last: VecDeque::new() }
    }

    pub(super) fn saw(&mut self, block: Block) {
        // After a reorg the numbers begin anew.
        while self.last.back().is_some_and(|(number, _)| *number >= block.number) {
            self.last.pop_back();
        }
        self.last.push_back((block.number, block.time));
        if self.last.len() > SAMPLE {
            self.last.pop_front();
        }
    }

    pub(super) fn interval(&self) -> Duration {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let (Some((from, begin)), Some((to, end))) = (self.last.front(), self.last.back()) else {
            return UNKNOWN;
        };
        match u32::try_from(to - from) {
            Ok(blocks @ 1..) => {
                (Duration::from_secs(end.saturating_sub(*begin)) / blocks).clamp(MIN, MAX)
            }
            _ => UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::B256;

    fn pace(blocks: impl IntoIterator<Item = (u64, u64)>) -> Duration {
        let mut pace = Pace::new(None);
        for (number, time) in blocks {
            pace.saw(Block { number, hash: B256::ZERO, time });
        }
        pace.interval()
    }

    #[test]
    fn it_is_the_time_between_blocks_within_its_bounds() {
        assert_eq!(pace([]), UNKNOWN);
        assert_eq!(pace([(5, 100)]), UNKNOWN);
        assert_eq!(pace([(5, 100), (6, 112)]), Duration::from_secs(12));
        assert_eq!(pace([(5, 100), (7, 112)]), Duration::from_secs(6));
        assert_eq!(pace([(5, 100), (9, 102)]), Duration::from_millis(500));
        assert_eq!(pace([(5, 100), (9, 100)]), MIN);
        assert_eq!(pace([(5, 100), (6, 5_000)]), MAX);
        assert_eq!(pace((0..1_000).map(|number| (number, number * 2))), Duration::from_secs(2));
        assert_eq!(pace([(5, 100), (6, 112), (6, 104)]), Duration::from_secs(4), "a reorg");
        let fixed = Pace::new(Some(Duration::from_secs(3)));
        assert_eq!(fixed.interval(), Duration::from_secs(3));
    }
}
