//! From facts to notices: the state of each breaker is the fold of what was told, and half-open is time passing.
//!
//! Pure: no clock but the chain's, no I/O. The moment a breaker becomes half-open is the first block whose timestamp
//! reaches its deadline, so it is announced by that block, once for each opening.

use super::FactId;
use crate::{
    target::Key,
    watch::{Block, Event, Fact, Kind, Undecodable},
};
use alloy::primitives::{Address, B256};
use fusebox_bindings::{Cause, Config, NEVER, State, Word};
use std::collections::BTreeMap;

/// The state of all breakers of one chain, as far as they are known.
#[derive(Debug)]
pub(crate) struct Fold {
    chain: u64,
    breakers: BTreeMap<Key, Vec<Known>>,
    /// The newest block that a fact was from.
    seen: Option<u64>,
}

/// The state after an event. The last of a breaker is the present one, those before are what a reorg goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Closed,
    Open { retry_at: u64, half_open: bool, opened: Option<FactId> },
}

/// Something a person or a program wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) key: Key,
    pub(crate) block: Block,
    /// The log behind it; of a half-open breaker, the one that opened it.
    pub(crate) fact: Option<FactId>,
    pub(crate) transaction: Option<B256>,
    /// The block of the event has left the chain.
    pub(crate) retracted: bool,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Opened {
        retry_at: u64,
        cause: Cause,
    },
    /// In the notice's block, or in one before it and after block `after`: history is not read block by block.
    HalfOpen {
        retry_at: u64,
        after: Option<u64>,
    },
    Closed,
    Configured(Config),
}

/// States that one breaker can go back to. A reorg takes back blocks, and few blocks hold this many events of a breaker.
const HISTORY: usize = 1_024;

impl Fold {
    pub(crate) fn new(chain: u64) -> Self {
        Self { chain, breakers: BTreeMap::new(), seen: None }
    }

    /// What is to be told after this fact, in order.
    pub(crate) fn apply(&mut self, fact: &Fact) -> Vec<Notice> {
        match fact {
            Fact::Event(event) => {
                // Events of a later block pass the deadlines before it: history comes without its blocks.
                let mut notices = self.half_open(event.block);
                notices.push(self.event(event));
                notices
            }
            Fact::Retracted(event) => vec![self.retract(event)],
            Fact::Block { block, .. } => self.half_open(*block),
            Fact::Undecodable(_) | Fact::Unreachable { .. } | Fact::Reachable { .. } => Vec::new(),
        }
    }

    fn event(&mut self, event: &Event) -> Notice {
        let notice = self.notice(event, false);
        let known = match event.kind {
            Kind::Opened { retry_at, .. } => {
                Known::Open { retry_at, half_open: false, opened: notice.fact }
            }
            Kind::Closed => Known::Closed,
            Kind::Configured(_) => return notice,
        };
        let history = self.breakers.entry(notice.key).or_default();
        history.push(known);
        if history.len() > HISTORY {
            history.remove(0);
        }
        notice
    }

    fn retract(&mut self, event: &Event) -> Notice {
        let notice = self.notice(event, true);
        if !matches!(event.kind, Kind::Configured(_))
            && let Some(history) = self.breakers.get_mut(&notice.key)
        {
            history.pop();
            if history.is_empty() {
                self.breakers.remove(&notice.key);
            }
        }
        notice
    }

    /// The breakers whose deadline this block has reached.
    fn half_open(&mut self, block: Block) -> Vec<Notice> {
        let after = self.seen.replace(block.number);
        let mut notices = Vec::new();
        for (key, history) in &mut self.breakers {
            let Some(Known::Open { retry_at, half_open, opened }) = history.last_mut() else {
                continue;
            };
            if !*half_open && *retry_at < NEVER && *retry_at <= block.time {
                *half_open = true;
                notices.push(Notice {
                    key: *key,
                    block,
                    fact: *opened,
                    transaction: None,
                    retracted: false,
                    what: What::HalfOpen { retry_at: *retry_at, after },
                });
            }
        }
        notices.sort_by_key(|notice| match notice.what {
            What::HalfOpen { retry_at, .. } => retry_at,
            _ => 0,
        });
        notices
    }

    /// What storage says of a breaker at a block, where no event has told its state. True when the events told another.
    pub(crate) fn read_back(&mut self, key: Key, word: Word, block: Block) -> bool {
        let Ok(state) = word.state(block.time) else { return false };
        let stored = match state {
            State::Closed => Known::Closed,
            State::Open | State::HalfOpen => Known::Open {
                retry_at: word.retry_at(),
                half_open: state == State::HalfOpen,
                opened: None,
            },
        };
        match self.breakers.get(&key).and_then(|history| history.last()) {
            Some(told) => told.deadline() != stored.deadline(),
            None => {
                self.breakers.insert(key, vec![stored]);
                false
            }
        }
    }

    fn notice(&self, event: &Event, retracted: bool) -> Notice {
        Notice {
            key: self.key(event.contract, event.breaker),
            block: event.block,
            fact: Some(FactId { block: event.block.hash, log_index: event.log_index }),
            transaction: event.transaction,
            retracted,
            what: match event.kind {
                Kind::Opened { retry_at, cause } => What::Opened { retry_at, cause },
                Kind::Closed => What::Closed,
                Kind::Configured(config) => What::Configured(config),
            },
        }
    }

