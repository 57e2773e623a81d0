//! The scenarios, and what a breaker should do in each.

use std::time::Duration;

use fusebox_breaker::{
    Breaker, Category, Cause, Clock, Config, EventKind, Failure, ManualClock, Outcome, State,
    UnixMillis,
};

use crate::call::{Call, End};
use crate::subjects::{COOLDOWN, Crate, Ours, Rules, Subject};

/// What was seen.
pub type Seen = String;

/// A scenario.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number in the specification.
    pub id: &'static str,
    /// What happens.
    pub scenario: &'static str,
    /// What should be seen.
    pub want: &'static str,
    /// Plays it; none where a crate has no such thing.
    play: Play,
}

#[derive(Clone, Copy, Debug)]
enum Play {
    /// On any breaker with these rules.
    Any(Rules, fn(&dyn Subject) -> Option<Seen>),
    /// Only ours has what it is about.
    Ours(fn() -> Seen),
}

impl Row {
    /// Plays it on a new breaker of `subject`.
    #[must_use]
    pub fn play(&self, subject: &Crate) -> Option<Seen> {
        match self.play {
            Play::Any(rules, play) => play((subject.subject)(rules)?.as_ref()),
            Play::Ours(play) => (subject.package == "fusebox-breaker").then(play),
        }
    }
}

const fn any(
    id: &'static str,
    scenario: &'static str,
    want: &'static str,
    play: fn(&dyn Subject) -> Option<Seen>,
) -> Row {
    Row { id, scenario, want, play: Play::Any(Rules::FIVE, play) }
}

const fn ours(
    id: &'static str,
    scenario: &'static str,
    want: &'static str,
    play: fn() -> Seen,
) -> Row {
    Row { id, scenario, want, play: Play::Ours(play) }
}

/// All of them.
pub const ROWS: [Row; 21] = [
    any("S1", "32 callers at a half-open limit of 1", "1 admitted", s1),
    any("S2", "a success from closed ends in half-open, then a call", "rejected", s2),
    any("S3", "a failure from closed ends in half-open, then the probe succeeds", "closed", s3),
    any(
        "S4",
        "a probe panics: the next call; the one after another cooldown",
        "rejected; admitted",
        s4,
    ),
    any(
        "S5",
        "a probe's future is dropped: the next 32 calls; after another cooldown",
        "0; 1 admitted",
        s5,
    ),
    Row {
        id: "S6",
        scenario: "failures that trip after 100,000 successes (50 % of 100)",
        want: "50",
        play: Play::Any(Rules::Count, s6),
    },
    any("S7", "of 20 hung calls dropped by their caller, those that reach upstream", "5", s7),
    any("P2", "1,000 neutral probes in a row, all admitted", "1000", p2),
    any("P3", "a probe hangs: after its lease; after another cooldown", "rejected; admitted", p3),
    any(
        "P4",
        "a lost probe ends neutral while a new one is under way, then a call",
        "rejected",
        p4,
    ),
    any(
        "P6",
        "100 failures end while it is open: just before its deadline; at it",
        "rejected; admitted",
        p6,
    ),
    any("P9", "eight failures race past a threshold of 5: how often it opens", "1", p9),
    Row {
        id: "P10",
        scenario: "20 calls, longer than the window's buckets, all fail",
        want: "open",
        play: Play::Any(Rules::Time, p10),
    },
    ours("P11", "wall clock -1 h and +1 d over a restart with 40 s left", "40s; half-open", p11),
    ours("P12", "whoever handles an event calls the breaker; the numbers", "in order", p12),
    any("P15", "4 failures, a good probe on another breaker, 1 failure", "open", p15),
    any("P16", "a rate limit in half-open", "half-open", p16),
    any("P17", "a user error: ends the streak; closes as a probe", "yes; yes", p17),
    any("P21", "4 failures, a cancelled hedge, 1 failure", "closed, then open", p21),
    any("P22", "5 failures from before the trip end after recovery", "closed", p22),
    ours("P23", "10,000 opens with jitter: below a hint; above the cap", "0; 0", p23),
];

// ── what rows are made of ──

fn does(subject: &dyn Subject, end: End) -> bool {
    match subject.begin() {
        Some(call) => {
            call.end(end);
            true
        }
        None => false,
    }
}

/// Makes it fail until it rejects, and says how many failures that took.
fn open(subject: &dyn Subject) -> usize {
    const MOST: usize = 200_000;
    (0..MOST).take_while(|_| does(subject, End::Bad)).count()
}

