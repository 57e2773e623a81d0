//! The transition table, one test a cell that does something.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fusebox_breaker::{
    Category, Cause, Config, EventKind, Failure, OnDrop, Outcome, Rejected, StaleOutcome, State,
    Tick,
};

use crate::rig::{GENERIC, Rig, at, plain, seconds};

const NANOSECOND: Duration = Duration::from_nanos(1);

// ── acquire ──

#[test]
fn closed_gives_permits_without_bound() {
    let rig = Rig::plain();
    let permits: Vec<_> = (0..100).map(|_| rig.permit()).collect();
    assert!(permits.iter().all(|permit| !permit.is_probe() && permit.generation() == 0));
    permits.into_iter().for_each(|permit| permit.settle(Outcome::Success));
}

#[test]
fn a_permit_shows_its_era_and_what_it_is() {
    let rig = Rig::half_open();
    let probe = format!("{:?}", rig.permit());
    assert!(probe.contains("generation: 2, pass: Probe(0)"), "{probe}");
    let rig = Rig::plain();
    let call = format!("{:?}", rig.permit());
    assert!(call.contains("generation: 0, pass: Normal"), "{call}");
}

#[test]
fn open_rejects_until_the_nanosecond_before_its_deadline() {
    let rig = Rig::open();
    let before = rig.breaker.view();
    let cause = Cause::Total;
    assert_eq!(rig.rejection(), Rejected::CircuitOpen { retry_in: seconds(60), cause });
    rig.clock.set(Tick::from_nanos(at(60).as_nanos() - 1));
    assert_eq!(rig.rejection(), Rejected::CircuitOpen { retry_in: NANOSECOND, cause });
    assert_eq!(rig.breaker.view(), before, "a reject writes nothing");

    rig.to(60);
    assert!(rig.permit().is_probe());
}

#[test]
fn the_call_at_the_deadline_is_half_open_with_its_slot_taken() {
    let rig = Rig::open();
    rig.events();
    rig.to(61);
    let probe = rig.permit();
    let view = rig.breaker.view();
    assert_eq!(
        (view.stored, view.in_flight, view.free_slots, view.opens),
        (State::HalfOpen, 1, 0, 1)
    );
    assert_eq!(rig.kinds(), [EventKind::HalfOpened { cause: Cause::Traffic, opens: 1 }]);
    assert_eq!(rig.rejection(), Rejected::HalfOpenBusy { retry_in: seconds(30) });
    probe.cancel();
}

#[test]
fn a_poll_at_the_deadline_takes_no_slot() {
    let rig = Rig::open();
    rig.events();
    rig.clock.set(Tick::from_nanos(at(60).as_nanos() - 1));
    assert_eq!(rig.breaker.poll(), State::Open);
    rig.to(60);
    assert_eq!(rig.breaker.poll(), State::HalfOpen);
    let view = rig.breaker.view();
    assert_eq!((view.in_flight, view.free_slots), (0, 1));
    assert_eq!(rig.kinds(), [EventKind::HalfOpened { cause: Cause::Proactive, opens: 1 }]);
}

#[test]
fn slots_are_never_more_than_successes_still_needed() {
    let cfg = Config { half_open_max_inflight: 5, success_threshold: 3, ..plain() };
    let rig = Rig::new(cfg);
    rig.fail(5);
    rig.to(60);
    let probes: Vec<_> = (0..3).map(|_| rig.permit()).collect();
    assert!(matches!(rig.rejection(), Rejected::HalfOpenBusy { .. }));

    let mut probes = probes.into_iter();
    probes.next().unwrap().settle(Outcome::Success);
    assert_eq!(rig.breaker.view().free_slots, 0, "two are needed and two are under way");
    probes.next().unwrap().settle(Outcome::Neutral);
    assert_eq!(rig.breaker.view().free_slots, 1, "two are needed and one is under way");
    rig.permit().settle(Outcome::Success);
    probes.next().unwrap().settle(Outcome::Success);
    assert_eq!(rig.stored(), State::Closed);
}

#[test]
fn slots_are_never_more_than_the_bound() {
    for bound in [1, 2, 16] {
        let cfg = Config { half_open_max_inflight: bound, success_threshold: 255, ..plain() };
        let rig = Rig::new(cfg);
        rig.fail(5);
        rig.to(60);
        let probes: Vec<_> = (0..bound).map(|_| rig.permit()).collect();
        assert_eq!(rig.breaker.view().in_flight, bound);
        assert!(matches!(rig.rejection(), Rejected::HalfOpenBusy { .. }));
        probes.into_iter().for_each(|probe| probe.cancel());
        assert_eq!(rig.breaker.view().in_flight, 0);
    }
}

