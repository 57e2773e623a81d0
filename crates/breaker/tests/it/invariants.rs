//! What holds in every history, whatever the rules.

use std::time::Duration;

use fusebox_breaker::core::{Core, Ending, Input, Ticket, Verdict, step};
use fusebox_breaker::{Category, Cause, Clock, Config, Mode, Outcome, State, Tick};
use proptest::prelude::*;

use crate::model::{Op, category, op, rules};
use crate::rig::Rig;

/// Plays `ops` on a bare core; `visit` sees it before and after each.
fn play(
    cfg: &Config,
    ops: &[Op],
    mut visit: impl FnMut(&Core, Input, &Core, Tick) -> Result<(), TestCaseError>,
) -> Result<(Core, Tick), TestCaseError> {
    let mut core = Core::new(cfg);
    let mut tickets: Vec<Ticket> = Vec::new();
    let mut now = Tick::ZERO;
    for op in ops {
        let input = match *op {
            Op::Acquire => Input::Acquire,
            Op::Settle(..) | Op::Cancel(_) | Op::Drop(_) if tickets.is_empty() => continue,
            Op::Settle(i, outcome) => Input::Settle {
                ticket: tickets[i % tickets.len()],
                ending: Ending::Outcome(outcome),
            },
            Op::Cancel(i) => {
                Input::Settle { ticket: tickets[i % tickets.len()], ending: Ending::Cancelled }
            }
            Op::Drop(i) => Input::Settle {
                ticket: tickets[i % tickets.len()],
                ending: Ending::Dropped { panicking: false },
            },
            Op::Evidence(category) => Input::Evidence(category.into()),
            Op::Poll => Input::Poll,
            Op::Trip(until) => Input::Trip {
                until: until.map(|ms| now.after(Duration::from_millis(ms))),
                cause: Cause::Manual,
            },
            Op::Reset => Input::Reset,
            Op::SetMode(mode) => Input::SetMode(mode),
            Op::Wait(ms) => {
                now = now.after(Duration::from_millis(ms));
                continue;
            }
        };
        let before = core.clone();
        if let Verdict::Admitted(ticket) = step(&mut core, input, now, cfg, 0).verdict {
            tickets.push(ticket);
        }
        visit(&before, input, &core, now)?;
    }
    Ok((core, now))
}

