//! What an endpoint cannot do, as far as it has shown.
//!
//! Limits differ by provider, plan and month and are documented badly or not at all. So they are learned from refusals,
//! which cost one request each, and forgotten after a while, since plans change. Kept per endpoint and method.
//!
//! A limit that the endpoint *named* is kept as it is: trying more would be refused again. A limit found by *halving* is
//! a guess that is at most half of the truth, so it grows again as long as it goes well.

use std::time::Duration;

use crate::span::BlockSpan;
use crate::verdict::{Lack, RangeHint};

/// How long a learned limit counts: six hours.
pub const LIMIT_TTL: Duration = Duration::from_secs(21_600);

/// How long an unsupported method counts, one hour: gateways answer so too when one of their nodes is misconfigured.
pub const UNSUPPORTED_TTL: Duration = Duration::from_secs(3_600);

/// After so many full-sized successes in a row a guessed limit grows by half.
const GROW_AFTER: u32 = 3;

/// What one endpoint cannot do with one method. Time is the time since an origin of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Learned {
    range: Option<Range>,
    unsupported: Option<Duration>,
    address: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    blocks: u64,
    named: bool,
    until: Duration,
    successes: u32,
}

impl Learned {
    /// The endpoint refused a call for what it [lacks](Lack). `asked` is the range the call asked for, if any.
    ///
    /// A range that is offered counts if it is shorter than the one that was refused; else half of the refused one
    /// counts, never less than one block. An offer that repeats the refused range is thus never taken up. A half that is
    /// longer than what is known already changes nothing: such a call was sent before.
    pub fn refused(
        &mut self,
        lack: Option<Lack>,
        offer: Option<RangeHint>,
        asked: Option<BlockSpan>,
        now: Duration,
    ) {
        let until = now.saturating_add(LIMIT_TTL);
        match lack {
            Some(Lack::Method) => self.unsupported = Some(now.saturating_add(UNSUPPORTED_TTL)),
            Some(Lack::Address) => self.address = Some(until),
            Some(Lack::Range | Lack::Answer) | None => {
                let offered = offer.and_then(blocks);
                let refused = asked.map_or(u64::MAX, BlockSpan::blocks);
                let (blocks, named) = match (offered, asked) {
                    // How many blocks fit into an answer says nothing about other blocks, even if it is named.
                    (Some(blocks), _) if blocks < refused => (blocks, lack != Some(Lack::Answer)),
                    (_, Some(_)) => ((refused / 2).max(1), false),
                    (_, None) => return,
                };
                if named || self.max_blocks(now).is_none_or(|known| blocks < known) {
                    self.range = Some(Range { blocks, named, until, successes: 0 });
                }
            }
            // About this one request, batch or plan: nothing that a later call of the method could use.
            Some(Lack::Request | Lack::Batch | Lack::Archive) => {}
        }
    }

    /// A call succeeded that asked for this range.
    pub fn succeeded(&mut self, asked: BlockSpan, now: Duration) {
        let Some(range) = self.range.as_mut().filter(|range| !range.named && now < range.until)
        else {
            return;
        };
        if asked.blocks() < range.blocks {
            return;
        }
        range.successes += 1;
        if range.successes >= GROW_AFTER {
            // Rounded up, or one block would stay one block.
            range.blocks = range.blocks.saturating_add(range.blocks.div_ceil(2));
            range.successes = 0;
        }
    }

    /// The most blocks to ask for at once, as far as known.
    #[must_use]
    pub fn max_blocks(&self, now: Duration) -> Option<u64> {
        self.range.filter(|range| now < range.until).map(|range| range.blocks)
    }

    /// The limit of blocks, whether the endpoint named it, and how long it still counts.
    pub(crate) fn limit(&self, now: Duration) -> Option<(u64, bool, Duration)> {
        let range = self.range.filter(|range| now < range.until)?;
        Some((range.blocks, range.named, range.until - now))
    }

