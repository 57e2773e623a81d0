//! What holds for every word, or for every word that the library can reach. `PROPTEST_CASES` asks for more cases.

use crate::strategies::{Act, config, event, life, time, word};
use alloy::primitives::U256;
use fusebox_bindings::{Config, Event, Fields, NEVER, State, Transition, Word, configure, step};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_word_survives_being_taken_apart(limbs: [u64; 4]) {
        let word = Word(U256::from_limbs(limbs));
        prop_assert_eq!(Word::from(Fields::from(word)), word);
    }

    #[test]
    fn no_step_panics_and_only_a_missing_threshold_is_an_error(word in word(), event in event(), now in time()) {
        prop_assert_eq!(step(word, event, now).is_err(), word.failure_threshold() == 0);
        prop_assert_eq!(word.state(now).is_err(), word.failure_threshold() == 0);
    }

    #[test]
    fn no_step_changes_the_configuration(word in word(), event in event(), now in time()) {
        if let Ok((next, _)) = step(word, event, now) {
            prop_assert_eq!(next.config(), word.config());
        }
    }

    #[test]
    fn traffic_leaves_an_open_word_alone_before_its_time(word in word(), weight: u16, left in 1u64..1_000_000) {
        let word = Word::from(Fields { status: word.status().max(1), ..word.into() });
        prop_assume!(word.failure_threshold() > 0);
        let now = if word.retry_at() == NEVER { NEVER } else { word.retry_at().saturating_sub(left) };
        prop_assume!(word.retry_at() > 0);
        for event in [Event::Success, Event::Failure { weight }] {
            prop_assert_eq!(step(word, event, now), Ok((word, Transition::None)));
        }
    }

    #[test]
    fn opened_ends_open_and_closed_ends_closed(word in word(), event in event(), now in time()) {
        prop_assume!(word.failure_threshold() > 0);
        let before = word.state(now);
        let (next, transition) = step(word, event, now).unwrap();
        match transition {
            Transition::None => prop_assert_eq!(
                (next.status(), next.retry_at() == word.retry_at() || next.status() == 0),
                (word.status(), true)
            ),
            Transition::Opened => prop_assert_eq!(next.state(now), Ok(State::Open)),
            Transition::Closed => {
                prop_assert_eq!(next.state(now), Ok(State::Closed));
                prop_assert_ne!(before, Ok(State::Closed));
            }
        }
    }

    #[test]
    fn times_past_40_bits_are_all_the_same_time(word in word(), event in event(), past in NEVER..) {
        prop_assert_eq!(step(word, event, past), step(word, event, NEVER));
    }

    #[test]
    fn configure_neither_trips_nor_untrips(word in word(), config in config(), now in time()) {
        let next = configure(word, config).unwrap();
        prop_assert_eq!(next.config(), config);
        prop_assert_eq!((next.status(), next.retry_at()), (word.status(), word.retry_at()));
        if word.failure_threshold() > 0 {
            prop_assert_eq!(next.state(now), word.state(now));
        }
        prop_assert!(next.failure_count() < config.failure_threshold);
        prop_assert!(next.success_count() < config.success_threshold);
    }

    #[test]
    fn a_life_keeps_the_invariants((config, start, acts) in life()) {
        let mut word = Word::build(config).unwrap();
        let mut now = start;
        // What a watcher knows who sees the logs only: the deadline while open.
        let mut folded = None;
        for (act, passed) in acts {
            now = now.saturating_add_signed(passed);
            match act {
                Act::Configure(config) => word = configure(word, config).unwrap(),
                Act::Step(event) => {
                    let (next, transition) = step(word, event, now).unwrap();
                    match transition {
                        Transition::None => {}
                        Transition::Opened => {
                            prop_assert!(next.retry_at() > now.min(NEVER - 1), "opened for no time");
                            folded = Some(next.retry_at());
                        }
                        Transition::Closed => folded = None,
                    }
                    word = next;
                }
            }
            prop_assert_eq!(folded, (word.status() == 1).then_some(word.retry_at()), "the logs say otherwise");
            if word.status() == 0 {
                prop_assert!(word.failure_count() < word.failure_threshold());
                prop_assert_eq!((word.retry_at(), word.success_count(), word.reopen_count()), (0, 0, 0));
            }
            prop_assert!(word.success_count() < word.success_threshold());
        }
    }

    #[test]
    fn it_opens_exactly_when_the_last_failures_make_a_streak(
        threshold in 1u16..6,
        answers in prop::collection::vec(any::<bool>(), 0..40),
    ) {
        let mut word = Word::build(Config::simple(threshold, 100)).unwrap();
        let mut streak = 0;
        for ok in answers {
            streak = if ok { 0 } else { streak + 1 };
            let event = if ok { Event::Success } else { Event::Failure { weight: 1 } };
            let (next, transition) = step(word, event, 1_000).unwrap();
            prop_assert_eq!(transition == Transition::Opened, streak == threshold);
            if transition == Transition::Opened {
                break;
            }
            word = next;
        }
    }
}
