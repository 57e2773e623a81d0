//! What a breaker tells the world, in the order in which it happened.
//!
//! Events wait in two rings until their owner takes them. A storm of failed calls fills the ring of calls and cannot
//! push out a transition. There is no callback: whoever handles an event may call the breaker, since no lock is held.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Tick;
use crate::outcome::{Category, Outcome};
use crate::state::{Cause, Mode, Rejected, State};

/// Something that happened to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// Its number in the breaker's history, from 1, without gaps except those counted in [`Dropped`].
    pub seq: u64,
    /// When it took effect. A lost probe opens the breaker at the end of its lease, whenever that is noticed.
    pub at: Tick,
    /// The era it belongs to; for a transition, the one it began.
    pub generation: u64,
    /// Whether the breaker only watches ([`Mode::Shadow`]).
    pub shadow: bool,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum EventKind {
    /// It opened, or an open one got a later deadline (`from` is open then).
    Opened {
        /// The state before.
        from: State,
        /// Why.
        cause: Cause,
        /// The failure that did it, where one did.
        category: Option<Category>,
        /// Failures in the era that ended.
        failures: u32,
        /// Opens since it was last closed, this one included.
        opens: u32,
        /// How long it stays open, jitter included.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration"))]
        delay: Duration,
        /// The random part: added, or below the cap where it would stick out above it.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration"))]
        jitter: Duration,
        /// The hint of the failure that opened it, as it was given.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration::optional"))]
        hint: Option<Duration>,
        /// From when on a probe is let through.
        deadline: Tick,
    },
    /// It lets probes through.
    HalfOpened {
        /// Why.
        cause: Cause,
        /// Opens since it was last closed.
        opens: u32,
    },
    /// It closed; or a closed one was reset, which makes calls in flight stale.
    Closed {
        /// Why.
        cause: Cause,
        /// Opens since it was last closed, before they were forgotten.
        opens: u32,
    },
    /// Its mode changed. Forced-open reads as open from here, disabled as closed.
    Mode {
        /// The mode before.
        from: Mode,
        /// The mode now.
        to: Mode,
    },
    /// A failure was counted.
    Failure {
        /// Its kind.
        category: Category,
        /// The state it was counted in.
        state: State,
        /// How long the other side asked to be left alone.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration::optional"))]
        hint: Option<Duration>,
    },
    /// The failure just before it was a timeout: the caller's, or a dropped permit.
    Timeout {
        /// How long the call took, where the clock was read at its start: probes, and all calls with `slow_call`.
        #[cfg_attr(feature = "serde", serde(with = "crate::duration::optional"))]
        elapsed: Option<Duration>,
    },
    /// A result came from an earlier era and changed nothing.
    Stale {
        /// What it said; none for a cancelled or dropped permit.
        outcome: Option<StaleOutcome>,
        /// The era it belonged to.
        from_generation: u64,
    },
    /// A call was let through. Only with `call_events`.
    Admit {
        /// The state it was judged in.
        state: State,
        /// Whether it is a probe.
        probe: bool,
    },
    /// A call was turned away, or would have been ([`Mode::Shadow`]). Only with `call_events`.
    Reject {
        /// The reason, with the time after which it may be gone.
        reason: Rejected,
    },
}

impl EventKind {
    /// Whether it is kept in the ring that calls cannot fill.
    #[must_use]
    pub const fn is_transition(&self) -> bool {
        matches!(
            self,
            Self::Opened { .. } | Self::HalfOpened { .. } | Self::Closed { .. } | Self::Mode { .. }
        )
    }
}

/// What a stale result said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum StaleOutcome {
    /// See [`Outcome::Success`].
    Success,
    /// See [`Outcome::Answered`].
    Answered,
    /// See [`Outcome::Neutral`].
    Neutral,
    /// See [`Outcome::Failure`].
    Failure(Category),
}

impl From<Outcome> for StaleOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::Answered => Self::Answered,
            Outcome::Neutral => Self::Neutral,
            Outcome::Failure(failure) => Self::Failure(failure.category),
        }
    }
}

/// How many events a full ring has lost since the last drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Of transitions and modes.
    pub transitions: u64,
    /// Of all others.
    pub calls: u64,
}

/// Where events go.
pub(crate) trait Sink {
    fn tell(&mut self, event: Event);
}

/// The two rings with their one counter.
#[derive(Debug)]
pub(crate) struct Journal {
    transitions: VecDeque<Event>,
    calls: VecDeque<Event>,
    capacity: usize,
    seq: u64,
    dropped: Dropped,
}

impl Journal {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            transitions: VecDeque::with_capacity(capacity),
            calls: VecDeque::with_capacity(capacity),
            capacity,
            seq: 0,
            dropped: Dropped::default(),
        }
    }

    fn push(&mut self, mut event: Event) {
        self.seq += 1;
        event.seq = self.seq;
        let (ring, dropped) = if event.kind.is_transition() {
            (&mut self.transitions, &mut self.dropped.transitions)
        } else {
            (&mut self.calls, &mut self.dropped.calls)
        };
        if ring.len() == self.capacity {
            ring.pop_front();
            *dropped += 1;
        }
        ring.push_back(event);
    }

    pub(crate) fn len(&self) -> usize {
        self.transitions.len() + self.calls.len()
    }

    /// Moves all events to `out`, in order.
    pub(crate) fn drain(&mut self, out: &mut Vec<Event>) -> Dropped {
        while let Some(event) = self.pop() {
            out.push(event);
        }
        std::mem::take(&mut self.dropped)
    }

    fn pop(&mut self) -> Option<Event> {
        match (self.transitions.front(), self.calls.front()) {
            (Some(transition), Some(call)) if call.seq < transition.seq => self.calls.pop_front(),
            (Some(_), _) => self.transitions.pop_front(),
            (None, _) => self.calls.pop_front(),
        }
    }
}

impl Sink for Journal {
    fn tell(&mut self, event: Event) {
        self.push(event);
    }
}
