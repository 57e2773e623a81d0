//! Rates over the last calls and the last seconds, and slow calls.

use std::collections::VecDeque;
use std::time::Duration;

use fusebox_breaker::{Category, Cause, Config, CountWindow, Outcome, State, Tick, TimeWindow};
use proptest::prelude::*;

use crate::rig::{GENERIC, Rig, at, plain, seconds};

fn count(size: usize, min_calls: u32, failure_percent: u8) -> Config {
    let window = CountWindow { size, min_calls, failure_percent, slow_percent: None };
    Config { failure_threshold: 0, count_window: Some(window), ..plain() }
}

fn time(min_calls: u32) -> Config {
    let window = TimeWindow { min_calls, ..TimeWindow::default() };
    Config { failure_threshold: 0, time_window: Some(window), ..plain() }
}

#[test]
fn after_a_long_good_time_the_window_still_trips_at_its_rate() {
    let rig = Rig::new(count(100, 20, 50));
    rig.succeed(100_000);
    rig.fail(49);
    assert_eq!(rig.stored(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.breaker.view().cause, Some(Cause::CountRate));
}

#[test]
fn a_rate_means_nothing_before_there_are_enough_calls() {
    let rig = Rig::new(count(100, 20, 50));
    rig.fail(19);
    assert_eq!(rig.stored(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn only_a_failure_or_a_slow_call_lets_a_rate_be_judged() {
    let rig = Rig::new(count(100, 20, 50));
    rig.fail(19);
    rig.succeed(1);
    assert_eq!(rig.stored(), State::Closed, "19 of 20 failed, but the 20th call was good");
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn a_percentage_is_met_exactly() {
    // 33 % of 100: 33 failures, not 32.
    let rig = Rig::new(count(100, 100, 33));
    rig.succeed(68);
    rig.fail(32);
    assert_eq!(rig.stored(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open, "a good call left, a bad one came");
}

#[test]
fn answered_neutral_and_cancelled_calls_are_no_samples() {
    let rig = Rig::new(count(10, 10, 100));
    rig.fail(9);
    rig.does(Outcome::Answered);
    rig.does(Outcome::Neutral);
    rig.permit().cancel();
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open, "ten samples, all bad");
}

#[test]
fn windows_are_empty_after_an_open() {
    let rig = Rig::new(count(10, 10, 50));
    rig.fail(10);
    rig.to(60);
    rig.succeed(2);
    rig.fail(9);
    assert_eq!(rig.stored(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);

    let rig = Rig::new(time(10));
    rig.fail(9);
    rig.breaker.reset();
    rig.fail(9);
    assert_eq!(rig.stored(), State::Closed);
}

#[test]
fn the_time_window_forgets_by_age() {
    let rig = Rig::new(time(20));
    rig.fail(19);
    rig.clock.set(Tick::from_nanos(at(10).as_nanos() - 1));
    rig.fail(1);
    assert_eq!(rig.breaker.view().cause, Some(Cause::TimeRate));

    let rig = Rig::new(time(20));
    rig.fail(19);
    rig.to(10);
    rig.fail(19);
    assert_eq!(rig.stored(), State::Closed, "the first 19 are a period old");
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn calls_longer_than_a_bucket_count() {
    let rig = Rig::new(time(20));
    let calls: Vec<_> = (0..20).map(|_| rig.permit()).collect();
    rig.to(35);
    calls.into_iter().for_each(|call| call.settle(GENERIC));
    assert_eq!(rig.breaker.view().cause, Some(Cause::TimeRate));
}

#[test]
fn a_clock_that_steps_back_moves_no_bucket() {
    let rig = Rig::new(time(20));
    rig.to(100);
    rig.fail(10);
    rig.to(1);
    rig.fail(9);
    assert_eq!(rig.stored(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);
}

fn slow() -> Config {
    let window =
        CountWindow { size: 10, min_calls: 4, failure_percent: 100, slow_percent: Some(50) };
    let slow_call = Some(Duration::from_millis(500));
    Config { count_window: Some(window), slow_call, ..plain() }
}

#[test]
fn a_call_is_slow_from_the_limit_on() {
    let rig = Rig::new(slow());
    let takes = |nanos: u64, outcome| {
        let permit = rig.permit();
        rig.clock.advance(Duration::from_nanos(nanos));
        permit.settle(outcome);
    };
    for _ in 0..10 {
        takes(499_999_999, Outcome::Success);
    }
    for _ in 0..4 {
        takes(500_000_000, Outcome::Success);
    }
    assert_eq!(rig.stored(), State::Closed);
    takes(500_000_000, Outcome::Answered);
    assert_eq!(rig.breaker.view().cause, Some(Cause::SlowRate));
}

#[test]
fn a_slow_call_leaves_the_window_like_any_other() {
    let window =
        CountWindow { size: 4, min_calls: 4, failure_percent: 100, slow_percent: Some(50) };
    let rig =
        Rig::new(Config { count_window: Some(window), slow_call: Some(seconds(1)), ..plain() });
    let slow = || {
        let permit = rig.permit();
        rig.clock.advance(seconds(1));
        permit.settle(Outcome::Success);
    };
    slow();
    rig.succeed(4);
    slow();
    assert_eq!(rig.stored(), State::Closed, "one of the last four");
    slow();
    assert_eq!(rig.breaker.view().cause, Some(Cause::SlowRate));
}

#[test]
fn a_slow_failure_is_slow_too_and_failures_are_named_first() {
    let rig = Rig::new(slow());
    for _ in 0..4 {
        let permit = rig.permit();
        rig.clock.advance(seconds(1));
        permit.settle(GENERIC);
    }
    assert_eq!(rig.breaker.view().cause, Some(Cause::CountRate));

    let rig = Rig::new(slow());
    rig.succeed(2);
    for _ in 0..2 {
        let permit = rig.permit();
        rig.clock.advance(seconds(1));
        permit.settle(GENERIC);
    }
    assert_eq!(rig.breaker.view().cause, Some(Cause::SlowRate));
}

#[test]
fn a_slow_good_call_still_ends_the_streaks() {
    let rig = Rig::new(slow());
    rig.fail(3);
    let permit = rig.permit();
    rig.clock.advance(seconds(1));
    permit.settle(Outcome::Success);
    assert_eq!((rig.stored(), rig.breaker.view().total_streak), (State::Closed, 0));
}

#[test]
fn a_slow_probe_opens() {
    for outcome in [Outcome::Success, Outcome::Answered] {
        let rig = Rig::new(slow());
        rig.breaker.trip(Some(at(1)), Cause::Manual);
        rig.to(1);
        let probe = rig.permit();
        rig.clock.advance(Duration::from_millis(500));
        probe.settle(outcome);
        let view = rig.breaker.view();
        assert_eq!((view.state, view.opens, view.cause), (State::Open, 2, Some(Cause::ProbeSlow)));
    }
}

#[test]
fn a_clock_that_steps_back_makes_no_call_slow() {
    let rig = Rig::new(slow());
    rig.to(1_000);
    rig.fail(1);
    rig.to(500);
    for _ in 0..10 {
        let permit = rig.permit();
        rig.clock.advance(Duration::from_millis(1));
        permit.settle(Outcome::Success);
    }
    assert_eq!(rig.stored(), State::Closed);
}

#[test]
fn the_time_window_has_its_own_slow_percentage() {
    let window = TimeWindow {
        min_calls: 2,
        slow_percent: Some(100),
        failure_percent: 100,
        ..TimeWindow::default()
    };
    let rig =
        Rig::new(Config { slow_call: Some(seconds(1)), time_window: Some(window), ..plain() });
    for _ in 0..2 {
        let permit = rig.permit();
        rig.clock.advance(seconds(1));
        permit.settle(Outcome::Success);
    }
    assert_eq!(rig.breaker.view().cause, Some(Cause::SlowRate));
}

#[test]
fn the_count_window_is_named_before_the_time_window() {
    let cfg = Config { time_window: time(10).time_window, ..count(10, 10, 50) };
    let rig = Rig::new(cfg);
    rig.fail(10);
    assert_eq!(rig.breaker.view().cause, Some(Cause::CountRate));
}

proptest! {
    /// Both windows against a list of samples that is searched anew each time.
    #[test]
    fn windows_equal_a_list_of_samples(
        size in 1usize..40,
        min_calls in 1u32..30,
        percent in 1u8..=100,
        buckets in 2u8..=60,
        is_time in any::<bool>(),
        calls in prop::collection::vec((any::<bool>(), prop_oneof![0u64..3, 0u64..400, 0u64..3_000]), 1..300),
    ) {
        let period = Duration::from_secs(1);
        let min_calls = if is_time { min_calls } else { min_calls.min(size as u32) };
        let cfg = if is_time {
            let window = TimeWindow { period, buckets, min_calls, failure_percent: percent, slow_percent: None };
            Config { failure_threshold: 0, time_window: Some(window), ..plain() }
        } else {
            count(size, min_calls, percent)
        };
        let rig = Rig::new(cfg);
        let width = period.as_nanos() as u64 / u64::from(buckets);
        let mut samples = VecDeque::new();
        for (failed, wait) in calls {
            rig.clock.advance(Duration::from_millis(wait));
            let bucket = fusebox_breaker::Clock::now(&rig.clock).as_nanos() / width;
            rig.does(if failed { Outcome::failure(Category::SERVER) } else { Outcome::Success });
            samples.push_back((bucket, failed));
            if is_time {
                samples.retain(|(then, _)| bucket - then < u64::from(buckets));
            } else if samples.len() > size {
                samples.pop_front();
            }
            let bad = samples.iter().filter(|(_, failed)| *failed).count();
            let due = failed && samples.len() >= min_calls as usize && bad * 100 >= usize::from(percent) * samples.len();
            prop_assert_eq!(rig.stored() == State::Open, due);
            if due {
                rig.breaker.reset();
                samples.clear();
            }
        }
    }
}