#[test]
fn busy_until_the_oldest_lease_ends() {
    let cfg = Config { half_open_max_inflight: 2, ..plain() };
    let rig = Rig::new(cfg);
    rig.fail(5);
    rig.to(60);
    let first = rig.permit();
    rig.to(70);
    let second = rig.permit();
    rig.to(80);
    assert_eq!(rig.rejection(), Rejected::HalfOpenBusy { retry_in: seconds(10) });
    first.settle(Outcome::Neutral);
    let third = rig.permit();
    assert_eq!(rig.rejection(), Rejected::HalfOpenBusy { retry_in: seconds(20) });
    second.cancel();
    third.cancel();
}

// ── results in closed ──

#[test]
fn the_failure_that_reaches_the_threshold_opens() {
    let rig = Rig::plain();
    rig.fail(4);
    let view = rig.breaker.view();
    assert_eq!(
        (view.state, view.total_streak, view.streaks[Category::GENERIC.index()]),
        (State::Closed, 4, 4)
    );
    rig.events();

    rig.fail(1);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.deadline), (State::Open, 1, Some(at(60))));
    assert_eq!((view.total_streak, view.cause), (0, Some(Cause::Total)));
    let opened = EventKind::Opened {
        from: State::Closed,
        cause: Cause::Total,
        category: Some(Category::GENERIC),
        failures: 5,
        opens: 1,
        delay: seconds(60),
        jitter: Duration::ZERO,
        hint: None,
        deadline: at(60),
    };
    let failure =
        EventKind::Failure { category: Category::GENERIC, state: State::Closed, hint: None };
    assert_eq!(rig.kinds(), [failure, opened]);
}

#[test]
fn a_success_or_an_answer_ends_every_streak() {
    for good in [Outcome::Success, Outcome::Answered] {
        let rig = Rig::plain();
        rig.fail(3);
        rig.does(Outcome::failure(Category::NETWORK));
        rig.does(good);
        let view = rig.breaker.view();
        assert_eq!((view.total_streak, view.streaks), (0, [0; Category::COUNT]));
        rig.fail(4);
        assert_eq!(rig.stored(), State::Closed);
        rig.fail(1);
        assert_eq!(rig.stored(), State::Open);
    }
}

#[test]
fn neutral_and_cancelled_calls_leave_streaks_alone() {
    let rig = Rig::plain();
    rig.fail(4);
    rig.does(Outcome::Neutral);
    rig.permit().cancel();
    assert_eq!(rig.breaker.view().total_streak, 4);
    rig.fail(1);
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn a_category_trips_at_its_own_threshold_and_others_do_not_interrupt_it() {
    let rig = Rig::new(plain().category_threshold(Category::TIMEOUT, 2));
    let timeout = Outcome::failure(Category::TIMEOUT);
    rig.does(timeout);
    rig.does(GENERIC);
    assert_eq!(rig.stored(), State::Closed);
    rig.does(timeout);
    assert_eq!(rig.breaker.view().cause, Some(Cause::Category(Category::TIMEOUT)));
}

#[test]
fn the_category_names_the_cause_where_the_total_is_reached_too() {
    let rig = Rig::new(plain().category_threshold(Category::SERVER, 5));
    for _ in 0..5 {
        rig.does(Outcome::failure(Category::SERVER));
    }
    assert_eq!(rig.breaker.view().cause, Some(Cause::Category(Category::SERVER)));
}

#[test]
fn a_category_counts_with_the_total_off() {
    let rig =
        Rig::new(Config { failure_threshold: 0, ..plain() }.category_threshold(Category::AUTH, 7));
    rig.fail(100);
    for _ in 0..6 {
        rig.does(Outcome::failure(Category::AUTH));
    }
    assert_eq!(rig.stored(), State::Closed);
    rig.does(Outcome::failure(Category::AUTH));
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn streaks_saturate() {
    let rig =
        Rig::new(Config { failure_threshold: 0, ..plain() }.category_threshold(Category::AUTH, 7));
    rig.fail(70_000);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.total_streak), (State::Closed, u16::MAX));
}