proptest! {
    /// Tickets are played more than once here, so copies of settled ones are among them.
    #[test]
    fn a_stale_result_changes_no_field(cfg in rules(), ops in prop::collection::vec(op(true), 1..150)) {
        play(&cfg, &ops, |before, input, after, now| {
            if let Input::Settle { ticket, .. } = input
                && ticket.generation() != before.view(now, &cfg).generation
            {
                prop_assert_eq!(before, after);
            }
            Ok(())
        })?;
    }

    #[test]
    fn probes_under_way_are_never_more_than_slots(cfg in rules(), ops in prop::collection::vec(op(true), 1..150)) {
        play(&cfg, &ops, |_, _, after, now| {
            let view = after.view(now, &cfg);
            prop_assert!(view.in_flight <= cfg.half_open_max_inflight);
            prop_assert!(view.in_flight + view.successes <= cfg.success_threshold);
            Ok(())
        })?;
    }

    #[test]
    fn the_generation_grows_and_the_deadline_is_constant_within_an_era(
        cfg in rules(),
        ops in prop::collection::vec(op(true), 1..150),
    ) {
        play(&cfg, &ops, |before, input, after, now| {
            // Seen at the origin, nothing is due: these are the stored values.
            let (old, new) = (before.view(Tick::ZERO, &cfg), after.view(Tick::ZERO, &cfg));
            let grown = new.generation - old.generation;
            prop_assert!(grown <= 3, "{grown} transitions by {input:?} at {now:?}");
            if grown == 0 && old.stored == State::Open {
                prop_assert_eq!((new.stored, new.deadline), (State::Open, old.deadline));
            }
            if grown == 0 {
                prop_assert_eq!(new.stored, old.stored);
            }
            Ok(())
        })?;
    }

    /// Nothing sticks: after finite quiet, good probes close it.
    #[test]
    fn from_any_state_quiet_and_good_probes_close_it(cfg in rules(), ops in prop::collection::vec(op(false), 1..150)) {
        let (mut core, now) = play(&cfg, &ops, |_, _, _, _| Ok(()))?;
        let mut now = now;
        // The longest wait there is is a hint of 20 s; a lost probe adds its lease and a cooldown.
        for _ in 0..3 {
            now = now.after(Duration::from_secs(21));
            step(&mut core, Input::Poll, now, &cfg, 0);
        }
        for _ in 0..cfg.success_threshold {
            let Verdict::Admitted(ticket) = step(&mut core, Input::Acquire, now, &cfg, 0).verdict else {
                return Err(TestCaseError::fail("rejected"));
            };
            step(&mut core, Input::Settle { ticket, ending: Ending::Outcome(Outcome::Success) }, now, &cfg, 0);
        }
        prop_assert_eq!(core.view(now, &cfg).state, State::Closed);
    }

    /// A shadow that sees all calls stands where a normal breaker stands that saw those it admitted.
    #[test]
    fn shadow_equals_normal_on_the_admitted_calls(cfg in rules(), ops in prop::collection::vec(op(false), 1..150)) {
        let shadow = Rig::new(Config { mode: Mode::Shadow, ..cfg.clone() });
        let normal = Rig::new(cfg);
        let mut permits = Vec::new();
        for op in ops {
            match op {
                Op::Acquire => permits.push((shadow.permit(), normal.ask().ok())),
                Op::Settle(i, outcome) if !permits.is_empty() => {
                    let (a, b) = permits.swap_remove(i % permits.len());
                    a.settle(outcome);
                    if let Some(b) = b { b.settle(outcome) }
                }
                Op::Cancel(i) | Op::Drop(i) | Op::Settle(i, _) => if !permits.is_empty() {
                    drop(permits.swap_remove(i % permits.len()));
                },
                Op::Wait(ms) => for rig in [&shadow, &normal] {
                    rig.clock.advance(Duration::from_millis(ms));
                },
                Op::Evidence(category) => for rig in [&shadow, &normal] {
                    rig.breaker.record_failure(category.into());
                },
                Op::Poll => for rig in [&shadow, &normal] {
                    rig.breaker.poll();
                },
                Op::Trip(_) => for rig in [&shadow, &normal] {
                    rig.breaker.trip(None, Cause::Manual);
                },
                Op::Reset => for rig in [&shadow, &normal] {
                    rig.breaker.reset();
                },
                Op::SetMode(_) => {}
            }
            let (mut a, b) = (shadow.breaker.view(), normal.breaker.view());
            a.mode = b.mode;
            prop_assert_eq!(a, b);
        }
    }

    /// Any instants, in any order, up to the last: no overflow, and no deadline before the latest instant seen.
    #[test]
    fn a_clock_that_jumps_about_breaks_nothing(
        cfg in rules(),
        steps in prop::collection::vec((prop_oneof![any::<u64>(), 0u64..10, Just(u64::MAX)], 0u8..6, category()), 1..100),
    ) {
        let mut core = Core::new(&cfg);
        let mut tickets = Vec::new();
        for (nanos, what, category) in steps {
            let now = Tick::from_nanos(nanos);
            let input = match (what, tickets.pop()) {
                (0, _) => Input::Poll,
                (1, _) => Input::Trip { until: Some(now), cause: Cause::Manual },
                (2 | 3, Some(ticket)) => {
                    Input::Settle { ticket, ending: Ending::Outcome(Outcome::failure(category)) }
                }
                (4, Some(ticket)) => Input::Settle { ticket, ending: Ending::Outcome(Outcome::Success) },
                _ => Input::Acquire,
            };
            if let Verdict::Admitted(ticket) = step(&mut core, input, now, &cfg, u32::MAX).verdict {
                tickets.push(ticket);
            }
            let _ = core.view(now, &cfg);
        }
    }
}

