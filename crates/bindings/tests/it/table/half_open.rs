//! Probes: enough good ones close, one bad one opens for longer.

use fusebox_bindings::{Event, Fields, ONCE_PER_BLOCK, TRIP_AT_ONCE, Transition, Word, step};

use super::{CLOSED_AGAIN, FAIL, HALF_OPEN, NOW, expect, opens, unchanged};

#[test]
fn a_good_probe_counts_until_there_are_enough() {
    let second = Fields { success_count: 2, probed_at: 0x10, ..HALF_OPEN };
    // 10,000 is 0x2710.
    expect(HALF_OPEN, Event::Success, NOW, second, Transition::None);
    expect(
        second,
        Event::Success,
        NOW,
        Fields { probed_at: 0x10, ..CLOSED_AGAIN },
        Transition::Closed,
    );
}

#[test]
fn the_last_good_probe_closes_and_leaves_the_time_of_the_one_before() {
    for success_threshold in [0, 1, 2] {
        let before = Fields { success_threshold, ..HALF_OPEN };
        let after = Fields { success_threshold, ..CLOSED_AGAIN };
        expect(before, Event::Success, NOW, after, Transition::Closed);
    }
}

#[test]
fn the_largest_success_threshold_is_reached_without_a_wrap() {
    let before = Fields { success_threshold: 255, success_count: 253, ..HALF_OPEN };
    let after = Fields { success_count: 254, probed_at: 0x10, ..before };
    expect(before, Event::Success, NOW, after, Transition::None);
    let closed = Fields { success_threshold: 255, ..CLOSED_AGAIN };
    expect(
        Fields { success_count: 254, ..before },
        Event::Success,
        NOW,
        closed,
        Transition::Closed,
    );
    expect(
        Fields { success_count: 255, ..before },
        Event::Success,
        NOW,
        closed,
        Transition::Closed,
    );
}

#[test]
fn once_per_block_counts_one_good_probe_a_timestamp() {
    let before = Fields { flags: ONCE_PER_BLOCK, probed_at: 0x10, ..HALF_OPEN };
    unchanged(before, Event::Success, NOW);
    // The price of keeping one byte: 256 seconds on it looks like the same block.
    unchanged(before, Event::Success, NOW + 256);
    for (now, low) in [(NOW + 1, 0x11), (NOW + 255, 0x0f), (NOW + 257, 0x11)] {
        let after = Fields { success_count: 2, probed_at: low, ..before };
        expect(before, Event::Success, now, after, Transition::None);
    }
}

#[test]
fn once_per_block_does_not_hold_up_a_first_good_probe() {
    let before = Fields { flags: ONCE_PER_BLOCK, probed_at: 0x10, success_count: 0, ..HALF_OPEN };
    expect(before, Event::Success, NOW, Fields { success_count: 1, ..before }, Transition::None);
}

#[test]
fn a_failed_probe_opens_for_twice_as_long_up_to_the_cap() {
    for (reopens, wait) in [(0, 200), (1, 400), (2, 400), (31, 400), (254, 400)] {
        let before = Fields { reopen_count: reopens, ..HALF_OPEN };
        let after =
            Fields { reopen_count: reopens + 1, success_count: 0, retry_at: NOW + wait, ..before };
        opens(before, FAIL, NOW, after);
    }
}

#[test]
fn the_doubling_neither_wraps_nor_misses_the_largest_cap() {
    let widest = Fields { cooldown: 1, max_cooldown: u32::MAX, ..HALF_OPEN };
    for (reopens, wait) in
        [(29, 1 << 30), (30, 1 << 31), (31, u32::MAX), (32, u32::MAX), (254, u32::MAX)]
    {
        let before = Fields { reopen_count: reopens, ..widest };
        let after = Fields {
            reopen_count: reopens + 1,
            success_count: 0,
            retry_at: NOW + u64::from(wait),
            ..before
        };
        opens(before, FAIL, NOW, after);
    }
}

#[test]
fn the_weight_of_a_failed_probe_and_once_per_block_do_not_matter() {
    let before =
        Fields { flags: ONCE_PER_BLOCK, probed_at: 0x10, last_failure_at: NOW, ..HALF_OPEN };
    let after = Fields { reopen_count: 2, success_count: 0, retry_at: NOW + 400, ..before };
    for weight in [1, 2, TRIP_AT_ONCE] {
        opens(before, Event::Failure { weight }, NOW, after);
    }
}

#[test]
fn a_breaker_recovers_after_70_000_failed_probes() {
    let (mut word, mut now) = (Word::from(HALF_OPEN), NOW);
    for _ in 0..70_000 {
        let (next, transition) = step(word, FAIL, now).unwrap();
        assert_eq!(transition, Transition::Opened);
        (word, now) = (next, next.retry_at());
    }
    assert_eq!((word.reopen_count(), now), (255, NOW + 70_000 * 400));
    for expected in [Transition::None, Transition::None, Transition::Closed] {
        let (next, transition) = step(word, Event::Success, now).unwrap();
        assert_eq!(transition, expected);
        word = next;
    }
    assert_eq!(Fields::from(word).reopen_count, 0);
}
