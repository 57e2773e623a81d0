//! What holds of the events of every history: numbers without gaps, a generation for each transition, and only edges
//! that exist.

use fusebox_breaker::{Cause, Event, EventKind, Mode, State};
use proptest::prelude::*;

/// The state and the generation it ends in.
pub(crate) fn check_history(events: &[Event]) -> Result<(State, u64), TestCaseError> {
    let (mut state, mut generation, mut opens) = (State::Closed, 0, 0);
    for (i, event) in events.iter().enumerate() {
        prop_assert_eq!(event.seq, i as u64 + 1);
        match event.kind {
            EventKind::Opened { from, opens: n, deadline, delay, cause, .. } => {
                prop_assert_eq!((from, event.generation), (state, generation + 1));
                prop_assert_eq!(event.at.after(delay), deadline);
                let is_told_to = matches!(cause, Cause::Manual | Cause::Sibling);
                let again = u32::from(from == State::HalfOpen && !is_told_to);
                prop_assert_eq!(n, (opens + again).max(1));
                (state, opens) = (State::Open, n);
            }
            EventKind::HalfOpened { opens: n, .. } => {
                prop_assert_eq!((state, event.generation, n), (State::Open, generation + 1, opens));
                state = State::HalfOpen;
            }
            EventKind::Closed { cause, opens: n } => {
                prop_assert!(cause == Cause::Manual || state == State::HalfOpen);
                prop_assert_eq!((event.generation, n), (generation + 1, opens));
                (state, opens) = (State::Closed, 0);
            }
            EventKind::Mode { to, .. } => {
                prop_assert!(event.generation - generation <= 1);
                match to {
                    Mode::ForcedOpen => state = State::Open,
                    Mode::Disabled => (state, opens) = (State::Closed, 0),
                    _ => {}
                }
            }
            EventKind::Stale { from_generation, .. } => {
                prop_assert_eq!(event.generation, generation);
                prop_assert!(from_generation < generation);
            }
            _ => prop_assert_eq!(event.generation, generation),
        }
        generation = event.generation;
    }
    Ok((state, generation))
}
