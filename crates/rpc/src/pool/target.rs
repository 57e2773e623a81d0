//! One endpoint of a pool: a name, a server, and the breakers that judge it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fusebox_breaker::{Category as Kind, Cause, Mode, State, Tick};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::error::Name;
use super::line::Line;
use super::servers::{Identity, ServerBreaker, ServerState, lock};
use super::time::since_origin;
use crate::endpoint::{Endpoint, Transport};
use crate::method::MethodClass;
use crate::pace::Pace;

/// An endpoint as one pool knows it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: Name,
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: HeaderMap,
    pub(crate) weight: u32,
    pub(crate) state: Arc<ServerState>,
    /// In the order of [`MethodClass::ALL`]; one breaker six times where the scope is the endpoint.
    pub(crate) breakers: [Arc<ServerBreaker>; 6],
    pub(crate) pace: Option<Mutex<Pace>>,
    /// Its connection, if it is a WebSocket.
    pub(crate) line: Option<Line>,
    /// The generations of its breakers when their events were last brought to metrics.
    pub(crate) seen: [AtomicU64; 6],
    /// Its provider has an HTTP endpoint, which goes first.
    pub(crate) is_spare: bool,
    /// When each class last got a call that was meant to bring it back.
    pub(crate) rescued: Mutex<[Option<Tick>; 6]>,
}

/// How an endpoint stands for one class of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Closed,
    /// With a free slot.
    HalfOpen,
    /// Until this moment.
    Open(Tick),
    /// All probes taken.
    Busy,
    /// An operator holds it, or it serves another chain.
    Forced,
}

impl Standing {
    pub(crate) fn is_usable(self) -> bool {
        matches!(self, Self::Closed | Self::HalfOpen)
    }
}

pub(crate) fn place(class: MethodClass) -> usize {
    MethodClass::ALL.iter().position(|other| *other == class).unwrap_or_default()
}

impl Target {
    pub(crate) fn breaker(&self, class: MethodClass) -> &Arc<ServerBreaker> {
        &self.breakers[place(class)]
    }

    pub(crate) fn transport(&self) -> Transport {
        self.endpoint.transport()
    }

    pub(crate) fn host(&self) -> &str {
        self.endpoint.instance().host()
    }

    pub(crate) fn head(&self) -> Option<u64> {
        self.state.known().head
    }

    /// How it stands for calls of `class`. Before its chain is known, the check has to pass first, so the worse of the
    /// two counts.
    pub(crate) fn standing(&self, class: MethodClass) -> Standing {
        let identity = self.state.known().identity;
        match (identity, standing(self.breaker(class))) {
            (Identity::Wrong, _) => Standing::Forced,
            (Identity::Unknown, standing) if standing.is_usable() => {
                match self::standing(self.breaker(MethodClass::Head)) {
                    Standing::Closed => standing,
                    worse => worse,
                }
            }
            (_, standing) => standing,
        }
    }

    /// How long it asks to be left alone, or our own rate bound does, or the pause before a reconnect.
    pub(crate) fn wait(&self, now: Tick) -> Duration {
        let pause = self.pause(now);
        let now = since_origin(now);
        let paced = self.pace.as_ref().and_then(|pace| {
            // On a copy: looking takes nothing.
            let mut pace = *lock(pace);
            pace.take(now).err()
        });
        self.state.known().throttle.wait(now).max(paced.unwrap_or_default()).max(pause)
    }

    fn pause(&self, now: Tick) -> Duration {
        self.line.as_ref().map_or(Duration::ZERO, |line| line.pause(now))
    }

    /// Takes the right to send one call now.
    pub(crate) fn take_pace(&self, now: Tick) -> bool {
        self.pause(now).is_zero()
            && self.state.known().throttle.wait(since_origin(now)).is_zero()
            && self.pace.as_ref().is_none_or(|pace| lock(pace).take(since_origin(now)).is_ok())
    }

    /// When a class opens because the host is gone or refuses us, it is gone for all classes: they open until the same
    /// deadline. `era` is the generation in which the failing call was admitted.
    pub(crate) fn trip_siblings(&self, class: MethodClass, kind: Kind, era: u64) {
        if kind != Kind::NETWORK && kind != Kind::AUTH {
            return;
        }
        let mine = self.breaker(class);
        let view = mine.view();
        let by_this = view.generation > era
            && matches!(
                view.cause,
                Some(
                    Cause::Category(_)
                        | Cause::ProbeFailed(_)
                        | Cause::Total
                        | Cause::TimeRate
                        | Cause::CountRate
                )
            );
        let Some(deadline) = view.deadline.filter(|_| view.state == State::Open && by_this) else {
            return;
        };
        for sibling in self.breakers.iter().filter(|sibling| !Arc::ptr_eq(sibling, mine)) {
            if sibling.view().deadline.is_none_or(|other| other < deadline) {
                sibling.trip(Some(deadline), Cause::Sibling);
            }
        }
    }

    /// Whether the breaker has moved since this was last asked. Breakers start in generation 0.
    pub(crate) fn has_moved(&self, class: MethodClass) -> bool {
        let generation = self.breaker(class).view().generation;
        self.seen[place(class)].swap(generation, Ordering::Relaxed) != generation
    }

    /// Takes it out for good: it serves another chain.
    pub(crate) fn force_open(&self) {
        self.state.known().identity = Identity::Wrong;
        self.breakers.iter().for_each(|breaker| breaker.set_mode(Mode::ForcedOpen));
    }
}

fn standing(breaker: &ServerBreaker) -> Standing {
    match (breaker.mode(), breaker.state()) {
        (Mode::ForcedOpen, _) => Standing::Forced,
        // They admit whatever their state.
        (Mode::Disabled | Mode::Shadow, _) | (Mode::Normal, State::Closed) => Standing::Closed,
        (Mode::Normal, _) => {
            let view = breaker.view();
            match view.state {
                State::Closed => Standing::Closed,
                State::Open => Standing::Open(view.deadline.unwrap_or(Tick::MAX)),
                State::HalfOpen if view.free_slots > 0 => Standing::HalfOpen,
                State::HalfOpen => Standing::Busy,
            }
        }
    }
}

/// The configured headers as HTTP wants them, marked so that nothing prints their values. `None` if one is none.
pub(crate) fn header_map(endpoint: &Endpoint) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in endpoint.headers() {
        let mut value = HeaderValue::from_str(value.expose()).ok()?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
    }
    Some(headers)
}
