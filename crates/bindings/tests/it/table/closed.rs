//! Calls through a closed breaker: what counts, and what opens it.

use fusebox_bindings::{
    Config, Event, Fields, LATCH, NEVER, ONCE_PER_BLOCK, PROBE_ONLY, State, TRIP_AT_ONCE,
    Transition, Word, step,
};

use super::{CLOSED, FAIL, HALF_OPEN, NOW, OPEN, expect, opens, unchanged};

#[test]
fn success_in_closed_forgets_the_streak_and_nothing_else() {
    unchanged(Fields { failure_count: 0, ..CLOSED }, Event::Success, NOW);
    expect(CLOSED, Event::Success, NOW, Fields { failure_count: 0, ..CLOSED }, Transition::None);
}

#[test]
fn two_failures_with_successes_in_between_do_not_make_a_streak() {
    let mut word = Word::build(Config::simple(2, 100)).unwrap();
    for event in [FAIL, Event::Success, Event::Success, FAIL] {
        let (next, transition) = step(word, event, NOW).unwrap();
        assert_eq!(transition, Transition::None);
        word = next;
    }
    assert_eq!((word.state(NOW), word.failure_count()), (Ok(State::Closed), 1));
}

#[test]
fn a_failure_of_weight_0_is_neutral() {
    let neutral = Event::Failure { weight: 0 };
    unchanged(CLOSED, neutral, NOW);
    unchanged(OPEN, neutral, NOW);
    unchanged(HALF_OPEN, neutral, NOW);
}

#[test]
fn a_failure_below_the_threshold_counts_with_its_weight() {
    let counted = Fields { failure_count: 2, last_failure_at: NOW, ..CLOSED };
    expect(CLOSED, FAIL, NOW, counted, Transition::None);
    let heavy = Fields { failure_threshold: 10, ..CLOSED };
    let counted = Fields { failure_count: 9, last_failure_at: NOW, ..heavy };
    expect(heavy, Event::Failure { weight: 8 }, NOW, counted, Transition::None);
}

#[test]
fn the_failure_that_reaches_the_threshold_opens() {
    let before = Fields { failure_threshold: 10, success_count: 2, reopen_count: 5, ..CLOSED };
    for (weight, count) in
        [(9, 10), (10, 11), (TRIP_AT_ONCE - 1, u16::MAX), (TRIP_AT_ONCE, u16::MAX)]
    {
        let after = Fields {
            status: 1,
            failure_count: count,
            retry_at: NOW + 100,
            success_count: 0,
            reopen_count: 0,
            last_failure_at: NOW,
            ..before
        };
        opens(before, Event::Failure { weight }, NOW, after);
    }
}

#[test]
fn the_largest_weight_reaches_the_largest_threshold() {
    let before = Fields { failure_count: 0, failure_threshold: u16::MAX, ..CLOSED };
    let counted = Fields { failure_count: u16::MAX - 1, last_failure_at: NOW, ..before };
    expect(before, Event::Failure { weight: u16::MAX - 1 }, NOW, counted, Transition::None);
    let after = Fields {
        status: 1,
        failure_count: u16::MAX,
        retry_at: NOW + 100,
        last_failure_at: NOW,
        ..before
    };
    opens(before, Event::Failure { weight: TRIP_AT_ONCE }, NOW, after);
}

#[test]
fn once_per_block_counts_one_failure_a_timestamp() {
    let before =
        Fields { flags: ONCE_PER_BLOCK, failure_threshold: 9, last_failure_at: NOW, ..CLOSED };
    // A clock that runs backwards counts as no time passed.
    unchanged(before, FAIL, NOW - 1);
    unchanged(before, FAIL, NOW);
    unchanged(before, Event::Failure { weight: TRIP_AT_ONCE - 1 }, NOW);
    let counted = Fields { failure_count: 2, last_failure_at: NOW + 1, ..before };
    expect(before, FAIL, NOW + 1, counted, Transition::None);
}

#[test]
fn once_per_block_counts_the_first_failure_after_a_success_in_the_same_block() {
    let before = Fields { flags: ONCE_PER_BLOCK, failure_count: 0, last_failure_at: NOW, ..CLOSED };
    expect(before, FAIL, NOW, Fields { failure_count: 1, ..before }, Transition::None);
}

#[test]
fn once_per_block_does_not_hold_up_a_failure_that_trips_at_once() {
    let before = Fields { flags: ONCE_PER_BLOCK, last_failure_at: NOW, ..CLOSED };
    let after = Fields { status: 1, failure_count: u16::MAX, retry_at: NOW + 100, ..before };
    opens(before, Event::Failure { weight: TRIP_AT_ONCE }, NOW, after);
}

#[test]
fn without_once_per_block_failures_of_one_timestamp_add_up() {
    let before = Fields { flags: LATCH | PROBE_ONLY, last_failure_at: NOW, ..CLOSED };
    expect(before, FAIL, NOW, Fields { failure_count: 2, ..before }, Transition::None);
}

#[test]
fn a_failure_older_than_the_window_no_longer_counts() {
    for (age, count) in [(59, 2), (60, 2), (61, 1)] {
        let before = Fields { window: 60, last_failure_at: NOW - age, ..CLOSED };
        let after = Fields { failure_count: count, last_failure_at: NOW, ..before };
        expect(before, FAIL, NOW, after, Transition::None);
    }
}

#[test]
fn without_a_window_failures_count_for_ever() {
    let before = Fields { last_failure_at: 0, ..CLOSED };
    expect(
        before,
        FAIL,
        NEVER,
        Fields { failure_count: 2, last_failure_at: NEVER, ..before },
        Transition::None,
    );
}

#[test]
fn a_clock_that_runs_backwards_counts_as_no_time_passed_in_closed() {
    let before = Fields { window: 1, failure_count: 2, last_failure_at: NOW, ..CLOSED };
    let after = Fields { status: 1, failure_count: 3, retry_at: NOW + 100, ..before };
    opens(before, FAIL, 0, after);
}