proptest! {
    /// A breaker that is polled every 20 ms and one that never is look the same at every instant.
    #[test]
    fn lazy_equals_eager(cfg in rules(), ops in prop::collection::vec(op(false), 1..30)) {
        let (lazy, eager) = (Rig::new(cfg.clone()), Rig::new(cfg));
        let mut permits = Vec::new();
        for op in ops {
            match op {
                Op::Poll => {}
                Op::Wait(ms) => for _ in 0..=ms / 20 {
                    lazy.clock.advance(Duration::from_millis(20));
                    eager.clock.advance(Duration::from_millis(20));
                    eager.breaker.poll();
                    let (a, b) = (lazy.breaker.view(), eager.breaker.view());
                    prop_assert_eq!((a.state, a.deadline, a.opens), (b.state, b.deadline, b.opens));
                },
                Op::Acquire => match (lazy.ask(), eager.ask()) {
                    (Ok(a), Ok(b)) => permits.push((a, b)),
                    (Err(a), Err(b)) => prop_assert_eq!(a, b),
                    (a, b) => prop_assert!(false, "{a:?} against {b:?}"),
                },
                Op::Settle(i, outcome) if !permits.is_empty() => {
                    let (a, b) = permits.swap_remove(i % permits.len());
                    a.settle(outcome);
                    b.settle(outcome);
                }
                Op::Cancel(i) | Op::Drop(i) | Op::Settle(i, _) => if !permits.is_empty() {
                    drop(permits.swap_remove(i % permits.len()));
                },
                Op::Evidence(category) => for rig in [&lazy, &eager] {
                    rig.breaker.record_failure(category.into());
                },
                Op::Trip(ms) => for rig in [&lazy, &eager] {
                    rig.breaker.trip(ms.map(|ms| rig.clock.now().after(Duration::from_millis(ms))), Cause::Manual);
                },
                Op::Reset => for rig in [&lazy, &eager] {
                    rig.breaker.reset();
                },
                Op::SetMode(_) => {}
            }
        }
    }
}

#[test]
fn a_copied_ticket_counts_once() {
    let cfg = Config { half_open_max_inflight: 1, ..Config::default() };
    let mut core = Core::new(&cfg);
    step(
        &mut core,
        Input::Trip { until: Some(Tick::ZERO), cause: Cause::Manual },
        Tick::ZERO,
        &cfg,
        0,
    );
    let Verdict::Admitted(ticket) = step(&mut core, Input::Acquire, Tick::ZERO, &cfg, 0).verdict
    else {
        panic!("admitted")
    };
    let settle = Input::Settle { ticket, ending: Ending::Outcome(Outcome::Success) };
    step(&mut core, settle, Tick::ZERO, &cfg, 0);
    let after_one = core.clone();
    step(&mut core, settle, Tick::ZERO, &cfg, 0);
    let failing = Ending::Outcome(Outcome::failure(Category::SERVER));
    step(&mut core, Input::Settle { ticket, ending: failing }, Tick::ZERO, &cfg, 0);
    assert_eq!(core, after_one);
}

#[test]
fn a_clock_that_steps_back_is_no_time_passed() {
    let rig = Rig::half_open();
    rig.clock.set(Tick::from_nanos(1));
    assert_eq!(rig.breaker.state(), State::HalfOpen, "what was reached stays reached");
    rig.does(Outcome::failure(Category::SERVER));
    let deadline = rig.deadline();
    assert_eq!(
        deadline,
        crate::rig::at(180),
        "as if the failure came at 60 s, the latest instant seen"
    );
}
