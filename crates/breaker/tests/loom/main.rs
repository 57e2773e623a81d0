//! Every interleaving of two or three threads, and every value that the memory model lets them read: `make loom`.
//!
//! Time is passed in, and the clock moved between races, never in one: what a thread reads there is no race. A model
//! asserts what each serial order of its threads would give. All that races is spawned: the thread that spawns runs on to
//! its first join in loom 0.7, and what it does until then is tried in one order only.
#![cfg(loom)]

#[path = "../shared/mod.rs"]
mod shared;

use fusebox_breaker::{
    Cause, Config, EventKind, ManualClock, Mode, Outcome, OwnedPermit, Rejected, State, View,
};
use loom::thread;

use self::shared::{
    FAILED, Shared, assert_of_one_era, at, bad, breaker, count, due, events, good, half_opened,
    opened, rules, spawn, stale, trips_at, windowed,
};

#[test]
fn of_callers_at_the_deadline_one_is_admitted() {
    loom::model(|| {
        let breaker = due(rules());
        let ask = |breaker: Shared| breaker.try_acquire_owned();
        let threads = [spawn(&breaker, ask), spawn(&breaker, ask)];
        let mut answers: Vec<_> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        answers.push(breaker.try_acquire_owned());

        let admitted = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(admitted, 1);
        assert!(answers.iter().all(|answer| match answer {
            Ok(probe) => probe.is_probe(),
            Err(rejected) => matches!(rejected, Rejected::HalfOpenBusy { .. }),
        }));
        assert_eq!(breaker.view().in_flight, 1);
        drop(answers);
        assert_eq!(count(&events(&breaker), half_opened), 1);
    });
}

