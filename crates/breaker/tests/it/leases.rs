//! A probe that says nothing is given up at the end of its lease, whoever notices that and when.

use std::time::Duration;

use fusebox_breaker::{Category, Cause, Config, EventKind, Mode, Outcome, Rejected, State, Tick};

use crate::rig::{Rig, at, plain, seconds};

#[test]
fn a_lost_probe_opens_at_the_end_of_its_lease() {
    let rig = Rig::half_open();
    let lost = rig.permit();
    rig.events();
    rig.clock.set(Tick::from_nanos(at(90).as_nanos() - 1));
    assert_eq!(rig.breaker.poll(), State::HalfOpen);

    rig.to(95);
    assert_eq!(rig.breaker.poll(), State::Open);
    let view = rig.breaker.view();
    assert_eq!(
        (view.opens, view.deadline, view.cause),
        (2, Some(at(210)), Some(Cause::LeaseExpired))
    );
    let events = rig.events();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].at, at(90));
    let opened = EventKind::Opened {
        from: State::HalfOpen,
        cause: Cause::LeaseExpired,
        category: Some(Category::TIMEOUT),
        failures: 1,
        opens: 2,
        delay: seconds(120),
        jitter: Duration::ZERO,
        hint: None,
        deadline: at(210),
    };
    assert_eq!(events[0].kind, opened);
    lost.cancel();
}

#[test]
fn the_lease_ends_when_it_is_exactly_over() {
    let rig = Rig::half_open();
    let _lost = rig.permit();
    rig.to(90);
    assert_eq!(rig.breaker.view().state, State::Open);
    let cause = Cause::LeaseExpired;
    assert_eq!(rig.rejection(), Rejected::CircuitOpen { retry_in: seconds(120), cause });
}

#[test]
fn noticed_after_its_deadline_it_is_half_open_again() {
    let rig = Rig::half_open();
    let lost = rig.permit();
    rig.events();
    rig.to(210);
    let probe = rig.permit();
    assert!(probe.is_probe());
    assert_eq!(rig.breaker.view().opens, 2);
    let kinds = rig.kinds();
    assert!(
        matches!(kinds[0], EventKind::Opened { cause: Cause::LeaseExpired, deadline, .. } if deadline == at(210))
    );
    assert_eq!(kinds[1], EventKind::HalfOpened { cause: Cause::Traffic, opens: 2 });

    lost.settle(Outcome::Neutral);
    assert_eq!(rig.breaker.view().in_flight, 1, "the new probe's slot is untouched");
    probe.settle(Outcome::Success);
    assert_eq!(rig.breaker.view().successes, 1);
}

#[test]
fn an_answer_after_the_lease_comes_too_late_even_if_nobody_noticed() {
    let rig = Rig::half_open();
    let late = rig.permit();
    rig.events();
    rig.to(90);
    late.settle(Outcome::Success);
    let view = rig.breaker.view();
    assert_eq!((view.stored, view.opens, view.deadline), (State::Open, 2, Some(at(210))));
    let kinds = rig.kinds();
    assert!(matches!(kinds[0], EventKind::Opened { cause: Cause::LeaseExpired, .. }));
    assert!(matches!(kinds[1], EventKind::Stale { .. }));
}

#[test]
fn an_answer_just_before_the_end_of_the_lease_counts() {
    let rig = Rig::half_open();
    let probe = rig.permit();
    rig.clock.set(Tick::from_nanos(at(90).as_nanos() - 1));
    probe.settle(Outcome::Success);
    assert_eq!(rig.breaker.view().successes, 1);
}

#[test]
fn the_oldest_probe_decides() {
    let rig = Rig::new(Config { half_open_max_inflight: 2, ..plain() });
    rig.fail(5);
    rig.to(60);
    let old = rig.permit();
    rig.to(80);
    let young = rig.permit();
    rig.to(89);
    old.settle(Outcome::Success);
    rig.to(109);
    assert_eq!(rig.breaker.poll(), State::HalfOpen);
    rig.to(110);
    assert_eq!(rig.breaker.poll(), State::Open);
    assert_eq!(rig.deadline(), at(230));
    young.cancel();
}

#[test]
fn a_trip_after_the_lease_counts_the_lost_probe_first() {
    let rig = Rig::half_open();
    let _lost = rig.permit();
    rig.to(100);
    rig.breaker.trip(Some(at(1_000)), Cause::Manual);
    let view = rig.breaker.view();
    assert_eq!((view.opens, view.deadline), (2, Some(at(1_000))));
}

#[test]
fn with_jitter_the_deadline_does_not_depend_on_who_notices() {
    for _ in 0..20 {
        let rig = Rig::new(Config { jitter_percent: 50, ..plain() });
        rig.fail(5);
        rig.clock.set(rig.deadline());
        let _lost = rig.permit();
        rig.clock.advance(seconds(30));
        let seen = rig.breaker.view().deadline;
        rig.clock.advance(seconds(1));
        assert_eq!(rig.breaker.view().deadline, seen);
        rig.breaker.poll();
        assert_eq!(rig.breaker.view().deadline, seen);
    }
}

/// Found by the model: held open before anybody noticed the loss, the breaker forgot that it had failed again.
#[test]
fn a_breaker_held_open_after_the_lease_counts_the_lost_probe_first() {
    for change in [Mode::ForcedOpen, Mode::Shadow] {
        let rig = Rig::half_open();
        let _lost = rig.permit();
        rig.to(90);
        rig.breaker.set_mode(change);
        assert_eq!(rig.breaker.view().opens, 2);
    }
}
