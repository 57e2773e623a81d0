//! What people and flags do to a breaker, in each state, and what `LATCH` makes of it.

use fusebox_bindings::{Event, Fields, LATCH, NEVER, Transition};

use super::{CLOSED, CLOSED_AGAIN, FAIL, HALF_OPEN, NOW, OPEN, expect, opens, unchanged};

#[test]
fn a_trip_from_closed_opens_and_starts_a_new_outage() {
    let before = Fields { reopen_count: 5, success_count: 2, ..CLOSED };
    let after = |retry_at| Fields {
        status: 1,
        retry_at,
        success_count: 0,
        reopen_count: 0,
        last_failure_at: NOW,
        ..before
    };
    // Without a deadline one cooldown; a past one is the next second.
    for (until, retry_at) in [
        (0, NOW + 100),
        (1, NOW + 1),
        (NOW - 1, NOW + 1),
        (NOW, NOW + 1),
        (NOW + 1, NOW + 1),
        (NOW + 2, NOW + 2),
        (NEVER, NEVER),
        (u64::MAX, NEVER),
    ] {
        opens(before, Event::Trip { until }, NOW, after(retry_at));
    }
}

#[test]
fn a_trip_from_closed_takes_a_backward_clock_as_no_time_passed() {
    let before = Fields { last_failure_at: NOW, ..CLOSED };
    opens(before, Event::Trip { until: 0 }, 0, Fields { status: 1, retry_at: NOW + 100, ..before });
    opens(before, Event::Trip { until: 1 }, 0, Fields { status: 1, retry_at: NOW + 1, ..before });
}

#[test]
fn a_trip_of_an_open_breaker_only_moves_the_deadline_away() {
    let before = Fields { retry_at: NOW + 100, ..OPEN };
    unchanged(before, Event::Trip { until: NOW + 99 }, NOW);
    unchanged(before, Event::Trip { until: NOW + 100 }, NOW);
    unchanged(before, Event::Trip { until: 0 }, NOW);
    opens(before, Event::Trip { until: NOW + 101 }, NOW, Fields { retry_at: NOW + 101, ..before });
    opens(before, Event::Trip { until: 0 }, NOW + 1, Fields { retry_at: NOW + 101, ..before });
}

#[test]
fn a_trip_in_half_open_opens_again_and_is_no_failed_probe() {
    for (until, retry_at) in
        [(0, NOW + 100), (1, NOW + 1), (NOW, NOW + 1), (NOW + 1, NOW + 1), (NOW + 7, NOW + 7)]
    {
        let after = Fields { retry_at, success_count: 0, ..HALF_OPEN };
        opens(HALF_OPEN, Event::Trip { until }, NOW, after);
    }
}

#[test]
fn a_trip_that_takes_good_probes_away_is_an_opening_too() {
    // Not reached by the library, whose open breakers have no good probes; a word is a word.
    let before = Fields { retry_at: NOW + 100, ..HALF_OPEN };
    opens(before, Event::Trip { until: 1 }, NOW, Fields { success_count: 0, ..before });
}

#[test]
fn a_reset_closes_and_forgets_all_counts() {
    expect(OPEN, Event::Reset, NOW, CLOSED_AGAIN, Transition::Closed);
    expect(HALF_OPEN, Event::Reset, NOW, CLOSED_AGAIN, Transition::Closed);
    let latched = Fields { flags: LATCH, retry_at: NEVER, ..OPEN };
    expect(latched, Event::Reset, NOW, Fields { flags: LATCH, ..CLOSED_AGAIN }, Transition::Closed);
}

#[test]
fn a_reset_in_closed_forgets_the_streak_and_says_nothing() {
    expect(CLOSED, Event::Reset, NOW, Fields { failure_count: 0, ..CLOSED }, Transition::None);
    unchanged(Fields { failure_count: 0, ..CLOSED }, Event::Reset, NOW);
}

#[test]
fn latch_makes_every_opening_last_except_a_trip_with_a_deadline() {
    let closed = Fields { flags: LATCH, failure_count: 2, ..CLOSED };
    let open = Fields { status: 1, retry_at: NEVER, last_failure_at: NOW, ..closed };
    opens(closed, FAIL, NOW, Fields { failure_count: 3, ..open });
    opens(closed, Event::Trip { until: 0 }, NOW, open);
    opens(closed, Event::Trip { until: NOW + 9 }, NOW, Fields { retry_at: NOW + 9, ..open });
    opens(closed, Event::Trip { until: 1 }, NOW, Fields { retry_at: NOW + 1, ..open });

    let half_open = Fields { flags: LATCH, ..HALF_OPEN };
    let open = Fields { retry_at: NEVER, success_count: 0, ..half_open };
    opens(half_open, FAIL, NOW, Fields { reopen_count: 2, ..open });
    opens(half_open, Event::Trip { until: 0 }, NOW, open);
    opens(half_open, Event::Trip { until: NOW + 9 }, NOW, Fields { retry_at: NOW + 9, ..open });
}