fn begin(subject: &dyn Subject, count: usize) -> Vec<Call> {
    (0..count).filter_map(|_| subject.begin()).collect()
}

fn word(admitted: bool) -> &'static str {
    if admitted { "admitted" } else { "rejected" }
}

/// Closed is where more than one call at a time is let through, and a failure does not end that.
fn state(subject: &dyn Subject) -> &'static str {
    let calls = begin(subject, 2);
    let state = match calls.len() {
        2 => "closed",
        1 => "half-open",
        _ => "open",
    };
    calls.into_iter().for_each(|call| subject.cancel(call));
    state
}

fn probe(subject: &dyn Subject) -> Call {
    subject.begin().expect("every crate lets a probe through after its cooldown")
}

// ── rows ──

fn s1(subject: &dyn Subject) -> Option<Seen> {
    open(subject);
    subject.cool();
    Some(format!("{} admitted", begin(subject, 32).len()))
}

fn s2(subject: &dyn Subject) -> Option<Seen> {
    let from_closed = probe(subject);
    open(subject);
    subject.cool();
    let _probe = probe(subject);
    from_closed.end(End::Good);
    Some(word(subject.begin().is_some()).to_owned())
}

fn s3(subject: &dyn Subject) -> Option<Seen> {
    let from_closed = probe(subject);
    open(subject);
    subject.cool();
    let good = probe(subject);
    from_closed.end(End::Bad);
    good.end(End::Good);
    // Some ask for a second one.
    let _ = does(subject, End::Good);
    Some(if state(subject) == "open" { "reopened" } else { state(subject) }.to_owned())
}

fn s4(subject: &dyn Subject) -> Option<Seen> {
    open(subject);
    subject.cool();
    probe(subject).end(End::Panic);
    let next = subject.begin().is_some();
    subject.cool();
    let later = subject.begin().is_some();
    Some(format!("{}; {}", word(next), word(later)))
}

fn s5(subject: &dyn Subject) -> Option<Seen> {
    open(subject);
    subject.cool();
    drop(probe(subject));
    let next = begin(subject, 32).len();
    subject.cool();
    Some(format!("{next}; {} admitted", begin(subject, 32).len()))
}

fn s6(subject: &dyn Subject) -> Option<Seen> {
    for _ in 0..100_000 {
        does(subject, End::Good);
    }
    Some(open(subject).to_string())
}

fn s7(subject: &dyn Subject) -> Option<Seen> {
    let reached = (0..20).filter(|_| subject.begin().map(drop).is_some()).count();
    Some(reached.to_string())
}

fn p2(subject: &dyn Subject) -> Option<Seen> {
    if !subject.understands(End::Neutral) {
        return None;
    }
    open(subject);
    subject.cool();
    Some((0..1_000).filter(|_| does(subject, End::Neutral)).count().to_string())
}

fn p3(subject: &dyn Subject) -> Option<Seen> {
    open(subject);
    subject.cool();
    let _hangs = probe(subject);
    // The lease is one cooldown; the second open lasts two.
    subject.wait(1_000);
    let after_lease = subject.begin().is_some();
    subject.wait(2_000);
    let later = subject.begin().is_some();
    Some(format!("{}; {}", word(after_lease), word(later)))
}

fn p4(subject: &dyn Subject) -> Option<Seen> {
    if !subject.understands(End::Neutral) {
        return None;
    }
    open(subject);
    subject.cool();
    let lost = probe(subject);
    subject.wait(3_000);
    let _new = probe(subject);
    lost.end(End::Neutral);
    Some(word(subject.begin().is_some()).to_owned())
}

fn p6(subject: &dyn Subject) -> Option<Seen> {
    let late = begin(subject, 100);
    open(subject);
    subject.wait(400);
    late.into_iter().for_each(|call| call.end(End::Bad));
    let before = subject.begin().is_some();
    subject.wait(600);
    Some(format!("{}; {}", word(before), word(subject.begin().is_some())))
}

fn p9(subject: &dyn Subject) -> Option<Seen> {
    subject.opens()?;
    let calls = begin(subject, 8);
    calls.into_iter().for_each(|call| call.end(End::Bad));
    subject.opens().map(|opens| opens.to_string())
}

fn p10(subject: &dyn Subject) -> Option<Seen> {
    let calls = begin(subject, 20);
    // Half as long again as the whole window.
    subject.wait(
        u32::try_from(Rules::PERIOD.as_millis() * 1_500 / COOLDOWN.as_millis()).unwrap_or(u32::MAX),
    );
    calls.into_iter().for_each(|call| call.end(End::Bad));
    Some(state(subject).to_owned())
}

