//! A breaker with a clock on a string.

use std::sync::Arc;
use std::time::Duration;

use fusebox_breaker::{
    Breaker, Category, Config, Event, EventKind, ManualClock, Outcome, OwnedPermit, Rejected,
    State, Tick,
};

/// Round numbers, without chance: 5 trip, 2 close, one probe at a time, 60 s doubling up to 600 s.
pub(crate) fn plain() -> Config {
    Config { jitter_percent: 0, ..Config::default() }
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn at(seconds: u64) -> Tick {
    Tick::from_nanos(seconds * 1_000_000_000)
}

pub(crate) const GENERIC: Outcome = Outcome::failure(Category::GENERIC);

pub(crate) struct Rig {
    pub(crate) breaker: Arc<Breaker<ManualClock>>,
    pub(crate) clock: ManualClock,
}

impl Rig {
    pub(crate) fn new(cfg: Config) -> Self {
        let clock = ManualClock::new();
        let breaker = Breaker::new(cfg, clock.clone()).expect("the test's rules are valid");
        Self { breaker: Arc::new(breaker), clock }
    }

    pub(crate) fn plain() -> Self {
        Self::new(plain())
    }

    /// Opened by its fifth failure, at 0 s; due at 60 s.
    pub(crate) fn open() -> Self {
        let rig = Self::plain();
        rig.fail(5);
        assert_eq!(rig.stored(), State::Open);
        rig
    }

    /// At 60 s, half-open, no slot taken.
    pub(crate) fn half_open() -> Self {
        let rig = Self::open();
        rig.to(60);
        assert_eq!(rig.breaker.poll(), State::HalfOpen);
        rig
    }

    pub(crate) fn to(&self, seconds: u64) {
        self.clock.set(at(seconds));
    }

    pub(crate) fn ask(&self) -> Result<OwnedPermit<ManualClock>, Rejected> {
        self.breaker.try_acquire_owned()
    }

    pub(crate) fn permit(&self) -> OwnedPermit<ManualClock> {
        self.ask().expect("admitted")
    }

    pub(crate) fn rejection(&self) -> Rejected {
        self.ask().expect_err("rejected")
    }

    pub(crate) fn does(&self, outcome: Outcome) {
        self.permit().settle(outcome);
    }

    pub(crate) fn fail(&self, times: usize) {
        for _ in 0..times {
            self.does(GENERIC);
        }
    }

    pub(crate) fn succeed(&self, times: usize) {
        for _ in 0..times {
            self.does(Outcome::Success);
        }
    }

    pub(crate) fn stored(&self) -> State {
        self.breaker.view().stored
    }

    /// The deadline in nanoseconds of an open breaker.
    pub(crate) fn deadline(&self) -> Tick {
        self.breaker.view().deadline.expect("open")
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let lost = self.breaker.drain(&mut events);
        assert_eq!((lost.transitions, lost.calls), (0, 0));
        events
    }

    pub(crate) fn kinds(&self) -> Vec<EventKind> {
        self.events().into_iter().map(|event| event.kind).collect()
    }
}
