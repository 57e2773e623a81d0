//! One breaker a key, and who hears of it.

use std::sync::Arc;

use fusebox_breaker::{Config, EventKind, ManualClock, Outcome, Registry, RegistryError, State};

use crate::rig::{GENERIC, plain};

type Keys = Registry<&'static str, ManualClock>;

#[test]
fn one_key_is_one_breaker() {
    let registry = Keys::new(ManualClock::new());
    let a = registry.get_or_insert("node", "profile a", plain()).unwrap();
    let b = registry.get_or_insert("node", "profile b", plain()).unwrap();
    let other = registry.get_or_insert("other", "profile a", plain()).unwrap();
    assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &other));
    assert!(registry.get(&"node").is_some_and(|found| Arc::ptr_eq(&a, &found)));
    assert!(registry.get(&"nobody").is_none());
    assert_eq!(registry.all().iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["node", "other"]);
}

#[test]
fn other_rules_for_a_known_key_name_both_owners() {
    let registry = Keys::new(ManualClock::new());
    registry.get_or_insert("node", "profile a", plain()).unwrap();
    let error = registry.get_or_insert("node", "profile b", Config::low_traffic()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "profile a and profile b share one breaker and give it different rules: make them equal"
    );
    let error =
        registry.get_or_insert("x", "c", Config { success_threshold: 0, ..plain() }).unwrap_err();
    assert!(matches!(error, RegistryError::Invalid(_)));
    assert!(registry.get(&"x").is_none());
}

#[test]
fn case_20_profiles_share_the_breaker_and_each_hears_of_it_under_its_own_name() {
    let registry = Keys::new(ManualClock::new());
    let a = registry.get_or_insert("url", "a/x", plain()).unwrap();
    let b = registry.get_or_insert("url", "b/y", plain()).unwrap();
    assert!(registry.attach(&"url", "a", "x") && registry.attach(&"url", "b", "y"));
    assert!(!registry.attach(&"nowhere", "a", "x"));
    for _ in 0..5 {
        a.try_acquire().unwrap().settle(GENERIC);
    }
    assert!(b.try_acquire().is_err());

    let mut heard = Vec::new();
    let dropped = registry.drain(|delivery| {
        // A handler may ask the registry and the breaker.
        assert_eq!(registry.get(delivery.key).unwrap().state(), State::Open);
        if matches!(delivery.event.kind, EventKind::Opened { .. }) {
            heard.push((delivery.profile.to_owned(), delivery.provider.to_owned()));
        }
    });
    assert_eq!(dropped.transitions, 0);
    assert_eq!(heard, [("a".to_owned(), "x".to_owned()), ("b".to_owned(), "y".to_owned())]);

    registry.drain(|delivery| panic!("told twice: {delivery:?}"));
}

#[test]
fn each_profile_hears_everything_in_order_until_it_leaves() {
    let registry = Keys::new(ManualClock::new());
    let breaker = registry.get_or_insert("url", "a", plain()).unwrap();
    breaker.try_acquire().unwrap().settle(GENERIC);
    registry.drain(|delivery| panic!("nobody is attached: {delivery:?}"));

    registry.attach(&"url", "a", "old name");
    registry.attach(&"url", "a", "x");
    registry.attach(&"url", "b", "y");
    breaker.try_acquire().unwrap().settle(Outcome::failure(fusebox_breaker::Category::LAG));
    breaker.reset();
    let mut heard = Vec::new();
    registry.drain(|delivery| heard.push((delivery.provider.to_owned(), delivery.event.seq)));
    let expected = [("x", 1), ("y", 1), ("x", 2), ("y", 2), ("x", 3), ("y", 3)];
    assert_eq!(heard, expected.map(|(provider, seq)| (provider.to_owned(), seq)));

    assert!(registry.detach(&"url", "a"));
    assert!(!registry.detach(&"url", "a") && !registry.detach(&"nowhere", "a"));
    breaker.reset();
    let mut heard = Vec::new();
    registry.drain(|delivery| heard.push(delivery.profile.to_owned()));
    assert_eq!(heard, ["b"]);
}
