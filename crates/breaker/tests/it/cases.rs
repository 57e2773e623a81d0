//! The cases that must hold, by their numbers in the specification. Those of the pool are tested there.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fusebox_breaker::{Cause, Config, CountWindow, EventKind, Outcome, Rejected, State, Tick};

use crate::rig::{GENERIC, Rig, at, plain};

#[test]
fn case_01_a_thousand_neutral_probes_leak_no_slot() {
    let rig = Rig::half_open();
    for _ in 0..1_000 {
        rig.does(Outcome::Neutral);
    }
    let view = rig.breaker.view();
    assert_eq!((view.state, view.in_flight, view.free_slots), (State::HalfOpen, 0, 1));
}

#[test]
fn case_02_a_success_from_closed_decides_nothing_in_half_open() {
    let rig = Rig::plain();
    let a = rig.permit();
    rig.fail(5);
    rig.to(60);
    let b = rig.permit();
    rig.events();
    a.settle(Outcome::Success);
    assert_eq!(rig.breaker.view().successes, 0);
    assert!(matches!(rig.rejection(), Rejected::HalfOpenBusy { .. }));
    assert!(matches!(rig.kinds()[..], [EventKind::Stale { from_generation: 0, .. }]));
    b.cancel();
}

#[test]
fn case_02_a_failure_from_closed_counts_for_nothing_after_recovery() {
    let rig = Rig::plain();
    let a = rig.permit();
    rig.fail(5);
    rig.to(60);
    rig.succeed(2);
    a.settle(GENERIC);
    assert_eq!((rig.stored(), rig.breaker.view().total_streak), (State::Closed, 0));
}

#[test]
fn case_03_a_hung_probe_ends_by_its_lease_and_frees_no_later_slot() {
    for late_is_dropped in [false, true] {
        let rig = Rig::open();
        rig.to(60);
        let first = rig.permit();
        rig.to(209);
        assert_eq!(rig.breaker.poll(), State::Open);
        let view = rig.breaker.view();
        assert_eq!((view.opens, view.deadline), (2, Some(at(210))));
        rig.to(210);
        let b = rig.permit();
        if late_is_dropped {
            drop(first)
        } else {
            first.settle(Outcome::Neutral)
        }
        assert!(matches!(rig.rejection(), Rejected::HalfOpenBusy { .. }));
        b.cancel();
    }
}

#[test]
fn case_04_after_a_dropped_probe_the_next_is_admitted_at_180_s() {
    let rig = Rig::open();
    rig.to(60);
    drop(rig.permit());
    assert!(rig.ask().is_err());
    rig.clock.set(Tick::from_nanos(179_999_000_000));
    assert!(rig.ask().is_err());
    rig.to(180);
    assert!(rig.permit().is_probe());
}

#[test]
fn case_05_of_64_callers_at_the_deadline_one_is_admitted() {
    let rig = Rig::open();
    rig.to(60);
    let (barrier, admitted, busy) = (Barrier::new(64), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                barrier.wait();
                match rig.ask() {
                    Ok(probe) => {
                        admitted.fetch_add(1, Ordering::Relaxed);
                        barrier.wait();
                        probe.cancel();
                    }
                    Err(Rejected::HalfOpenBusy { .. }) => {
                        busy.fetch_add(1, Ordering::Relaxed);
                        barrier.wait();
                    }
                    Err(other) => panic!("{other}"),
                }
            });
        }
    });
    assert_eq!((admitted.into_inner(), busy.into_inner()), (1, 63));
}

#[test]
fn case_05_a_hundred_late_failures_do_not_move_the_deadline() {
    let rig = Rig::plain();
    let late: Vec<_> = (0..100).map(|_| rig.permit()).collect();
    rig.fail(5);
    rig.to(30);
    late.into_iter().for_each(|permit| permit.settle(GENERIC));
    rig.clock.set(Tick::from_nanos(at(60).as_nanos() - 1));
    assert!(rig.ask().is_err());
    rig.to(60);
    assert!(rig.permit().is_probe());
}

#[test]
fn case_07_delays_with_jitter_stay_within_their_bounds() {
    for _ in 0..200 {
        let rig = Rig::new(Config::default());
        rig.fail(5);
        assert!((at(60)..=at(63)).contains(&rig.deadline()));
        let mut opened_at = Tick::ZERO;
        for _ in 0..6 {
            opened_at = rig.deadline();
            rig.clock.set(opened_at);
            rig.fail(1);
        }
        let last = rig.deadline().since(opened_at).as_secs_f64();
        assert!((570.0..=600.0).contains(&last), "{last}");
    }
}

#[test]
fn case_08_good_history_does_not_hide_an_outage() {
    let window = CountWindow { size: 100, min_calls: 20, failure_percent: 50, slow_percent: None };
    let rig = Rig::new(Config { failure_threshold: 0, count_window: Some(window), ..plain() });
    rig.succeed(100_000);
    rig.fail(49);
    assert_eq!(rig.stored(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn case_08_a_good_probe_elsewhere_erases_no_failure() {
    let (here, elsewhere) = (Rig::plain(), Rig::half_open());
    here.fail(4);
    elsewhere.succeed(2);
    here.fail(1);
    assert_eq!(here.breaker.view().cause, Some(Cause::Total));
}

#[test]
fn case_12_polls_alone_bring_it_to_half_open() {
    let rig = Rig::open();
    rig.to(60);
    assert_eq!(rig.breaker.poll(), State::HalfOpen);
    rig.succeed(2);
    assert_eq!(rig.stored(), State::Closed);
}