#[test]
fn two_failures_at_the_threshold_trip_once() {
    for (threshold, late) in [(1, 1), (2, 0)] {
        loom::model(move || {
            let breaker = trips_at(threshold);
            let permits = [0; 2].map(|_| breaker.try_acquire_owned().unwrap());
            let threads = permits.map(|permit: OwnedPermit<ManualClock>| {
                thread::spawn(move || permit.settle(FAILED))
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let View { state, generation, opens, .. } = breaker.view();
            assert_eq!((state, generation, opens), (State::Open, 1, 1));
            let events = events(&breaker);
            assert_eq!((count(&events, opened), count(&events, stale)), (1, late));
        });
    }
}

#[test]
fn a_failing_probe_and_the_end_of_its_lease_open_once() {
    loom::model(|| {
        let breaker = due(rules());
        let probe = breaker.try_acquire_owned().unwrap();
        let failing = thread::spawn(move || probe.settle_at(FAILED, at(89)));
        let noticing = spawn(&breaker, |breaker| breaker.try_acquire_at(at(90)).is_ok());
        failing.join().unwrap();
        assert!(!noticing.join().unwrap(), "whichever comes first, it is open");

        let view = breaker.view();
        assert_eq!((view.state, view.opens, view.in_flight), (State::Open, 2, 0));
        let expected =
            if view.cause == Some(Cause::LeaseExpired) { at(90 + 120) } else { at(89 + 120) };
        assert_eq!(view.deadline, Some(expected));
        let events = events(&breaker);
        assert_eq!(count(&events, opened), 2, "the trip, and this");
        assert_eq!(count(&events, stale) == 1, view.cause == Some(Cause::LeaseExpired));
    });
}

#[test]
fn a_lost_probe_that_ends_late_frees_no_slot_of_the_next_era() {
    loom::model(|| {
        let breaker = due(rules());
        let lost = breaker.try_acquire_owned().unwrap();
        // Its lease is over, and so is the open that followed.
        breaker.clock().set(at(210));
        let late = thread::spawn(move || lost.settle(Outcome::Neutral));
        let asking = spawn(&breaker, |breaker| breaker.try_acquire_owned());
        late.join().unwrap();
        let probe = asking.join().unwrap().expect("a slot of the next era");
        let view = breaker.view();
        assert_eq!((view.state, view.opens, view.in_flight), (State::HalfOpen, 2, 1));
        assert_eq!(count(&events(&breaker), stale), 1);
        probe.cancel();
        assert_eq!(breaker.view().in_flight, 0);
    });
}

#[test]
fn a_trip_and_the_last_failure_leave_the_later_deadline() {
    loom::model(|| {
        let breaker = trips_at(1);
        let permit = breaker.try_acquire_owned().unwrap();
        let failing = thread::spawn(move || permit.settle(FAILED));
        let tripping = spawn(&breaker, |breaker| breaker.trip(Some(at(1_000)), Cause::Sibling));
        failing.join().unwrap();
        tripping.join().unwrap();
        let view = breaker.view();
        assert_eq!((view.state, view.opens, view.deadline), (State::Open, 1, Some(at(1_000))));
        assert_eq!(view.cause, Some(Cause::Sibling));
    });
}

#[test]
fn a_good_call_beside_a_bad_one_is_before_or_after_it() {
    loom::model(|| {
        let breaker = trips_at(2);
        let permit = breaker.try_acquire_owned().unwrap();
        let failing = thread::spawn(move || permit.settle(FAILED));
        let good =
            spawn(&breaker, |breaker| breaker.try_acquire().unwrap().settle(Outcome::Success));
        failing.join().unwrap();
        good.join().unwrap();
        // Known to be after both now: it must see the streak, if there is one, and end it.
        breaker.try_acquire().unwrap().settle(Outcome::Success);
        assert_eq!(breaker.view().total_streak, 0);
    });
}

#[test]
fn a_rejection_never_mixes_two_eras() {
    loom::model(|| {
        let breaker = due(rules());
        let probing = spawn(&breaker, |breaker| breaker.try_acquire().unwrap().settle(FAILED));
        let asking = spawn(&breaker, |breaker| breaker.try_acquire_at(at(59)).map(drop));
        probing.join().unwrap();
        assert_of_one_era(&asking.join().unwrap());
    });
}

#[test]
fn results_of_an_era_that_a_mode_ended_are_stale() {
    loom::model(|| {
        let breaker = trips_at(1);
        let permit = breaker.try_acquire_owned().unwrap();
        let failing = thread::spawn(move || permit.settle(FAILED));
        let operator = spawn(&breaker, |breaker| {
            breaker.set_mode(Mode::ForcedOpen);
            let answer = breaker.try_acquire().map(drop);
            assert_eq!(answer, Err(Rejected::ForcedOpen));
            breaker.set_mode(Mode::Normal);
        });
        failing.join().unwrap();
        operator.join().unwrap();
        let view = breaker.view();
        assert_eq!((view.state, view.in_flight), (State::HalfOpen, 0));
        // Counted before, or stale after: never lost.
        let events = events(&breaker);
        assert_eq!(count(&events, opened) + count(&events, stale), 1);
    });
}

#[test]
fn the_last_good_probe_and_a_trip_are_one_after_the_other() {
    loom::model(|| {
        let breaker = due(Config { success_threshold: 1, ..rules() });
        let probe = breaker.try_acquire_owned().unwrap();
        let good = thread::spawn(move || probe.settle(Outcome::Success));
        let reading = spawn(&breaker, |breaker| breaker.state());
        let tripping = spawn(&breaker, |breaker| breaker.trip(None, Cause::Sibling));
        good.join().unwrap();
        reading.join().unwrap();
        tripping.join().unwrap();
        let view = breaker.view();
        assert_eq!((view.state, view.opens, view.in_flight), (State::Open, 1, 0));
        let events = events(&breaker);
        assert_eq!(
            count(&events, |kind| matches!(kind, EventKind::Closed { .. })) + count(&events, stale),
            1
        );
    });
}

#[test]
fn a_good_sample_beside_a_bad_one_is_not_lost() {
    loom::model(|| {
        let breaker = breaker(windowed(66, 3));
        let threads =
            [spawn(&breaker, |breaker| good(&breaker)), spawn(&breaker, |breaker| bad(&breaker))];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(breaker.state(), State::Closed);
        // Whichever came first: two of three are bad now. With one lost there would not be three.
        bad(&breaker);
        assert_eq!(breaker.view().cause, Some(Cause::CountRate));
    });
}

#[test]
fn two_good_samples_at_once_are_two() {
    loom::model(|| {
        let breaker = breaker(windowed(33, 3));
        let threads =
            [spawn(&breaker, |breaker| good(&breaker)), spawn(&breaker, |breaker| good(&breaker))];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        bad(&breaker);
        assert_eq!(breaker.view().cause, Some(Cause::CountRate));
    });
}

#[test]
fn a_good_call_that_is_only_counted_still_ends_the_streak_before_it() {
    loom::model(|| {
        let breaker = breaker(windowed(100, 3));
        let counting = spawn(&breaker, |breaker| good(&breaker));
        let ending = spawn(&breaker, |breaker| {
            bad(&breaker);
            good(&breaker);
        });
        counting.join().unwrap();
        ending.join().unwrap();
        assert_eq!(breaker.view().total_streak, 0);
    });
}

#[test]
fn a_good_call_enters_no_window_of_the_next_era() {
    loom::model(|| {
        let breaker = breaker(windowed(100, 2));
        let permit = breaker.try_acquire_owned().unwrap();
        let late = thread::spawn(move || permit.settle(Outcome::Success));
        let resetting = spawn(&breaker, |breaker| breaker.reset());
        late.join().unwrap();
        resetting.join().unwrap();
        bad(&breaker);
        bad(&breaker);
        // With a good one among them they would not be all.
        assert_eq!(breaker.view().cause, Some(Cause::CountRate));
    });
}
