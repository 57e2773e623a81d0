//! The ends of the types, and words that the library never writes.

use fusebox_bindings::{Event, Fields, NEVER, State, Transition, Word};

use super::{CLOSED, CLOSED_AGAIN, FAIL, HALF_OPEN, NOW, OPEN, expect, opens, unchanged};

#[test]
fn times_saturate_at_40_bits() {
    let closed = Fields { failure_count: 2, ..CLOSED };
    for (now, retry_at) in [
        (NEVER - 101, NEVER - 1),
        (NEVER - 100, NEVER),
        (NEVER - 99, NEVER),
        (NEVER, NEVER),
        (NEVER + 1, NEVER),
        (u64::MAX, NEVER),
    ] {
        let last_failure_at = now.min(NEVER);
        let after = Fields { status: 1, failure_count: 3, retry_at, last_failure_at, ..closed };
        opens(closed, FAIL, now, after);
        opens(closed, Event::Trip { until: 0 }, now, Fields { failure_count: 2, ..after });
    }
    let half_open = Fields { cooldown: u32::MAX, max_cooldown: u32::MAX, ..HALF_OPEN };
    let after = Fields { reopen_count: 2, success_count: 0, retry_at: NEVER, ..half_open };
    opens(half_open, FAIL, NEVER - u64::from(u32::MAX), after);
    opens(
        half_open,
        FAIL,
        NEVER - u64::from(u32::MAX) - 1,
        Fields { retry_at: NEVER - 1, ..after },
    );
}

#[test]
fn a_trip_at_the_end_of_time_does_not_move_a_deadline_that_is_never() {
    let before = Fields { retry_at: NEVER, ..OPEN };
    for until in [0, 1, NEVER, NEVER + 1, u64::MAX] {
        unchanged(before, Event::Trip { until }, NEVER);
        unchanged(before, Event::Trip { until }, u64::MAX);
    }
}

#[test]
fn a_strange_status_counts_as_open_and_becomes_1_when_it_opens() {
    for status in [2, 7, 128, 255] {
        let open = Fields { status, ..OPEN };
        assert_eq!(Word::from(open).state(NOW), Ok(State::Open));
        unchanged(open, FAIL, NOW);
        opens(open, Event::Trip { until: 1 }, NOW, OPEN);
        expect(open, Event::Reset, NOW, CLOSED_AGAIN, Transition::Closed);

        let half_open = Fields { status, ..HALF_OPEN };
        let probed = Fields { success_count: 2, probed_at: 0x10, ..half_open };
        expect(half_open, Event::Success, NOW, probed, Transition::None);
        let reopened = Fields {
            status: 1,
            reopen_count: 2,
            success_count: 0,
            retry_at: NOW + 400,
            ..half_open
        };
        opens(half_open, FAIL, NOW, reopened);
    }
}

#[test]
fn what_a_closed_word_should_not_hold_is_left_alone() {
    // A deadline and good probes in closed: no transition of the library leads there.
    let odd = Fields { retry_at: NOW + 500, success_count: 2, reopen_count: 5, ..CLOSED };
    expect(odd, Event::Success, NOW, Fields { failure_count: 0, ..odd }, Transition::None);
    expect(
        odd,
        FAIL,
        NOW,
        Fields { failure_count: 2, last_failure_at: NOW, ..odd },
        Transition::None,
    );
    let tripped = Fields {
        status: 1,
        success_count: 0,
        reopen_count: 0,
        last_failure_at: NOW,
        retry_at: NOW + 500,
        ..odd
    };
    opens(odd, Event::Trip { until: 0 }, NOW, tripped);
    expect(
        odd,
        Event::Reset,
        NOW,
        Fields { last_failure_at: CLOSED.last_failure_at, ..CLOSED_AGAIN },
        Transition::None,
    );
}
