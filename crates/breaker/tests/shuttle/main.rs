//! Random schedules of six to eight threads, which are too many to try all: `make shuttle`.
//!
//! Every atomic operation is sequentially consistent here; an ordering that is too weak shows in the models of loom only.
//! The threads of a schedule take turns on one thread of the system, so the clock may be moved in a race: when is part of
//! the schedule.
//!
//! Each run tries other schedules. A failure prints how to see it again: a seed for `SHUTTLE_RANDOM_SEED`, or a schedule
//! that `shuttle::replay` takes in place of [`explore`].
#![cfg(shuttle)]

#[path = "../shared/mod.rs"]
mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fusebox_breaker::{
    Category, Cause, Config, EventKind, ManualClock, Mode, Outcome, OwnedPermit, Rejected,
    StaleOutcome, State, View,
};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread::{self, JoinHandle};

use self::shared::{
    FAILED, Shared, assert_of_one_era, at, bad, breaker, count, due, events, good, half_opened,
    opened, rules, spawn, stale, trips_at, windowed,
};

/// Schedules a model is tried with, of each kind. All models together take a minute at most.
const SCHEDULES: usize = 20_000;
/// One more than the preemptions in a schedule of the second kind. What takes more to go wrong is left to the first kind.
const DEPTH: usize = 4;

type Owned = OwnedPermit<ManualClock>;

/// Tries `model` with schedules that may switch threads anywhere, and with some that hardly ever do. All its results.
fn explore<T: Ord + Send + 'static>(
    model: impl Fn() -> T + Copy + Send + Sync + 'static,
) -> BTreeSet<T> {
    let results = Arc::new(Mutex::new(BTreeSet::new()));
    let run = {
        let results = Arc::clone(&results);
        move || {
            let result = model();
            results.lock().unwrap().insert(result);
        }
    };
    shuttle::check_random(run.clone(), SCHEDULES);
    shuttle::check_pct(run, SCHEDULES, DEPTH);
    std::mem::take(&mut *results.lock().unwrap())
}

fn join<T>(threads: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn permits<const N: usize>(breaker: &Shared) -> [Owned; N] {
    std::array::from_fn(|_| breaker.try_acquire_owned().unwrap())
}

/// Probes at once, all of which have to succeed.
fn slotted(slots: u8) -> Config {
    Config { half_open_max_inflight: slots, success_threshold: slots, ..rules() }
}

/// Every way in which a call can end. The first is a failure.
const ENDINGS: [fn(Owned); 5] = [
    |permit| permit.settle(FAILED),
    |permit| permit.settle(Outcome::Success),
    |permit| permit.settle(Outcome::Neutral),
    |permit| permit.cancel(),
    drop,
];

fn failure(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Failure { .. })
}

#[test]
fn of_callers_around_the_deadline_as_many_are_admitted_as_there_are_slots() {
    for slots in [1, 3, 8] {
        explore(move || {
            let breaker = due(slotted(slots));
            breaker.clock().set(at(59));
            let mut threads: Vec<_> =
                (0..7).map(|_| spawn(&breaker, |breaker| breaker.try_acquire_owned())).collect();
            threads.push(spawn(&breaker, |breaker| {
                breaker.clock().set(at(60));
                breaker.try_acquire_owned()
            }));
            let mut answers = join(threads);
            // Those who came too early ask again.
            answers.extend((0..8).map(|_| breaker.try_acquire_owned()));

            let admitted = answers.iter().filter(|answer| answer.is_ok()).count();
            assert_eq!(admitted, usize::from(slots));
            assert!(answers.iter().all(|answer| match answer {
                Ok(probe) => probe.is_probe(),
                Err(Rejected::CircuitOpen { retry_in, .. }) => *retry_in == Duration::from_secs(1),
                Err(rejected) => matches!(rejected, Rejected::HalfOpenBusy { .. }),
            }));
            assert_eq!(breaker.view().in_flight, slots);
            answers.into_iter().flatten().for_each(Owned::cancel);
            assert_eq!(breaker.view().in_flight, 0);
            assert_eq!(count(&events(&breaker), half_opened), 1);
        });
    }
}

#[test]
fn eight_failures_are_counted_up_to_the_threshold_and_trip_once() {
    for threshold in [1, 4, 8] {
        explore(move || {
            let breaker = trips_at(threshold);
            join(permits::<8>(&breaker).map(|permit| thread::spawn(move || permit.settle(FAILED))));
            let View { state, generation, opens, .. } = breaker.view();
            assert_eq!((state, generation, opens), (State::Open, 1, 1));
            let (events, threshold) = (events(&breaker), threshold.into());
            assert_eq!((count(&events, opened), count(&events, failure)), (1, threshold));
            assert_eq!(count(&events, stale), 8 - threshold);
        });
    }
}