fn p15(subject: &dyn Subject) -> Option<Seen> {
    for _ in 0..4 {
        does(subject, End::Bad);
    }
    let elsewhere = Ours::new(Rules::FIVE);
    open(&elsewhere);
    elsewhere.cool();
    does(&elsewhere, End::Good);
    does(subject, End::Bad);
    Some(state(subject).to_owned())
}

fn p16(subject: &dyn Subject) -> Option<Seen> {
    if !subject.understands(End::Neutral) {
        return None;
    }
    open(subject);
    subject.cool();
    does(subject, End::Neutral);
    Some(state(subject).to_owned())
}

fn p17(subject: &dyn Subject) -> Option<Seen> {
    if !subject.understands(End::Answered) {
        return None;
    }
    for end in [End::Bad, End::Bad, End::Bad, End::Bad, End::Answered, End::Bad] {
        does(subject, end);
    }
    let ends_the_streak = state(subject) == "closed";
    open(subject);
    subject.cool();
    does(subject, End::Answered);
    let closes = state(subject) == "closed";
    let yes = |is: bool| if is { "yes" } else { "no" };
    Some(format!("{}; {}", yes(ends_the_streak), yes(closes)))
}

fn p21(subject: &dyn Subject) -> Option<Seen> {
    for _ in 0..4 {
        does(subject, End::Bad);
    }
    subject.cancel(probe(subject));
    let before = state(subject);
    does(subject, End::Bad);
    Some(format!("{before}, then {}", state(subject)))
}

fn p22(subject: &dyn Subject) -> Option<Seen> {
    let late = begin(subject, 5);
    open(subject);
    subject.cool();
    does(subject, End::Good);
    does(subject, End::Good);
    late.into_iter().for_each(|call| call.end(End::Bad));
    Some(state(subject).to_owned())
}

// ── rows about what only ours has ──

fn p11() -> Seen {
    let rules = Config { jitter_percent: 0, ..Config::default() };
    let clock = ManualClock::new();
    let breaker = Breaker::new(rules.clone(), clock.clone()).expect("valid rules");
    breaker.trip(None, Cause::Manual);
    clock.advance(Duration::from_secs(20));
    let saved = UnixMillis(1_700_000_000_000);
    let snapshot = breaker.snapshot(saved);
    let restored = |wall: u64| {
        let breaker =
            Breaker::restore(rules.clone(), ManualClock::new(), &snapshot, UnixMillis(wall));
        breaker.expect("valid rules")
    };
    let back = restored(saved.0 - 3_600_000);
    let left =
        back.view().deadline.map_or(Duration::ZERO, |deadline| deadline.since(back.clock().now()));
    format!("{left:?}; {}", restored(saved.0 + 86_400_000).state())
}

fn p12() -> Seen {
    let subject = Ours::new(Rules::FIVE);
    open(&subject);
    let mut last = 0;
    let mut in_order = true;
    for event in subject.events() {
        in_order &= event.seq == last + 1;
        last = event.seq;
        subject.breaker.reset();
        does(&subject, End::Bad);
    }
    let more = subject.events();
    in_order &= !more.is_empty()
        && more.iter().all(|event| {
            last += 1;
            event.seq == last
        });
    if in_order { "in order" } else { "out of order" }.to_owned()
}

fn p23() -> Seen {
    let clock = ManualClock::new();
    let rules = Config { jitter_percent: 50, ..Config::default() };
    let cap = rules.max_cooldown;
    let breaker = Breaker::new(rules, clock.clone()).expect("valid rules");
    let hint = Duration::from_secs(30);
    let (mut below, mut above) = (0, 0);
    breaker.trip(None, Cause::Manual);
    for i in 0..10_000 {
        if let Some(deadline) = breaker.view().deadline {
            clock.set(deadline);
        }
        let failure = Failure::new(Category::SERVER);
        let is_hinted = i % 2 == 0;
        let failure = if is_hinted { failure.retry_after(hint) } else { failure };
        breaker.try_acquire().expect("due").settle(Outcome::Failure(failure));
        assert_eq!(breaker.state(), State::Open);
        let mut events = Vec::new();
        breaker.drain(&mut events);
        for event in events {
            if let EventKind::Opened { delay, hint: told, .. } = event.kind {
                below += u32::from(told.is_some_and(|hint| delay < hint));
                above += u32::from(told.is_none() && delay > cap);
            }
        }
    }
    format!("{below}; {above}")
}
