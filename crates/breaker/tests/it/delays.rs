//! How long it stays open.

use std::time::Duration;

use fusebox_breaker::core::{Core, Ending, Input, Ticket, Verdict, step};
use fusebox_breaker::{Category, Config, EventKind, Failure, Outcome, Tick};

use crate::rig::{at, plain, seconds};

/// The delay and the jitter of the first `count` opens, each as soon as it can be, with the same draw.
fn opens(cfg: &Config, draw: u32, count: usize) -> Vec<(Duration, Duration)> {
    let mut core = Core::new(cfg);
    let mut now = Tick::ZERO;
    let mut found = Vec::new();
    while found.len() < count {
        let acquired = step(&mut core, Input::Acquire, now, cfg, draw);
        let Verdict::Admitted(ticket) = acquired.verdict else { panic!("admitted at {now:?}") };
        let (delay, jitter, deadline) =
            match fail(&mut core, ticket, Failure::new(Category::GENERIC), now, cfg, draw) {
                Some(opened) => opened,
                None => continue,
            };
        found.push((delay, jitter));
        now = deadline;
    }
    found
}

fn fail(
    core: &mut Core,
    ticket: Ticket,
    failure: Failure,
    now: Tick,
    cfg: &Config,
    draw: u32,
) -> Option<(Duration, Duration, Tick)> {
    let ending = Ending::Outcome(Outcome::Failure(failure));
    let settled = step(core, Input::Settle { ticket, ending }, now, cfg, draw);
    settled.events.iter().find_map(|event| match event.kind {
        EventKind::Opened { delay, jitter, deadline, .. } => Some((delay, jitter, deadline)),
        _ => None,
    })
}

/// The delay and the jitter of a first open by a failure with a hint.
fn hinted(cfg: &Config, hint: Duration, draw: u32) -> (Duration, Duration) {
    let cfg = &Config { failure_threshold: 1, ..cfg.clone() };
    let mut core = Core::new(cfg);
    let Verdict::Admitted(ticket) = step(&mut core, Input::Acquire, Tick::ZERO, cfg, draw).verdict
    else {
        panic!("admitted")
    };
    let failure = Failure::new(Category::SERVER).retry_after(hint);
    let (delay, jitter, _) =
        fail(&mut core, ticket, failure, Tick::ZERO, cfg, draw).expect("opened");
    (delay, jitter)
}

fn delays(cfg: &Config, draw: u32, count: usize) -> Vec<Duration> {
    opens(cfg, draw, count).into_iter().map(|(delay, _)| delay).collect()
}

#[test]
fn the_back_off_doubles_up_to_its_cap() {
    assert_eq!(delays(&plain(), 0, 6), [60, 120, 240, 480, 600, 600].map(seconds));
    let short = Config { cooldown: seconds(30), ..plain() };
    assert_eq!(delays(&short, 0, 7), [30, 60, 120, 240, 480, 600, 600].map(seconds));
}

#[test]
fn a_tiny_cooldown_reaches_the_cap_too_and_stays_there() {
    let tiny = Config { cooldown: Duration::from_millis(1), ..plain() };
    let delays = delays(&tiny, 0, 200);
    assert_eq!(delays[19], Duration::from_millis(1 << 19));
    assert!(delays[20..].iter().all(|delay| *delay == seconds(600)));
}

#[test]
fn jitter_is_added_and_mirrored_at_the_cap() {
    let cfg = Config { jitter_percent: 5, ..plain() };
    assert_eq!(delays(&cfg, 0, 5), [60, 120, 240, 480, 600].map(seconds));
    assert_eq!(
        opens(&cfg, u32::MAX, 5),
        [(63, 3), (126, 6), (252, 12), (504, 24), (570, 30)]
            .map(|(delay, jitter)| (seconds(delay), seconds(jitter)))
    );

    // 590 + 29.5 sticks out by 19.5.
    let near = Config { cooldown: seconds(590), jitter_percent: 5, ..plain() };
    assert_eq!(delays(&near, u32::MAX, 1), [Duration::from_millis(580_500)]);
}

#[test]
fn jitter_is_proportional_to_the_draw() {
    let cfg = Config { jitter_percent: 50, ..plain() };
    let third = opens(&cfg, u32::MAX / 3, 1)[0].1;
    assert_eq!(third, seconds(10));
}

