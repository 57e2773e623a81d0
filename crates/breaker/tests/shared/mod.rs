//! Breakers to race on, and what to ask of them afterwards.

mod history;

use std::sync::Arc;
use std::time::Duration;

use fusebox_breaker::{
    Breaker, Category, Cause, Config, CountWindow, Event, EventKind, ManualClock, Outcome,
    Rejected, Tick, View,
};
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;

use self::history::check_history;

pub(crate) const FAILED: Outcome = Outcome::failure(Category::SERVER);

pub(crate) const fn at(seconds: u64) -> Tick {
    Tick::from_nanos(seconds * 1_000_000_000)
}

pub(crate) type Shared = Arc<Breaker<ManualClock>>;

pub(crate) fn rules() -> Config {
    Config { jitter_percent: 0, event_capacity: 16, ..Config::default() }
}

/// A breaker at the origin.
pub(crate) fn breaker(cfg: Config) -> Shared {
    Arc::new(Breaker::new(cfg, ManualClock::new()).expect("valid rules"))
}

pub(crate) fn trips_at(failure_threshold: u16) -> Shared {
    breaker(Config { failure_threshold, ..rules() })
}

/// At 60 s, where a first open ends.
pub(crate) fn due(cfg: Config) -> Shared {
    let breaker = breaker(cfg);
    breaker.trip(None, Cause::Manual);
    breaker.clock().set(at(60));
    breaker
}

pub(crate) fn spawn<T: Send + 'static>(
    breaker: &Shared,
    f: impl FnOnce(Shared) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let breaker = Arc::clone(breaker);
    thread::spawn(move || f(breaker))
}

/// All that happened, which is one legal history and leads to where the breaker stands.
pub(crate) fn events(breaker: &Shared) -> Vec<Event> {
    let mut events = Vec::new();
    breaker.drain(&mut events);
    let View { stored, generation, .. } = breaker.view();
    assert_eq!(check_history(&events).unwrap(), (stored, generation));
    events
}

pub(crate) fn count(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> usize {
    events.iter().filter(|event| wanted(&event.kind)).count()
}

pub(crate) fn opened(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Opened { .. })
}

pub(crate) fn half_opened(kind: &EventKind) -> bool {
    matches!(kind, EventKind::HalfOpened { .. })
}

pub(crate) fn stale(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Stale { .. })
}

/// A rate over more calls than a model makes.
pub(crate) fn windowed(failure_percent: u8, min_calls: u32) -> Config {
    let window = CountWindow { size: 16, min_calls, failure_percent, slow_percent: None };
    Config { failure_threshold: 0, count_window: Some(window), ..rules() }
}

pub(crate) fn good(breaker: &Shared) {
    breaker.try_acquire().unwrap().settle(Outcome::Success);
}

pub(crate) fn bad(breaker: &Shared) {
    breaker.try_acquire().unwrap().settle(FAILED);
}

/// What a caller at 59 s is told of a [`due`] breaker whose one probe fails at 60 s.
pub(crate) fn assert_of_one_era(answer: &Result<(), Rejected>) {
    let (first, second) = (Duration::from_secs(1), Duration::from_secs(121));
    match *answer {
        Err(Rejected::CircuitOpen { retry_in, cause: Cause::Manual }) => {
            assert_eq!(retry_in, first);
        }
        Err(Rejected::CircuitOpen { retry_in, cause: Cause::ProbeFailed(_) }) => {
            assert_eq!(retry_in, second);
        }
        Err(Rejected::HalfOpenBusy { .. }) => {}
        other => panic!("{other:?}"),
    }
}