#[test]
fn eight_failures_below_the_threshold_are_a_streak_of_eight() {
    explore(|| {
        let breaker = trips_at(9);
        let categories = [Category::SERVER, Category::NETWORK];
        let threads = permits::<8>(&breaker).into_iter().zip(categories.into_iter().cycle()).map(
            |(permit, category)| thread::spawn(move || permit.settle(Outcome::failure(category))),
        );
        join(threads.collect::<Vec<_>>());
        let View { state, total_streak, streaks, .. } = breaker.view();
        assert_eq!((state, total_streak), (State::Closed, 8));
        assert_eq!(categories.map(|category| streaks[category.index()]), [4, 4]);
        assert_eq!(count(&events(&breaker), failure), 8);
    });
}

#[test]
fn each_call_of_six_threads_enters_the_window_once() {
    explore(|| {
        // Three of eleven are 27 % or more. Three of twelve are not, and ten are too few.
        let breaker = breaker(windowed(27, 11));
        let twice_good = |breaker: Shared| {
            good(&breaker);
            good(&breaker);
        };
        let mut threads: Vec<_> = (0..4).map(|_| spawn(&breaker, twice_good)).collect();
        threads.extend((0..2).map(|_| spawn(&breaker, |breaker| bad(&breaker))));
        join(threads);
        assert_eq!(breaker.state(), State::Closed);
        bad(&breaker);
        assert_eq!(breaker.view().cause, Some(Cause::CountRate));
    });
}

#[test]
fn dropped_probes_and_the_end_of_their_lease_open_once() {
    let causes = explore(|| {
        let breaker = due(slotted(3));
        let mut threads: Vec<_> = permits::<3>(&breaker)
            .into_iter()
            .map(|probe| thread::spawn(move || drop(probe)))
            .collect();
        threads.push(spawn(&breaker, |breaker| {
            breaker.clock().set(at(90));
            breaker.poll();
        }));
        threads.extend((0..2).map(|_| {
            spawn(&breaker, |breaker| {
                assert!(breaker.try_acquire().is_err(), "full, and then open");
            })
        }));
        join(threads);

        let View { state, opens, in_flight, cause, deadline, .. } = breaker.view();
        assert_eq!((state, opens, in_flight), (State::Open, 2, 0));
        let is_lost = cause == Some(Cause::LeaseExpired);
        let (opened_at, late) = if is_lost { (90, 3) } else { (60, 2) };
        assert_eq!(deadline, Some(at(opened_at + 120)));
        let events = events(&breaker);
        assert_eq!(count(&events, opened), 2, "the trip, and this");
        assert_eq!(count(&events, stale), late);
        is_lost
    });
    assert_eq!(causes, BTreeSet::from([false, true]), "either may come first");
}

#[test]
fn failures_beside_operators_are_counted_or_stale() {
    let late = explore(|| {
        let breaker = trips_at(2);
        let mut threads: Vec<_> = permits::<4>(&breaker)
            .into_iter()
            .map(|permit| thread::spawn(move || permit.settle(FAILED)))
            .collect();
        threads.push(spawn(&breaker, |breaker| breaker.trip(None, Cause::Sibling)));
        threads.push(spawn(&breaker, |breaker| breaker.reset()));
        threads.push(spawn(&breaker, |breaker| {
            breaker.set_mode(Mode::ForcedOpen);
            assert_eq!(breaker.try_acquire().map(drop), Err(Rejected::ForcedOpen));
            breaker.set_mode(Mode::Normal);
        }));
        join(threads);
        assert_eq!((breaker.mode(), breaker.view().in_flight), (Mode::Normal, 0));
        let events = events(&breaker);
        let late = count(&events, stale);
        assert_eq!(count(&events, failure) + late, 4);
        late
    });
    // The second failure ends the era, if nobody did before.
    assert_eq!(late, BTreeSet::from([2, 3, 4]));
}

#[test]
fn whatever_ends_after_its_era_changes_nothing() {
    // Without a streak a success takes the shortest way, with one a longer.
    for streak in [0, 1] {
        explore(move || {
            let breaker = trips_at(3);
            let late = permits::<5>(&breaker);
            breaker.reset();
            (0..streak).for_each(|_| bad(&breaker));
            let mut expected = breaker.view();
            let fresh = breaker.try_acquire_owned().unwrap();
            let mut threads: Vec<_> = late
                .into_iter()
                .zip(ENDINGS)
                .map(|(permit, end)| thread::spawn(move || end(permit)))
                .collect();
            threads.push(thread::spawn(move || fresh.settle(FAILED)));
            join(threads);
            // The one failure of this era is counted, the others are not, and no success ends the streak.
            expected.total_streak += 1;
            expected.streaks[Category::SERVER.index()] += 1;
            assert_eq!(breaker.view(), expected);
            assert_eq!(count(&events(&breaker), stale), 5);
        });
    }
}