    /// A limit that was learned by an earlier process, unless there is one already.
    pub(crate) fn resume(&mut self, blocks: u64, named: bool, left: Duration, now: Duration) {
        if self.max_blocks(now).is_none() && blocks > 0 {
            let until = now.saturating_add(left.min(LIMIT_TTL));
            self.range = Some(Range { blocks, named, until, successes: 0 });
        }
    }

    /// What is known to stand against a call: a method that is not served, a missing address, a range too long.
    #[must_use]
    pub fn against(
        &self,
        asked: Option<BlockSpan>,
        has_address: bool,
        now: Duration,
    ) -> Option<Lack> {
        let counts = |until: Option<Duration>| until.is_some_and(|until| now < until);
        let too_long =
            asked.zip(self.max_blocks(now)).is_some_and(|(asked, max)| asked.blocks() > max);
        if counts(self.unsupported) {
            Some(Lack::Method)
        } else if counts(self.address) && !has_address {
            Some(Lack::Address)
        } else {
            too_long.then_some(Lack::Range)
        }
    }
}

/// How many calls an endpoint takes in one batch. Learned as ranges are: by what it says, or by halving.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BatchLimit(Learned);

impl BatchLimit {
    /// A batch of so many calls was refused for being one, or for its length, of which `most` was named.
    pub(crate) fn refused(&mut self, calls: usize, most: Option<u64>, now: Duration) {
        self.0.refused(Some(Lack::Range), most.map(RangeHint::Max), span(calls), now);
    }

    /// A batch of so many calls was served.
    pub(crate) fn succeeded(&mut self, calls: usize, now: Duration) {
        if let Some(span) = span(calls) {
            self.0.succeeded(span, now);
        }
    }

    /// The most calls to send at once, as far as known.
    pub(crate) fn max(&self, now: Duration) -> Option<usize> {
        self.0.max_blocks(now).map(|max| usize::try_from(max).unwrap_or(usize::MAX))
    }
}

/// As many blocks as there are calls.
fn span(calls: usize) -> Option<BlockSpan> {
    BlockSpan::new(1, calls as u64)
}

