//! The tip of a node against the newest block that was told.

use super::Block;
use alloy::primitives::B256;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: it is the same block.
    Idle,
    /// Its parents lead to what was told: to the newest block, or to the one where a reorg began.
    Walk,
    /// Nothing: the node lags, on the same chain as far as can be seen.
    Lags,
    /// A lower tip that is not what was told there: a reorg, or a node that lags on another fork.
    Doubt,
}

/// `told` is the hash of the block that was told in the tip's place, where it is remembered. A lower number alone never
/// takes anything back.
pub(super) fn step(tip: Block, seen: Block, told: Option<B256>) -> Step {
    match (tip.number.cmp(&seen.number), told) {
        _ if tip.hash == seen.hash => Step::Idle,
        (std::cmp::Ordering::Less, None) => Step::Lags,
        (std::cmp::Ordering::Less, Some(told)) if told == tip.hash => Step::Lags,
        (std::cmp::Ordering::Less, Some(_)) => Step::Doubt,
        _ => Step::Walk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_hash_takes_something_back_and_never_a_lower_number() {
        let block = |number, fork| Block { number, hash: B256::repeat_byte(fork), time: 0 };
        let told = |fork| Some(B256::repeat_byte(fork));
        let seen = block(10, 1);
        for (tip, told, want) in [
            (seen, told(1), Step::Idle),
            (block(11, 2), None, Step::Walk),
            (block(900, 2), None, Step::Walk),
            (block(10, 2), told(1), Step::Walk),
            (block(9, 3), told(3), Step::Lags),
            (block(9, 4), told(3), Step::Doubt),
            (block(1, 4), None, Step::Lags),
        ] {
            assert_eq!(step(tip, seen, told), want, "{tip:?}");
        }
    }
}