#[test]
fn late_good_calls_enter_no_window_of_the_next_era() {
    explore(|| {
        let breaker = breaker(windowed(100, 2));
        let mut threads: Vec<_> = permits::<5>(&breaker)
            .into_iter()
            .map(|permit| thread::spawn(move || permit.settle(Outcome::Success)))
            .collect();
        threads.push(spawn(&breaker, |breaker| breaker.reset()));
        join(threads);
        bad(&breaker);
        bad(&breaker);
        // With a good one among them they would not be all.
        assert_eq!(breaker.view().cause, Some(Cause::CountRate));
    });
}

#[test]
fn rejections_never_mix_two_eras() {
    explore(|| {
        let breaker = due(rules());
        let probing = spawn(&breaker, |breaker| breaker.try_acquire().unwrap().settle(FAILED));
        let asking: Vec<_> = (0..5)
            .map(|_| spawn(&breaker, |breaker| breaker.try_acquire_at(at(59)).map(drop)))
            .collect();
        probing.join().unwrap();
        join(asking).iter().for_each(assert_of_one_era);
    });
}

#[test]
fn lost_probes_that_end_late_touch_no_probe_of_the_next_era() {
    explore(|| {
        let breaker = due(slotted(5));
        let lost = permits::<5>(&breaker);
        // Their lease is over, and so is the open that followed. The new ones are in the slots of the old.
        breaker.clock().set(at(210));
        let [a, b, c, remaining @ ..] = permits::<5>(&breaker);
        let mut threads: Vec<_> = lost
            .into_iter()
            .zip(ENDINGS)
            .map(|(probe, end)| thread::spawn(move || end(probe)))
            .collect();
        threads.extend([a, b, c].map(|probe| thread::spawn(|| probe.settle(Outcome::Success))));
        join(threads);
        let View { state, opens, successes, in_flight, free_slots, .. } = breaker.view();
        assert_eq!((state, opens), (State::HalfOpen, 2));
        assert_eq!((successes, in_flight, free_slots), (3, 2, 0));
        assert_eq!(count(&events(&breaker), stale), 5);
        remaining.into_iter().for_each(|probe| probe.settle(Outcome::Success));
        assert_eq!((breaker.state(), breaker.view().in_flight), (State::Closed, 0));
    });
}

/// Probes under way as their callers know them, by era: at no time more than there really are.
#[derive(Default)]
struct Held(Mutex<BTreeMap<u64, u8>>);

impl Held {
    fn begin(&self, probe: &Owned, slots: u8) {
        let mut held = self.0.lock().unwrap();
        let held = held.entry(probe.generation()).or_default();
        *held += 1;
        assert!(*held <= slots, "{held} probes in {slots} slots");
    }

    fn end(&self, probe: &Owned) {
        *self.0.lock().unwrap().get_mut(&probe.generation()).unwrap() -= 1;
    }
}

#[test]
fn whatever_callers_and_operators_do_is_one_history_that_loses_nothing() {
    const SLOTS: u8 = 2;
    explore(|| {
        let breaker = due(Config {
            failure_threshold: 2,
            half_open_max_inflight: SLOTS,
            event_capacity: 1_024,
            ..rules()
        });
        let held = Arc::new(Held::default());
        let callers = (0..6).map(|_| {
            let held = Arc::clone(&held);
            spawn(&breaker, move |breaker| {
                let mut failed = 0;
                for _ in 0..4 {
                    let Ok(permit) = breaker.try_acquire_owned() else {
                        breaker.clock().advance(Duration::from_secs(10));
                        continue;
                    };
                    if permit.is_probe() {
                        held.begin(&permit, SLOTS);
                    }
                    thread::yield_now();
                    if permit.is_probe() {
                        held.end(&permit);
                    }
                    let end = thread_rng().gen_range(0..ENDINGS.len());
                    failed += usize::from(end == 0);
                    ENDINGS[end](permit);
                }
                failed
            })
        });
        let operators = (0..2).map(|_| {
            spawn(&breaker, |breaker| {
                for _ in 0..3 {
                    match thread_rng().gen_range(0..4) {
                        0 => breaker.trip(None, Cause::Manual),
                        1 => breaker.reset(),
                        2 => breaker.set_mode(Mode::ForcedOpen),
                        _ => breaker.set_mode(Mode::Normal),
                    }
                }
                0
            })
        });
        let threads: Vec<_> = callers.chain(operators).collect();
        let failed: usize = join(threads).into_iter().sum();

        assert_eq!(breaker.view().in_flight, 0);
        let events = events(&breaker);
        let counted = count(&events, |kind| {
            matches!(kind, EventKind::Failure { category: Category::SERVER, .. })
        });
        let late = count(&events, |kind| {
            let outcome = Some(StaleOutcome::Failure(Category::SERVER));
            matches!(kind, EventKind::Stale { outcome: found, .. } if *found == outcome)
        });
        assert_eq!(counted + late, failed);
    });
}