    fn key(&self, contract: Address, breaker: B256) -> Key {
        Key { chain: self.chain, contract, breaker }
    }
}

impl Known {
    fn deadline(&self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Open { retry_at, .. } => Some(*retry_at),
        }
    }
}

impl Undecodable {
    pub(crate) fn fact(&self) -> FactId {
        FactId { block: self.block.hash, log_index: self.log_index }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: u64 = 1;

    fn block(time: u64) -> Block {
        Block {
            number: time / 10,
            hash: B256::with_last_byte(u8::try_from(time / 10).unwrap()),
            time,
        }
    }

    fn event(time: u64, breaker: u8, kind: Kind) -> Event {
        Event {
            block: block(time),
            transaction: None,
            log_index: 0,
            contract: Address::ZERO,
            breaker: B256::with_last_byte(breaker),
            kind,
        }
    }

    fn opened(retry_at: u64) -> Kind {
        Kind::Opened { retry_at, cause: Cause(1) }
    }

    fn tick(fold: &mut Fold, time: u64) -> Vec<What> {
        whats(fold.apply(&Fact::Block { block: block(time), tip: true }))
    }

    /// Without `after`, which has a test of its own.
    fn whats(notices: Vec<Notice>) -> Vec<What> {
        let what = |notice: Notice| match notice.what {
            What::HalfOpen { retry_at, .. } => half_open(retry_at),
            what => what,
        };
        notices.into_iter().map(what).collect()
    }

    fn half_open(retry_at: u64) -> What {
        What::HalfOpen { retry_at, after: None }
    }

    #[test]
    fn half_open_is_told_by_the_first_block_that_reaches_the_deadline_and_once() {
        let mut fold = Fold::new(CHAIN);
        fold.apply(&Fact::Event(event(20, 0, opened(120))));
        assert_eq!(tick(&mut fold, 119), []);
        assert_eq!(tick(&mut fold, 120), [half_open(120)]);
        assert_eq!(tick(&mut fold, 121), []);
    }

    #[test]
    fn half_open_says_after_which_block_it_may_have_been() {
        let mut fold = Fold::new(CHAIN);
        fold.apply(&Fact::Event(event(20, 0, opened(120))));
        let notices = fold.apply(&Fact::Event(event(200, 1, opened(300))));
        assert_eq!(notices[0].what, What::HalfOpen { retry_at: 120, after: Some(2) });
        assert_eq!(notices[0].block.number, 20);
    }

    #[test]
    fn a_closed_or_latched_breaker_never_becomes_half_open() {
        let mut fold = Fold::new(CHAIN);
        fold.apply(&Fact::Event(event(20, 0, opened(120))));
        fold.apply(&Fact::Event(event(30, 0, Kind::Closed)));
        fold.apply(&Fact::Event(event(30, 1, opened(NEVER))));
        fold.apply(&Fact::Event(event(30, 2, opened(u64::MAX))));
        assert_eq!(tick(&mut fold, 2_000), []);
    }

    #[test]
    fn deadlines_between_two_events_of_history_are_told_before_the_later_one() {
        let mut fold = Fold::new(CHAIN);
        fold.apply(&Fact::Event(event(20, 0, opened(120))));
        fold.apply(&Fact::Event(event(20, 1, opened(110))));
        let notices = fold.apply(&Fact::Event(event(200, 0, opened(300))));
        assert_eq!(
            whats(notices),
            [half_open(110), half_open(120), What::Opened { retry_at: 300, cause: Cause(1) },]
        );
    }

    #[test]
    fn a_retracted_event_brings_back_the_state_before_it() {
        let mut fold = Fold::new(CHAIN);
        fold.apply(&Fact::Event(event(20, 0, opened(120))));
        assert_eq!(tick(&mut fold, 130).len(), 1);
        let close = event(130, 0, Kind::Closed);
        fold.apply(&Fact::Event(close.clone()));
        let [notice] = &fold.apply(&Fact::Retracted(close))[..] else { panic!("one notice") };
        assert!(notice.retracted);
        assert_eq!(tick(&mut fold, 140), [], "half-open was told before, and holds again");

        let open = event(20, 0, opened(120));
        fold.apply(&Fact::Retracted(open));
        assert_eq!(tick(&mut fold, 150), [], "it never opened");
    }

    #[test]
    fn storage_fills_in_what_no_event_told_and_contradicts_what_one_did() {
        let key = |breaker| Key {
            chain: CHAIN,
            contract: Address::ZERO,
            breaker: B256::with_last_byte(breaker),
        };
        let closed = Word::build(Config::simple(3, 100)).unwrap();
        let open = {
            let trip = fusebox_bindings::Event::Trip { until: 0 };
            fusebox_bindings::step(closed, trip, 20).unwrap().0
        };
        let mut fold = Fold::new(CHAIN);
        assert!(!fold.read_back(key(0), open, block(30)));
        assert_eq!(tick(&mut fold, 120), [half_open(120)]);

        assert!(!fold.read_back(key(1), open, block(120)), "half-open already: not news");
        assert_eq!(tick(&mut fold, 130), []);

        fold.apply(&Fact::Event(event(20, 2, opened(120))));
        assert!(!fold.read_back(key(2), open, block(30)));
        assert!(fold.read_back(key(2), closed, block(30)));
    }
}
