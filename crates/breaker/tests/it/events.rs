//! Order, bounds and what is told.

use std::time::Duration;

use fusebox_breaker::{
    Category, Cause, Config, Dropped, EventKind, Failure, Outcome, Rejected, State,
};

use crate::rig::{GENERIC, Rig, at, plain, seconds};

#[test]
fn a_storm_of_calls_pushes_out_no_transition() {
    let rig = Rig::new(
        Config { event_capacity: 16, failure_threshold: 0, ..plain() }
            .category_threshold(Category::AUTH, 2),
    );
    rig.does(Outcome::failure(Category::AUTH));
    rig.does(Outcome::failure(Category::AUTH));
    rig.to(60);
    rig.succeed(2);
    rig.fail(1_000);

    let mut events = Vec::new();
    let dropped = rig.breaker.drain(&mut events);
    assert_eq!(dropped, Dropped { transitions: 0, calls: 986 });
    let transitions = events.iter().filter(|event| event.kind.is_transition()).count();
    assert_eq!((transitions, events.len()), (3, 19));
    assert!(events.is_sorted_by_key(|event| event.seq));
    assert_eq!(
        events.last().unwrap().seq,
        986 + 19,
        "every number is either here or counted as dropped"
    );
    assert_eq!(rig.breaker.drain(&mut events), Dropped::default());
    assert_eq!(events.len(), 19);
}

#[test]
fn a_full_ring_of_transitions_drops_its_oldest() {
    let rig = Rig::new(Config { event_capacity: 16, ..plain() });
    for _ in 0..20 {
        rig.breaker.reset();
    }
    let mut events = Vec::new();
    assert_eq!(rig.breaker.drain(&mut events), Dropped { transitions: 4, calls: 0 });
    assert_eq!(
        events.iter().map(|event| event.seq).collect::<Vec<_>>(),
        (5..=20).collect::<Vec<_>>()
    );
}

#[test]
fn call_events_tell_of_each_call() {
    let rig = Rig::new(Config { call_events: true, ..plain() });
    rig.succeed(1);
    rig.fail(5);
    assert!(rig.ask().is_err());
    rig.to(60);
    let probe = rig.permit();
    assert!(rig.ask().is_err());
    probe.cancel();

    let told: Vec<_> = rig
        .kinds()
        .into_iter()
        .filter(|kind| matches!(kind, EventKind::Admit { .. } | EventKind::Reject { .. }))
        .collect();
    let admit = |state, probe| EventKind::Admit { state, probe };
    let open = Rejected::CircuitOpen { retry_in: seconds(60), cause: Cause::Total };
    let busy = Rejected::HalfOpenBusy { retry_in: seconds(30) };
    let mut expected = vec![admit(State::Closed, false); 6];
    expected.push(EventKind::Reject { reason: open });
    expected.push(admit(State::HalfOpen, true));
    expected.push(EventKind::Reject { reason: busy });
    assert_eq!(told, expected);
}

#[test]
fn without_call_events_good_calls_and_rejections_are_silent() {
    let rig = Rig::open();
    rig.events();
    assert!(rig.ask().is_err());
    rig.to(60);
    rig.succeed(2);
    rig.succeed(10);
    let told = rig.events();
    assert!(told.iter().all(|event| event.kind.is_transition()), "{told:?}");
}

#[test]
fn a_timeout_says_how_long_it_took_where_that_is_known() {
    let rig = Rig::half_open();
    rig.events();
    let probe = rig.permit();
    rig.to(75);
    probe.settle(Outcome::failure(Category::TIMEOUT));
    let kinds = rig.kinds();
    assert_eq!(
        kinds[0],
        EventKind::Failure { category: Category::TIMEOUT, state: State::HalfOpen, hint: None }
    );
    assert_eq!(kinds[1], EventKind::Timeout { elapsed: Some(seconds(15)) });
    assert!(matches!(kinds[2], EventKind::Opened { .. }));
}

#[test]
fn hints_are_told_as_they_were_given() {
    let rig = Rig::new(Config { failure_threshold: 1, ..plain() });
    rig.does(Outcome::Failure(
        Failure::new(Category::SERVER).retry_after(Duration::from_millis(1)),
    ));
    let kinds = rig.kinds();
    let hint = Some(Duration::from_millis(1));
    assert_eq!(
        kinds[0],
        EventKind::Failure { category: Category::SERVER, state: State::Closed, hint }
    );
    let EventKind::Opened { hint: told, delay, .. } = kinds[1] else { panic!("opened") };
    assert_eq!((told, delay), (hint, seconds(1)));
}

#[test]
fn an_event_knows_its_time_and_era() {
    let rig = Rig::plain();
    rig.to(3);
    rig.fail(5);
    rig.to(70);
    rig.breaker.poll();
    let events = rig.events();
    let found: Vec<_> =
        events.iter().map(|event| (event.seq, event.at, event.generation)).collect();
    let expected = [(1, 3, 0), (2, 3, 0), (3, 3, 0), (4, 3, 0), (5, 3, 0), (6, 3, 1), (7, 70, 2)];
    assert_eq!(found, expected.map(|(seq, time, generation)| (seq, at(time), generation)));
}

#[test]
fn whoever_handles_an_event_may_call_the_breaker() {
    let rig = Rig::open();
    for event in rig.events() {
        if matches!(event.kind, EventKind::Opened { .. }) {
            assert!(rig.ask().is_err());
            rig.breaker.reset();
        }
    }
    rig.does(GENERIC);
    assert_eq!(rig.stored(), State::Closed);
}

#[test]
fn every_stale_result_is_told_even_where_the_breaker_is_healthy_again() {
    let rig = Rig::plain();
    let late: Vec<_> = (0..3).map(|_| rig.permit()).collect();
    rig.breaker.reset();
    rig.events();
    let mut late = late.into_iter();
    late.next().unwrap().settle(Outcome::Success);
    late.next().unwrap().settle(Outcome::Neutral);
    late.next().unwrap().cancel();
    let told = rig.kinds();
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|kind| matches!(kind, EventKind::Stale { from_generation: 0, .. })));
}
