//! The state of one breaker as the fold of its events. Pure.

use super::fact::FactId;
use crate::watch::{Block, Kind};
use fusebox_bindings::{Config, NEVER, State, Word};
use serde::{Deserialize, Serialize};

/// What events told of a breaker, up to some block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folded {
    pub(crate) status: Status,
    /// The block of the event that led to this status: number and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<(u64, u64)>,
    /// Failures that trip it, where a configuration told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) threshold: Option<u16>,
}

/// Closed or open. Half-open is open and the passing of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// No event has told.
    #[default]
    Unknown,
    Closed,
    Open {
        /// Unix seconds; [`NEVER`] and above: not by itself.
        retry_at: u64,
        /// Where the event told.
        cause: Option<u8>,
        opened: FactId,
        /// How often that event has entered the chain.
        entries: u64,
    },
}

impl Folded {
    /// The state after one more event.
    pub(crate) fn apply(&mut self, id: FactId, entries: u64, block: Block, kind: &Kind) {
        let since = Some((block.number, block.time));
        match *kind {
            Kind::Opened { retry_at, cause } => {
                // An open one that gets a later deadline has been open all the time.
                if !matches!(self.status, Status::Open { .. }) {
                    self.since = since;
                }
                self.status = Status::Open {
                    retry_at,
                    cause: cause.map(|cause| cause.0),
                    opened: id,
                    entries,
                };
            }
            Kind::Closed => {
                if self.status != Status::Closed {
                    self.since = since;
                }
                self.status = Status::Closed;
            }
            Kind::Configured(Config { failure_threshold, .. }) => {
                self.threshold = Some(failure_threshold);
            }
        }
    }

    /// When it becomes half-open, where it will by itself.
    pub(crate) fn due(&self) -> Option<u64> {
        match self.status {
            Status::Open { retry_at, .. } if retry_at < NEVER => Some(retry_at),
            _ => None,
        }
    }

    /// By the chain's clock.
    pub(crate) fn state(&self, now: u64) -> Option<State> {
        match self.status {
            Status::Unknown => None,
            Status::Closed => Some(State::Closed),
            Status::Open { .. } if self.due().is_some_and(|due| due <= now) => {
                Some(State::HalfOpen)
            }
            Status::Open { .. } => Some(State::Open),
        }
    }

    /// In words, how storage at the same block contradicts this; `None` where it does not.
    pub(crate) fn contradiction(&self, word: Word) -> Option<String> {
        let told = match self.status {
            Status::Unknown => return None,
            Status::Closed => (State::Closed, 0),
            Status::Open { retry_at, .. } => (State::Open, retry_at.min(NEVER)),
        };
        let Ok(stored) = word.state(0) else {
            return Some(format!("its events say {}, its storage holds no breaker", told.0));
        };
        if stored == State::Closed && told.0 == State::Closed {
            return None;
        }
        // At time 0 what is open is not half-open, unless its deadline is 0.
        let stored = (if stored == State::Closed { stored } else { State::Open }, word.retry_at());
        (stored != told).then(|| {
            let say = |(state, retry_at)| match state {
                State::Closed => "closed".to_owned(),
                _ if retry_at >= NEVER => "open until reset".to_owned(),
                _ => format!("open with retry at {retry_at}"),
            };
            format!("its events say {}, its storage says {}", say(told), say(stored))
        })
    }
}

/// The column of a state.
pub(crate) fn column(state: Option<State>) -> &'static str {
    match state {
        None => "unknown",
        Some(State::Closed) => "closed",
        Some(State::HalfOpen) => "half-open",
        Some(_) => "open",
    }
}

impl FactId {
    pub(crate) fn show(&self, chain: u64) -> String {
        format!("{chain}:{}:{}", self.block, self.log_index)
    }
}

/// Used where an event's hash is not needed.
#[cfg(test)]
pub(crate) const NOWHERE: FactId = FactId { block: alloy::primitives::B256::ZERO, log_index: 0 };

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::U256;
    use fusebox_bindings::Cause;

    const BLOCK: Block = Block { number: 7, hash: alloy::primitives::B256::ZERO, time: 70 };

    fn folded(kinds: &[Kind]) -> Folded {
        let mut folded = Folded::default();
        kinds.iter().for_each(|kind| folded.apply(NOWHERE, 1, BLOCK, kind));
        folded
    }

    fn opened(retry_at: u64) -> Kind {
        Kind::Opened { retry_at, cause: Some(Cause(1)) }
    }

    #[test]
    fn half_open_comes_with_the_deadline_and_not_a_second_before() {
        let open = folded(&[opened(100)]);
        assert_eq!(open.state(99), Some(State::Open));
        assert_eq!(open.state(100), Some(State::HalfOpen), "equality counts");
        assert_eq!(open.state(101), Some(State::HalfOpen));
        for never in [NEVER, NEVER + 1, u64::MAX] {
            assert_eq!(folded(&[opened(never)]).state(u64::MAX), Some(State::Open), "{never}");
        }
        assert_eq!(folded(&[opened(NEVER - 1)]).state(NEVER - 1), Some(State::HalfOpen));
    }

    #[test]
    fn the_last_event_decides() {
        assert_eq!(folded(&[]).state(0), None);
        assert_eq!(folded(&[opened(100), Kind::Closed]).state(500), Some(State::Closed));
        assert_eq!(folded(&[Kind::Closed, opened(100)]).due(), Some(100));
        assert_eq!(folded(&[opened(100), opened(300)]).due(), Some(300), "a later deadline");
    }

    #[test]
    fn storage_is_compared_with_what_events_told() {
        let word = |status: u64, retry_at: u64| {
            Word(U256::from(status) | (U256::from(3) << 24) | (U256::from(retry_at) << 72))
        };
        let closed = folded(&[Kind::Closed]);
        let open = folded(&[opened(100)]);
        assert_eq!(word(1, 100).retry_at(), 100);
        assert_eq!(closed.contradiction(word(0, 0)), None);
        assert_eq!(open.contradiction(word(1, 100)), None);
        assert_eq!(folded(&[opened(u64::MAX)]).contradiction(word(1, NEVER)), None, "saturated");
        assert_eq!(folded(&[]).contradiction(word(1, 5)), None, "nothing was told");
        for (told, stored) in [
            (closed, word(1, 100)),
            (open, word(0, 0)),
            (open, word(1, 99)),
            (open, word(1, 101)),
            (open, Word::default()),
            (closed, Word::default()),
        ] {
            assert!(told.contradiction(stored).is_some(), "{told:?} {stored:?}");
        }
    }
}
