//! Snapshots, and what is believed of them.

use fusebox_breaker::{
    Breaker, Category, Cause, Config, EventKind, ManualClock, Mode, Rejected, Snapshot, State,
    UnixMillis,
};

use crate::rig::{GENERIC, Rig, at, plain, seconds};

const SAVED: UnixMillis = UnixMillis(1_700_000_000_000);

fn wall(seconds_later: i64) -> UnixMillis {
    UnixMillis(SAVED.0.saturating_add_signed(seconds_later * 1_000))
}

/// Opened at 0 s, saved at 20 s, so with 40 s left.
fn saved_open() -> Snapshot {
    let rig = Rig::open();
    rig.to(20);
    rig.breaker.snapshot(SAVED)
}

fn restored(snapshot: &Snapshot, at: UnixMillis) -> Rig {
    let clock = ManualClock::new();
    let breaker = Breaker::restore(plain(), clock.clone(), snapshot, at).expect("valid rules");
    Rig { breaker: breaker.into(), clock }
}

#[test]
fn open_stays_open_for_what_is_left() {
    let rig = restored(&saved_open(), wall(0));
    let view = rig.breaker.view();
    assert_eq!((view.state, view.opens, view.deadline), (State::Open, 1, Some(at(40))));
    let why = Rejected::CircuitOpen { retry_in: seconds(40), cause: Cause::Total };
    assert_eq!(rig.rejection(), why, "the cause outlives the restart");
    assert!(matches!(
        rig.kinds()[..],
        [EventKind::Opened { cause: Cause::Restored, opens: 1, .. }]
    ));

    assert_eq!(restored(&saved_open(), wall(39)).deadline(), at(1));
}

#[test]
fn open_and_due_is_half_open() {
    for later in [40, 41, 86_400] {
        let rig = restored(&saved_open(), wall(later));
        assert_eq!(rig.stored(), State::HalfOpen);
        assert_eq!(rig.kinds(), [EventKind::HalfOpened { cause: Cause::Restored, opens: 1 }]);
        rig.does(GENERIC);
        assert_eq!(rig.breaker.view().opens, 2, "the number of opens outlives the restart");
    }
}

#[test]
fn a_wall_clock_that_went_back_makes_it_no_longer() {
    for earlier in [-1, -3_600, -1_700_000_000] {
        assert_eq!(restored(&saved_open(), wall(earlier)).deadline(), at(40));
    }
}

#[test]
fn half_open_stays_half_open_and_its_probes_are_forgotten() {
    let rig = Rig::half_open();
    let probe = rig.permit();
    let snapshot = rig.breaker.snapshot(SAVED);
    assert_eq!(snapshot.deadline_wall, None);
    let rig = restored(&snapshot, wall(0));
    let view = rig.breaker.view();
    assert_eq!((view.state, view.in_flight, view.opens), (State::HalfOpen, 0, 1));
    probe.cancel();
}

#[test]
fn what_time_has_changed_is_in_the_snapshot() {
    let rig = Rig::half_open();
    let _lost = rig.permit();
    rig.to(100);
    let snapshot = rig.breaker.snapshot(SAVED);
    assert_eq!(
        (snapshot.state, snapshot.n, snapshot.deadline_wall),
        (State::Open, 2, Some(wall(110)))
    );

    let rig = Rig::open();
    rig.to(60);
    assert_eq!(rig.breaker.snapshot(SAVED).state, State::HalfOpen);
    assert_eq!(rig.stored(), State::Open, "a snapshot changes nothing");
}

#[test]
fn closed_stays_closed_with_streaks_at_zero() {
    let rig = Rig::plain();
    rig.fail(4);
    let rig = restored(&rig.breaker.snapshot(SAVED), wall(5));
    assert_eq!((rig.stored(), rig.breaker.view().total_streak), (State::Closed, 0));
    assert_eq!(rig.events(), []);
}

#[test]
fn forced_open_stays() {
    let rig = Rig::open();
    rig.breaker.set_mode(Mode::ForcedOpen);
    let rig = restored(&rig.breaker.snapshot(SAVED), wall(1_000_000));
    assert_eq!(rig.rejection(), Rejected::ForcedOpen);
    rig.breaker.set_mode(Mode::Normal);
    rig.does(GENERIC);
    assert_eq!(rig.breaker.view().opens, 2);
}

#[test]
fn other_modes_come_from_the_configuration() {
    let mut snapshot = saved_open();
    snapshot.mode = Mode::Disabled;
    assert_eq!(restored(&snapshot, wall(0)).breaker.mode(), Mode::Normal);
    let disabled = Config { mode: Mode::Disabled, ..plain() };
    let breaker = Breaker::restore(disabled, ManualClock::new(), &saved_open(), wall(0)).unwrap();
    assert_eq!((breaker.mode(), breaker.state()), (Mode::Disabled, State::Closed));
}

#[test]
fn unknown_is_not_healthy() {
    let rig = restored(&Snapshot::unknown(), wall(0));
    assert_eq!(rig.stored(), State::HalfOpen);
    rig.does(fusebox_breaker::Outcome::failure(Category::SERVER));
    assert_eq!((rig.breaker.view().opens, rig.deadline()), (1, at(60)));

    let mut newer = saved_open();
    newer.version = Snapshot::VERSION + 1;
    newer.state = State::Closed;
    assert_eq!(restored(&newer, wall(0)).stored(), State::HalfOpen);
}

#[test]
fn nonsense_in_a_snapshot_does_no_harm() {
    let mut snapshot = saved_open();
    snapshot.deadline_wall = None;
    assert_eq!(restored(&snapshot, wall(0)).stored(), State::HalfOpen);
    snapshot.deadline_wall = Some(UnixMillis(u64::MAX));
    snapshot.n = u32::MAX;
    let rig = restored(&snapshot, UnixMillis(0));
    assert_eq!(rig.stored(), State::Open);
    snapshot.n = 0;
    assert_eq!(restored(&snapshot, wall(0)).breaker.view().opens, 1);
}

#[test]
fn the_rest_of_a_cooldown_is_rounded_up() {
    let rig = Rig::open();
    rig.clock.advance(std::time::Duration::from_nanos(1));
    assert_eq!(rig.breaker.snapshot(SAVED).deadline_wall, Some(wall(60)));
}
