//! Forced-open, disabled and shadow.

use fusebox_breaker::{
    Category, Cause, Config, EventKind, Failure, Mode, Outcome, Rejected, State,
};

use crate::rig::{GENERIC, Rig, at, plain};

#[test]
fn forced_open_rejects_all_whatever_happens() {
    let rig = Rig::plain();
    let early = rig.permit();
    rig.breaker.set_mode(Mode::ForcedOpen);
    assert_eq!(rig.rejection(), Rejected::ForcedOpen);
    assert_eq!(rig.rejection().retry_in(), None);
    let before = rig.breaker.view();
    assert_eq!((before.state, before.deadline), (State::Open, None));

    rig.to(1_000_000);
    early.settle(GENERIC);
    rig.breaker.record_failure(Failure::new(Category::NETWORK));
    rig.breaker.trip(Some(at(5)), Cause::Manual);
    rig.breaker.reset();
    assert_eq!(rig.breaker.poll(), State::Open);
    assert_eq!(rig.breaker.state(), State::Open);
    assert_eq!(rig.breaker.view(), before);
    assert_eq!(rig.rejection(), Rejected::ForcedOpen);
}

#[test]
fn leaving_forced_open_probes_first() {
    for (to, shadow) in [(Mode::Normal, false), (Mode::Shadow, true)] {
        let rig = Rig::plain();
        let early = rig.permit();
        rig.breaker.set_mode(Mode::ForcedOpen);
        rig.events();
        rig.breaker.set_mode(to);
        let events = rig.events();
        assert_eq!(events[0].kind, EventKind::Mode { from: Mode::ForcedOpen, to });
        assert_eq!(events[1].kind, EventKind::HalfOpened { cause: Cause::Manual, opens: 0 });
        assert!(events.iter().all(|event| event.shadow == shadow));

        early.settle(GENERIC);
        assert_eq!(rig.stored(), State::HalfOpen, "an earlier permit is stale");
        rig.does(GENERIC);
        assert_eq!((rig.stored(), rig.breaker.view().opens), (State::Open, 1));
    }
}

#[test]
fn a_breaker_held_open_remembers_how_often_it_opened() {
    let rig = Rig::open();
    rig.breaker.set_mode(Mode::ForcedOpen);
    rig.breaker.set_mode(Mode::Normal);
    rig.does(GENERIC);
    assert_eq!(rig.breaker.view().opens, 2);
}

#[test]
fn disabled_admits_all_and_records_nothing() {
    let rig = Rig::open();
    let early = Rig::plain();
    let permit = early.permit();
    early.breaker.set_mode(Mode::Disabled);
    early.events();
    permit.settle(GENERIC);
    assert_eq!(early.events(), []);

    rig.breaker.set_mode(Mode::Disabled);
    rig.events();
    rig.fail(100);
    drop(rig.permit());
    rig.breaker.record_failure(Failure::new(Category::NETWORK));
    rig.breaker.trip(None, Cause::Manual);
    rig.breaker.reset();
    assert_eq!(rig.breaker.poll(), State::Closed);
    assert_eq!(rig.events(), []);

    let unfinished = rig.permit();
    rig.breaker.set_mode(Mode::Normal);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.total_streak, view.opens), (State::Closed, 0, 0));
    rig.fail(4);
    unfinished.settle(GENERIC);
    assert_eq!(
        rig.breaker.view().total_streak,
        4,
        "a permit of the disabled breaker counts for nothing"
    );
}

#[test]
fn disabled_and_back_makes_earlier_permits_stale() {
    let rig = Rig::plain();
    let early = rig.permit();
    rig.breaker.set_mode(Mode::Disabled);
    rig.breaker.set_mode(Mode::Normal);
    early.settle(GENERIC);
    assert_eq!(rig.breaker.view().total_streak, 0);
}

#[test]
fn from_forced_open_to_disabled_is_closed() {
    let rig = Rig::open();
    rig.breaker.set_mode(Mode::ForcedOpen);
    rig.breaker.set_mode(Mode::Disabled);
    assert_eq!(rig.breaker.state(), State::Closed);
    assert!(rig.ask().is_ok_and(|permit| {
        permit.cancel();
        true
    }));
    rig.breaker.set_mode(Mode::ForcedOpen);
    assert_eq!(rig.rejection(), Rejected::ForcedOpen);
    rig.breaker.set_mode(Mode::Normal);
    assert_eq!((rig.stored(), rig.breaker.view().opens), (State::HalfOpen, 0));
}

#[test]
fn shadow_opens_and_admits_all_the_same() {
    let rig = Rig::new(Config { mode: Mode::Shadow, ..plain() });
    rig.fail(5);
    assert_eq!(rig.stored(), State::Open);
    let ignored = rig.permit();
    assert!(!ignored.is_probe());
    let before = rig.breaker.view();
    ignored.settle(GENERIC);
    rig.does(Outcome::Success);
    assert_eq!(rig.breaker.view(), before);
    assert!(rig.events().iter().all(|event| event.shadow));

    rig.to(60);
    let probe = rig.permit();
    assert!(probe.is_probe());
    assert!(!rig.permit().is_probe(), "one that would be rejected as busy");
    probe.settle(Outcome::Success);
    assert_eq!(rig.breaker.view().successes, 1);
}

#[test]
fn shadow_and_normal_go_on_from_each_other() {
    let rig = Rig::plain();
    rig.fail(4);
    let permit = rig.permit();
    rig.breaker.set_mode(Mode::Shadow);
    assert_eq!(rig.breaker.view().total_streak, 4);
    permit.settle(GENERIC);
    assert_eq!(rig.stored(), State::Open);
    rig.breaker.set_mode(Mode::Normal);
    assert!(rig.ask().is_err());
}

#[test]
fn a_breaker_can_start_in_any_mode() {
    let rig = Rig::new(Config { mode: Mode::ForcedOpen, ..plain() });
    assert_eq!((rig.rejection(), rig.breaker.mode()), (Rejected::ForcedOpen, Mode::ForcedOpen));
    let rig = Rig::new(Config { mode: Mode::Disabled, ..plain() });
    rig.fail(100);
    assert_eq!((rig.stored(), rig.breaker.mode()), (State::Closed, Mode::Disabled));
}

#[test]
fn the_same_mode_again_is_nothing() {
    for mode in [Mode::Normal, Mode::ForcedOpen, Mode::Disabled, Mode::Shadow] {
        let rig = Rig::new(Config { mode, ..plain() });
        let before = rig.breaker.view();
        rig.breaker.set_mode(mode);
        assert_eq!(rig.breaker.view(), before);
        assert_eq!(rig.events(), []);
    }
}