#[test]
fn a_hint_replaces_the_back_off_and_is_never_undercut() {
    let cfg = Config { jitter_percent: 5, ..plain() };
    assert_eq!(hinted(&cfg, seconds(10), 0), (seconds(10), Duration::ZERO));
    assert_eq!(hinted(&cfg, seconds(100), u32::MAX), (seconds(105), seconds(5)));
    // Above the cap: jitter of the cap, added.
    assert_eq!(hinted(&cfg, seconds(3_600), u32::MAX), (seconds(3_630), seconds(30)));
}

#[test]
fn a_hint_is_clamped() {
    let cfg = plain();
    assert_eq!(hinted(&cfg, Duration::ZERO, 0).0, seconds(1));
    assert_eq!(hinted(&cfg, Duration::MAX, 0).0, seconds(25 * 3_600));
    let cfg = Config { min_cooldown: Some(seconds(20)), max_hint: Some(seconds(700)), ..plain() };
    assert_eq!(hinted(&cfg, seconds(19), 0).0, seconds(20));
    assert_eq!(hinted(&cfg, seconds(701), 0).0, seconds(700));
    let short = Config { cooldown: Duration::from_millis(5), ..plain() };
    assert_eq!(hinted(&short, Duration::ZERO, 0).0, Duration::from_millis(5));
}

#[test]
fn a_hint_on_a_failed_probe_replaces_the_back_off_and_counts() {
    let cfg = plain();
    let mut core = Core::new(&cfg);
    step(
        &mut core,
        Input::Trip { until: Some(at(1)), cause: fusebox_breaker::Cause::Manual },
        at(0),
        &cfg,
        0,
    );
    let Verdict::Admitted(ticket) = step(&mut core, Input::Acquire, at(1), &cfg, 0).verdict else {
        panic!("admitted")
    };
    let failure = Failure::new(Category::SERVER).retry_after(seconds(7));
    assert_eq!(fail(&mut core, ticket, failure, at(1), &cfg, 0).unwrap().0, seconds(7));
    let Verdict::Admitted(ticket) = step(&mut core, Input::Acquire, at(8), &cfg, 0).verdict else {
        panic!("admitted")
    };
    let third = fail(&mut core, ticket, Failure::new(Category::SERVER), at(8), &cfg, 0).unwrap();
    assert_eq!(third.0, seconds(240), "the hinted open was the second");
}

#[test]
fn nothing_overflows_at_the_end_of_time() {
    let week = seconds(7 * 86_400);
    let cfg = Config {
        failure_threshold: 1,
        cooldown: week,
        max_cooldown: week,
        jitter_percent: 50,
        probe_lease: Duration::MAX,
        max_hint: Some(Duration::MAX),
        slow_call: Some(Duration::MAX),
        time_window: Some(fusebox_breaker::TimeWindow {
            slow_percent: Some(100),
            ..Default::default()
        }),
        ..plain()
    };
    cfg.validate().expect("the widest rules there are");
    for start in [Tick::MAX, Tick::from_nanos(u64::MAX - 1), Tick::from_nanos(u64::MAX / 2)] {
        let mut core = Core::new(&cfg);
        let Verdict::Admitted(ticket) =
            step(&mut core, Input::Acquire, start, &cfg, u32::MAX).verdict
        else {
            panic!("admitted")
        };
        let failure = Failure::new(Category::SERVER).retry_after(Duration::MAX);
        let (_, _, deadline) = fail(&mut core, ticket, failure, start, &cfg, u32::MAX).unwrap();
        assert_eq!(deadline, Tick::MAX);
        // Equality admits, even at the last instant.
        let probe = step(&mut core, Input::Acquire, Tick::MAX, &cfg, u32::MAX).verdict;
        assert!(matches!(probe, Verdict::Admitted(ticket) if ticket.is_probe()));
        step(&mut core, Input::Poll, Tick::MAX, &cfg, u32::MAX);
        step(
            &mut core,
            Input::Trip { until: None, cause: fusebox_breaker::Cause::Manual },
            Tick::MAX,
            &cfg,
            0,
        );
    }
}
