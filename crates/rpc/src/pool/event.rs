//! What a pool tells its operator.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use fusebox_breaker::Event;

use super::error::Name;
use super::metrics::Metrics;
use super::servers::lock;
use crate::endpoint::{BreakerKey, Transport};
use crate::method::MethodClass;

/// How many events wait for their owner. A drain a minute keeps up with twenty a second; of more, the oldest go.
const CAPACITY: usize = 1_024;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PoolEvent {
    /// To a breaker.
    Breaker {
        /// Whose it is, by this pool's name for it.
        provider: Name,
        /// Over what.
        transport: Transport,
        /// What it judges; `None` where one breaker judges all.
        class: Option<MethodClass>,
        /// What happened to it.
        event: Event,
    },
    /// An endpoint's quota is used up. It is parked; somebody has to pay, or wait.
    QuotaExhausted {
        /// Whose.
        provider: Name,
        /// How long it is parked for.
        wait: Duration,
        /// The rule that said so.
        reason: String,
    },
    /// An endpoint refuses our credentials. Somebody has to renew them.
    AuthRefused {
        /// Whose.
        provider: Name,
        /// The rule that said so.
        reason: String,
    },
    /// An endpoint serves another chain. It is forced open.
    WrongChain {
        /// Whose.
        provider: Name,
        /// What it says it serves, shortened.
        found: String,
        /// What it should.
        expected: String,
    },
    /// Every endpoint is open for calls of this class.
    AllOpenEntered {
        /// The class.
        class: MethodClass,
    },
    /// Calls of this class are served again.
    AllOpenLeft {
        /// The class.
        class: MethodClass,
    },
    /// An error that no rule knows; a rule for it is worth writing.
    UnknownPayload {
        /// Who sent it.
        provider: Name,
        /// What was asked.
        method: String,
        /// The error, scrubbed of secrets and cut.
        payload: String,
    },
    /// Events were lost before this one, because nobody drained in time.
    Lost {
        /// How many.
        count: u64,
    },
}

/// Events on their way to one pool's owner, and what is counted of them whether or not they are fetched.
#[derive(Debug)]
pub(crate) struct EventQueue {
    waiting: Mutex<Waiting>,
    metrics: Metrics,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<PoolEvent>,
    lost: u64,
}

impl EventQueue {
    /// None yet, of a pool of this chain.
    pub(crate) fn new(chain: u64) -> Self {
        Self { waiting: Mutex::default(), metrics: Metrics::new(chain) }
    }

    pub(crate) fn push(&self, event: PoolEvent) {
        let is_full = {
            let mut waiting = lock(&self.waiting);
            let is_full = waiting.events.len() == CAPACITY;
            if is_full {
                waiting.events.pop_front();
                waiting.lost += 1;
            }
            waiting.events.push_back(event);
            is_full
        };
        if is_full {
            self.metrics.events_dropped(1);
        }
    }

    /// Counts what happened to a breaker, and keeps it for the owner.
    pub(crate) fn breaker(&self, provider: &str, key: &BreakerKey, event: Event) {
        self.metrics.breaker(provider, key, &event.kind);
        let (transport, class) = (key.transport, key.class);
        self.push(PoolEvent::Breaker { provider: provider.into(), transport, class, event });
    }

    /// Counts events that were lost on the way here.
    pub(crate) fn lost(&self, count: u64) {
        lock(&self.waiting).lost += count;
        self.metrics.events_dropped(count);
    }

    /// All that wait, oldest first, and how many were lost.
    pub(crate) fn take(&self) -> (Vec<PoolEvent>, u64) {
        let mut waiting = lock(&self.waiting);
        (waiting.events.drain(..).collect(), std::mem::take(&mut waiting.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_its_oldest_and_counts_them() {
        let queue = EventQueue::new(1);
        for _ in 0..CAPACITY {
            queue.push(PoolEvent::AllOpenEntered { class: MethodClass::Head });
        }
        queue.push(PoolEvent::AllOpenLeft { class: MethodClass::Head });
        let (events, lost) = queue.take();
        assert_eq!((events.len(), lost), (CAPACITY, 1));
        assert_eq!(events[CAPACITY - 1], PoolEvent::AllOpenLeft { class: MethodClass::Head });
        assert_eq!(queue.take(), (vec![], 0));
    }
}