fn blocks(offer: RangeHint) -> Option<u64> {
    match offer {
        RangeHint::Blocks { from, to } => BlockSpan::new(from, to).map(BlockSpan::blocks),
        RangeHint::Max(max) => Some(max.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);
    const RANGE: Option<Lack> = Some(Lack::Range);

    fn span(blocks: u64) -> BlockSpan {
        BlockSpan::new(1_000, 1_000 + blocks - 1).unwrap()
    }

    fn after(lack: Option<Lack>, offer: Option<RangeHint>, asked: u64) -> Option<u64> {
        let mut learned = Learned::default();
        learned.refused(lack, offer, Some(span(asked)), NOW);
        learned.max_blocks(NOW)
    }

    #[test]
    fn an_offer_counts_if_it_is_shorter_than_what_was_refused() {
        let max = |max| Some(RangeHint::Max(max));
        assert_eq!(after(RANGE, max(500), 1_000), Some(500));
        assert_eq!(after(RANGE, max(999), 1_000), Some(999));
        assert_eq!(
            after(RANGE, max(1_000), 1_000),
            Some(500),
            "repeating it would be refused again"
        );
        assert_eq!(after(RANGE, max(1_001), 1_000), Some(500));
        assert_eq!(after(RANGE, max(0), 1_000), Some(1));
        // What reth offers: the very blocks that were asked for.
        let same = Some(RangeHint::Blocks { from: 1_000, to: 1_999 });
        assert_eq!(after(RANGE, same, 1_000), Some(500));
        let less = Some(RangeHint::Blocks { from: 1_000, to: 1_098 });
        assert_eq!(after(RANGE, less, 1_000), Some(99));
        assert_eq!(
            after(None, max(5), 10),
            Some(5),
            "a refusal that names no lack is about the range too"
        );
    }

    #[test]
    fn halving_ends_at_one_block() {
        let mut learned = Learned::default();
        let mut asked = 100;
        for want in [50, 25, 12, 6, 3, 1, 1] {
            learned.refused(RANGE, None, Some(span(asked)), NOW);
            assert_eq!(learned.max_blocks(NOW), Some(want));
            asked = want;
        }
    }

    #[test]
    fn a_late_refusal_of_a_longer_call_raises_nothing() {
        let mut learned = Learned::default();
        learned.refused(RANGE, None, Some(span(100)), NOW);
        learned.refused(RANGE, None, Some(span(50)), NOW);
        learned.refused(RANGE, None, Some(span(100)), NOW);
        assert_eq!(learned.max_blocks(NOW), Some(25));
        learned.refused(RANGE, Some(RangeHint::Max(40)), Some(span(100)), NOW);
        assert_eq!(
            learned.max_blocks(NOW),
            Some(40),
            "what the endpoint names goes before a guess"
        );
        learned.refused(RANGE, None, Some(span(1_000)), NOW + LIMIT_TTL);
        assert_eq!(learned.max_blocks(NOW + LIMIT_TTL), Some(500), "a forgotten limit is no limit");
    }

    #[test]
    fn a_guess_grows_by_half_after_full_sized_successes() {
        let mut learned = Learned::default();
        learned.refused(RANGE, None, Some(span(2)), NOW);
        for want in [2, 3, 5, 8, 12] {
            let limit = learned.max_blocks(NOW).unwrap();
            learned.succeeded(span(limit), NOW);
            learned.succeeded(span(limit), NOW);
            assert_eq!(learned.max_blocks(NOW), Some(limit));
            learned.succeeded(span(limit), NOW);
            assert_eq!(learned.max_blocks(NOW), Some(want));
        }
        for _ in 0..10 {
            learned.succeeded(span(11), NOW);
        }
        assert_eq!(learned.max_blocks(NOW), Some(12), "smaller calls prove nothing");
    }

    #[test]
    fn a_named_limit_does_not_grow() {
        let mut learned = Learned::default();
        learned.refused(RANGE, Some(RangeHint::Max(500)), Some(span(1_000)), NOW);
        for _ in 0..10 {
            learned.succeeded(span(500), NOW);
        }
        assert_eq!(learned.max_blocks(NOW), Some(500));
        // What fits into one answer is a matter of those blocks.
        learned.refused(Some(Lack::Answer), Some(RangeHint::Max(100)), Some(span(500)), NOW);
        for _ in 0..GROW_AFTER {
            learned.succeeded(span(100), NOW);
        }
        assert_eq!(learned.max_blocks(NOW), Some(150));
    }

    #[test]
    fn what_was_learned_is_forgotten_in_time() {
        let mut learned = Learned::default();
        learned.refused(RANGE, Some(RangeHint::Max(10)), None, NOW);
        learned.refused(Some(Lack::Method), None, None, NOW);
        learned.refused(Some(Lack::Address), None, None, NOW);
        let second = Duration::from_secs(1);
        let unsupported = NOW + UNSUPPORTED_TTL;
        assert_eq!(learned.against(None, true, unsupported - second), Some(Lack::Method));
        assert_eq!(learned.against(None, true, unsupported), None);
        let forgotten = NOW + LIMIT_TTL;
        assert_eq!(learned.against(None, false, forgotten - second), Some(Lack::Address));
        assert_eq!(learned.against(Some(span(11)), true, forgotten - second), Some(Lack::Range));
        assert_eq!(learned.against(Some(span(10)), true, forgotten - second), None);
        assert_eq!(learned.against(Some(span(11)), false, forgotten), None);
        assert_eq!(learned.max_blocks(forgotten), None);
    }

    #[test]
    fn a_refusal_about_one_request_teaches_nothing() {
        let mut learned = Learned::default();
        for lack in [Lack::Request, Lack::Batch, Lack::Archive] {
            learned.refused(Some(lack), Some(RangeHint::Max(5)), Some(span(10)), NOW);
        }
        learned.refused(RANGE, None, None, NOW);
        assert_eq!(learned, Learned::default());
    }
}