#[test]
fn a_dropped_permit_is_a_timeout() {
    let rig = Rig::plain();
    drop(rig.permit());
    let view = rig.breaker.view();
    assert_eq!((view.total_streak, view.streaks[Category::TIMEOUT.index()]), (1, 1));
    let failure =
        EventKind::Failure { category: Category::TIMEOUT, state: State::Closed, hint: None };
    assert_eq!(rig.kinds(), [failure, EventKind::Timeout { elapsed: None }]);
}

#[test]
fn evidence_counts_as_a_failure() {
    let rig = Rig::plain();
    for _ in 0..5 {
        rig.breaker.record_failure(Failure::new(Category::NETWORK).retry_after(seconds(90)));
    }
    let view = rig.breaker.view();
    assert_eq!((view.state, view.deadline), (State::Open, Some(at(90))));
}

// ── results in open ──

#[test]
fn results_while_open_change_nothing() {
    let rig = Rig::plain();
    let late: Vec<_> = (0..6).map(|_| rig.permit()).collect();
    rig.fail(5);
    rig.events();
    let before = rig.breaker.view();

    let mut late = late.into_iter();
    late.next().unwrap().settle(GENERIC);
    late.next().unwrap().settle(Outcome::Success);
    late.next().unwrap().settle(Outcome::Answered);
    late.next().unwrap().settle(Outcome::Neutral);
    late.next().unwrap().cancel();
    drop(late.next().unwrap());
    rig.breaker.record_failure(Failure::new(Category::NETWORK));

    assert_eq!(rig.breaker.view(), before);
    let stale = |outcome| EventKind::Stale { outcome, from_generation: 0 };
    assert_eq!(
        rig.kinds(),
        [
            stale(Some(StaleOutcome::Failure(Category::GENERIC))),
            stale(Some(StaleOutcome::Success)),
            stale(Some(StaleOutcome::Answered)),
            stale(Some(StaleOutcome::Neutral)),
            stale(None),
            stale(None),
        ]
    );
}

// ── results in half-open ──

#[test]
fn enough_good_probes_close() {
    for good in [Outcome::Success, Outcome::Answered] {
        let rig = Rig::half_open();
        rig.events();
        rig.does(good);
        let view = rig.breaker.view();
        assert_eq!((view.state, view.successes), (State::HalfOpen, 1));
        rig.does(good);
        let view = rig.breaker.view();
        assert_eq!((view.state, view.opens, view.deadline), (State::Closed, 0, None));
        assert_eq!(rig.kinds(), [EventKind::Closed { cause: Cause::Recovered, opens: 1 }]);
    }
}

#[test]
fn a_bad_probe_opens_for_twice_as_long() {
    let rig = Rig::half_open();
    rig.succeed(1);
    rig.events();
    rig.does(Outcome::failure(Category::SERVER));
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.deadline), (State::Open, 2, Some(at(180))));
    assert_eq!(view.cause, Some(Cause::ProbeFailed(Category::SERVER)));
    let EventKind::Opened { from, failures, .. } = rig.kinds()[1] else { panic!("opened") };
    assert_eq!((from, failures), (State::HalfOpen, 1), "the failures of the era that ended");

    rig.to(180);
    rig.breaker.poll();
    assert_eq!(rig.breaker.view().successes, 0, "earlier good probes are forgotten");
}

#[test]
fn a_neutral_probe_gives_its_slot_back() {
    let rig = Rig::half_open();
    rig.does(Outcome::Neutral);
    rig.permit().cancel();
    let view = rig.breaker.view();
    assert_eq!(
        (view.state, view.in_flight, view.free_slots, view.successes),
        (State::HalfOpen, 0, 1, 0)
    );
}

#[test]
fn a_dropped_probe_opens() {
    let rig = Rig::half_open();
    drop(rig.permit());
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.cause), (State::Open, 2, Some(Cause::ProbeDropped)));
}

#[test]
fn a_panicking_probe_opens() {
    let rig = Rig::half_open();
    let call = AssertUnwindSafe(|| rig.breaker.call(|| -> Result<(), ()> { panic!("on purpose") }));
    assert!(catch_unwind(call).is_err());
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.cause), (State::Open, 2, Some(Cause::ProbePanicked)));
}

#[test]
fn with_on_drop_cancel_a_drop_is_neutral() {
    let rig = Rig::new(Config { on_drop: OnDrop::Cancel, ..plain() });
    for _ in 0..10 {
        drop(rig.permit());
    }
    assert_eq!(rig.breaker.view().total_streak, 0);
    rig.fail(5);
    rig.to(60);
    drop(rig.permit());
    let view = rig.breaker.view();
    assert_eq!((view.state, view.in_flight), (State::HalfOpen, 0));
    assert!(!rig.kinds().iter().any(|kind| matches!(kind, EventKind::Timeout { .. })));
}

