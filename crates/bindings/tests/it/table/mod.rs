//! The transition table, row by row. Times are round so that sums can be read: it is 10,000, a cooldown takes 100.

mod closed;
mod edges;
mod half_open;
mod owner;

use fusebox_bindings::{
    Event, Fields, NEVER, NotConfigured, State, TRIP_AT_ONCE, Transition, Word, step,
};

const NOW: u64 = 10_000;
const FAIL: Event = Event::Failure { weight: 1 };

/// Closed, one failure of three counted, 50 seconds ago.
const CLOSED: Fields = Fields {
    status: 0,
    failure_count: 1,
    failure_threshold: 3,
    cooldown: 100,
    retry_at: 0,
    success_count: 0,
    success_threshold: 3,
    reopen_count: 0,
    max_cooldown: 400,
    window: 0,
    last_failure_at: NOW - 50,
    flags: 0,
    probed_at: 9,
};

/// Open, and half-open from now on, with one good probe of three.
const HALF_OPEN: Fields = Fields {
    status: 1,
    failure_count: 3,
    retry_at: NOW,
    success_count: 1,
    reopen_count: 1,
    ..CLOSED
};

/// Open for one more second.
const OPEN: Fields = Fields { retry_at: NOW + 1, success_count: 0, ..HALF_OPEN };

/// What `HALF_OPEN` and `OPEN` are once closed.
const CLOSED_AGAIN: Fields = Fields {
    status: 0,
    failure_count: 0,
    retry_at: 0,
    success_count: 0,
    reopen_count: 0,
    ..HALF_OPEN
};

#[track_caller]
fn expect(before: Fields, event: Event, now: u64, after: Fields, transition: Transition) {
    let (word, happened) = step(before.into(), event, now).unwrap();
    assert_eq!((Fields::from(word), happened), (after, transition));
    assert_eq!(word, Word::from(after));
}

#[track_caller]
fn unchanged(before: Fields, event: Event, now: u64) {
    expect(before, event, now, before, Transition::None);
}

#[track_caller]
fn opens(before: Fields, event: Event, now: u64, after: Fields) {
    expect(before, event, now, after, Transition::Opened);
}

#[test]
fn half_open_begins_at_retry_at() {
    let word = Word::from(HALF_OPEN);
    assert_eq!(word.state(NOW - 1), Ok(State::Open));
    assert_eq!(word.state(NOW), Ok(State::HalfOpen));
    assert_eq!(word.state(NOW + 1), Ok(State::HalfOpen));
    assert_eq!(word.state(u64::MAX), Ok(State::HalfOpen));
}

#[test]
fn a_breaker_that_is_never_retried_stays_open_at_the_end_of_time() {
    let word = Word::from(Fields { retry_at: NEVER, ..OPEN });
    for now in [NEVER - 1, NEVER, NEVER + 1, u64::MAX] {
        assert_eq!(word.state(now), Ok(State::Open));
    }
    let last = Word::from(Fields { retry_at: NEVER - 1, ..OPEN });
    assert_eq!(last.state(NEVER - 2), Ok(State::Open));
    assert_eq!(last.state(NEVER - 1), Ok(State::HalfOpen));
}

#[test]
fn states_are_spelt_as_everywhere() {
    let words = [State::Closed, State::Open, State::HalfOpen].map(|state| state.to_string());
    assert_eq!(words, ["closed", "open", "half-open"]);
}

#[test]
fn without_a_threshold_nothing_happens_but_an_error() {
    for before in [CLOSED, OPEN, HALF_OPEN, Fields::default()] {
        let word = Word::from(Fields { failure_threshold: 0, ..before });
        assert_eq!(word.state(NOW), Err(NotConfigured));
        for event in [
            Event::Success,
            FAIL,
            Event::Failure { weight: 0 },
            Event::Trip { until: 0 },
            Event::Reset,
        ] {
            assert_eq!(step(word, event, NOW), Err(NotConfigured));
        }
    }
}

#[test]
fn traffic_while_open_changes_nothing() {
    for now in [0, NOW - 1, NOW] {
        unchanged(OPEN, Event::Success, now);
        unchanged(OPEN, FAIL, now);
        unchanged(OPEN, Event::Failure { weight: TRIP_AT_ONCE }, now);
    }
}