#[test]
fn a_sealed_breaker_takes_drops_for_cancels() {
    let rig = Rig::half_open();
    let probe = rig.permit();
    rig.breaker.seal();
    drop(probe);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.in_flight), (State::HalfOpen, 0));
    rig.does(GENERIC);
    assert_eq!(rig.stored(), State::Open, "a failure that is told still counts");
}

#[test]
fn evidence_does_not_reopen_a_half_open_breaker() {
    let rig = Rig::half_open();
    rig.breaker.record_failure(Failure::new(Category::NETWORK));
    assert_eq!(rig.stored(), State::HalfOpen);
}

// ── trip and reset ──

#[test]
fn a_trip_opens_a_closed_breaker() {
    let rig = Rig::plain();
    rig.fail(2);
    rig.events();
    rig.to(10);
    rig.breaker.trip(None, Cause::Sibling);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.deadline), (State::Open, 1, Some(at(70))));
    let opened = EventKind::Opened {
        from: State::Closed,
        cause: Cause::Sibling,
        category: None,
        failures: 2,
        opens: 1,
        delay: seconds(60),
        jitter: Duration::ZERO,
        hint: None,
        deadline: at(70),
    };
    assert_eq!(rig.kinds(), [opened]);

    let rig = Rig::plain();
    rig.breaker.trip(Some(at(7)), Cause::Manual);
    assert_eq!(rig.deadline(), at(7));
}

#[test]
fn a_trip_of_an_open_breaker_takes_the_later_deadline() {
    let rig = Rig::open();
    rig.events();
    let before = rig.breaker.view();
    rig.breaker.trip(Some(at(59)), Cause::Manual);
    rig.breaker.trip(Some(at(60)), Cause::Manual);
    assert_eq!(rig.breaker.view(), before);
    assert_eq!(rig.events(), []);

    rig.breaker.trip(Some(at(61)), Cause::Manual);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.deadline), (State::Open, 1, Some(at(61))));
    assert!(matches!(
        rig.kinds()[..],
        [EventKind::Opened { from: State::Open, cause: Cause::Manual, .. }]
    ));
}

#[test]
fn a_trip_of_a_half_open_breaker_keeps_the_number_of_opens() {
    let rig = Rig::half_open();
    let probe = rig.permit();
    rig.breaker.trip(None, Cause::Manual);
    let view = rig.breaker.view();
    assert_eq!(
        (view.state, view.opens, view.deadline, view.in_flight),
        (State::Open, 1, Some(at(120)), 0)
    );
    probe.settle(Outcome::Success);
    assert_eq!(rig.breaker.view(), view, "the probe is stale");
}

#[test]
fn a_trip_until_the_past_is_over_at_once() {
    let rig = Rig::plain();
    rig.to(50);
    rig.breaker.trip(Some(at(3)), Cause::Manual);
    assert_eq!(rig.stored(), State::Open);
    assert!(rig.permit().is_probe());
}

#[test]
fn a_reset_of_a_closed_breaker_forgets_and_begins_anew() {
    let rig = Rig::plain();
    rig.fail(4);
    let before = rig.permit();
    rig.breaker.reset();
    assert_eq!(rig.breaker.view().total_streak, 0);
    before.settle(GENERIC);
    assert_eq!(rig.breaker.view().total_streak, 0, "an earlier call is stale");
    rig.fail(4);
    assert_eq!(rig.stored(), State::Closed);
}

#[test]
fn a_reset_closes() {
    for rig in [Rig::open(), Rig::half_open()] {
        rig.events();
        rig.breaker.reset();
        let view = rig.breaker.view();
        assert_eq!((view.state, view.opens, view.deadline), (State::Closed, 0, None));
        assert_eq!(rig.kinds(), [EventKind::Closed { cause: Cause::Manual, opens: 1 }]);
    }
}

#[test]
fn after_closing_the_next_open_is_the_first_again() {
    let rig = Rig::half_open();
    rig.fail(1);
    rig.to(180);
    rig.succeed(2);
    rig.fail(5);
    let view = rig.breaker.view();
    assert_eq!((view.opens, view.deadline), (1, Some(at(240))));
}
