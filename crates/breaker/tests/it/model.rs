//! Any history, on a breaker and on a naive model.
//!
//! The model keeps lists and searches them, and does everything the moment it is due. The breaker keeps counters, and
//! notices things when somebody comes by. At every instant both must look the same. The model knows nothing of jitter,
//! which has tests of its own, nor of a clock that goes back.

use std::time::Duration;

use fusebox_breaker::core::{Core, Ending, Input, Ticket, Verdict, step};
use fusebox_breaker::{
    Category, Cause, Clock, Config, CountWindow, EventKind, Failure, ManualClock, Mode, OnDrop,
    Outcome, OwnedPermit, Rejected, State, Tick, TimeWindow, View,
};
use proptest::prelude::*;

use crate::history::check_history;
use crate::rig::Rig;

/// One thing that happens. Permits are chosen by a number, modulo those that are out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Acquire,
    Settle(usize, Outcome),
    Cancel(usize),
    Drop(usize),
    Evidence(Category),
    Poll,
    /// Until so many milliseconds from now; none = a cooldown.
    Trip(Option<u64>),
    Reset,
    SetMode(Mode),
    /// Milliseconds.
    Wait(u64),
}

pub(crate) fn category() -> impl Strategy<Value = Category> {
    prop::sample::select(&Category::ALL[..3])
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => Just(Outcome::Success),
        1 => Just(Outcome::Answered),
        1 => Just(Outcome::Neutral),
        6 => category().prop_map(Outcome::failure),
        1 => (category(), 0u64..30_000).prop_map(|(category, hint)| {
            Outcome::Failure(Failure::new(category).retry_after(Duration::from_millis(hint)))
        }),
    ]
}

pub(crate) fn op(modes: bool) -> impl Strategy<Value = Op> {
    let mode =
        prop::sample::select(&[Mode::Normal, Mode::ForcedOpen, Mode::Disabled, Mode::Shadow][..]);
    let weight = u32::from(modes);
    prop_oneof![
        12 => Just(Op::Acquire),
        12 => (any::<usize>(), outcome()).prop_map(|(i, outcome)| Op::Settle(i, outcome)),
        1 => any::<usize>().prop_map(Op::Cancel),
        1 => any::<usize>().prop_map(Op::Drop),
        1 => category().prop_map(Op::Evidence),
        1 => Just(Op::Poll),
        1 => prop::option::of(0u64..5_000).prop_map(Op::Trip),
        1 => Just(Op::Reset),
        weight => mode.prop_map(Op::SetMode),
        // The cooldown is 1 s, the lease 500 ms, a bucket 100 ms: ends of all of them are hit exactly, too.
        6 => prop_oneof![0u64..50, Just(100), Just(500), Just(1_000), 0u64..9_000].prop_map(Op::Wait),
    ]
}

prop_compose! {
    pub(crate) fn rules()(
        failure_threshold in 0u16..5,
        category_threshold in prop::option::of(1u16..4),
        success_threshold in 1u8..4,
        half_open_max_inflight in 1u8..4,
        count in prop::option::of((1usize..8, 1u8..=100)),
        time in prop::option::of((1u32..5, 1u8..=100)),
        slow in prop::option::of(1u8..=100),
        cancels in any::<bool>(),
        call_events in any::<bool>(),
    ) -> Config {
        let ms = Duration::from_millis;
        let slow_percent = if count.is_some() || time.is_some() { slow } else { None };
        let mut cfg = Config {
            failure_threshold,
            success_threshold,
            half_open_max_inflight,
            cooldown: ms(1_000),
            max_cooldown: ms(5_000),
            min_cooldown: Some(ms(200)),
            max_hint: Some(ms(20_000)),
            jitter_percent: 0,
            probe_lease: ms(500),
            count_window: count.map(|(size, failure_percent)| {
                CountWindow { size, min_calls: 1 + size as u32 / 2, failure_percent, slow_percent }
            }),
            time_window: time.map(|(min_calls, failure_percent)| {
                TimeWindow { period: ms(1_000), buckets: 10, min_calls, failure_percent, slow_percent }
            }),
            slow_call: slow_percent.map(|_| ms(40)),
            on_drop: if cancels { OnDrop::Cancel } else { OnDrop::Fail },
            call_events,
            // At most three events for each of 200 ops.
            event_capacity: 1_024,
            ..Config::default()
        };
        if let Some(threshold) = category_threshold {
            let most = if failure_threshold > 0 { failure_threshold } else { u16::MAX };
            cfg = cfg.category_threshold(Category::SERVER, threshold.min(most));
        }
        if cfg.validate().is_err() {
            cfg.failure_threshold = 3;
        }
        cfg
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Admission {
    Call,
    Probe,
    Ignored,
}

#[derive(Clone, Debug)]
struct ModelPermit {
    era: u64,
    admission: Admission,
    started: u64,
    id: u64,
}

struct Model {
    cfg: Config,
    now: u64,
    mode: Mode,
    state: State,
    era: u64,
    cause: Option<Cause>,
    failures: Vec<Category>,
    opens: u32,
    deadline: u64,
    good_probes: u8,
    probes: Vec<(u64, u64)>,
    samples: Vec<(u64, bool, bool)>,
    stale: usize,
    next_id: u64,
}

fn ns(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

impl Model {
    fn new(cfg: &Config) -> Self {
        Self {
            cfg: cfg.clone(),
            now: 0,
            mode: Mode::Normal,
            state: State::Closed,
            era: 0,
            cause: None,
            failures: Vec::new(),
            opens: 0,
            deadline: 0,
            good_probes: 0,
            probes: Vec::new(),
            samples: Vec::new(),
            stale: 0,
            next_id: 0,
        }
    }

    fn decides(&self) -> bool {
        matches!(self.mode, Mode::Normal | Mode::Shadow)
    }

    fn enter(&mut self, state: State, cause: Cause) {
        self.state = state;
        self.cause = Some(cause);
        self.era += 1;
        self.failures.clear();
        self.probes.clear();
        self.samples.clear();
        self.good_probes = 0;
        if state == State::Closed {
            self.opens = 0;
        }
    }

    fn open(&mut self, at: u64, cause: Cause, hint: Option<Duration>, opens: u32) {
        self.enter(State::Open, cause);
        self.opens = opens;
        let wait = match hint {
            Some(hint) => ns(hint).clamp(200_000_000, 20_000_000_000),
            None => (0..opens - 1).fold(1_000_000_000u64, |wait, _| (wait * 2).min(5_000_000_000)),
        };
        self.deadline = at + wait;
    }

    /// Time up to `now`, each transition at its instant.
    fn wait(&mut self, nanos: u64) {
        self.now += nanos;
        while self.decides() {
            let oldest = self.probes.iter().map(|(_, started)| *started).min();
            match (self.state, oldest) {
                (State::HalfOpen, Some(started))
                    if started + ns(self.cfg.probe_lease) <= self.now =>
                {
                    let lost_at = started + ns(self.cfg.probe_lease);
                    self.open(lost_at, Cause::LeaseExpired, None, self.opens + 1);
                }
                (State::Open, _) if self.deadline <= self.now => {
                    self.enter(State::HalfOpen, Cause::Proactive);
                }
                _ => break,
            }
        }
    }

    fn free_slots(&self) -> u8 {
        let in_flight = self.probes.len() as u8;
        (0..16u8)
            .filter(|more| {
                *more > 0
                    && in_flight + more <= self.cfg.half_open_max_inflight
                    && self.good_probes + in_flight + more <= self.cfg.success_threshold
            })
            .max()
            .unwrap_or(0)
    }

    fn acquire(&mut self) -> Option<ModelPermit> {
        let admission = match (self.mode, self.state) {
            (Mode::Disabled, _) => Admission::Ignored,
            (Mode::ForcedOpen, _) => return None,
            (_, State::Closed) => Admission::Call,
            (_, State::HalfOpen) if self.free_slots() > 0 => Admission::Probe,
            (Mode::Shadow, _) => Admission::Ignored,
            _ => return None,
        };
        self.next_id += 1;
        if admission == Admission::Probe {
            self.probes.push((self.next_id, self.now));
        }
        Some(ModelPermit { era: self.era, admission, started: self.now, id: self.next_id })
    }

    /// `None` = cancelled.
    fn settle(&mut self, permit: &ModelPermit, outcome: Option<Outcome>, dropped: bool) {
        if permit.admission == Admission::Ignored || self.mode == Mode::Disabled {
            return;
        }
        if permit.era != self.era {
            self.stale += 1;
            return;
        }
        let slow = self.cfg.slow_call.is_some_and(|limit| self.now - permit.started >= ns(limit));
        match permit.admission {
            Admission::Call => self.call_ended(outcome, slow),
            Admission::Probe => {
                self.probes.retain(|(id, _)| *id != permit.id);
                let opens = self.opens + 1;
                match outcome {
                    Some(Outcome::Success | Outcome::Answered) if slow => {
                        self.open(self.now, Cause::ProbeSlow, None, opens)
                    }
                    Some(Outcome::Success | Outcome::Answered) => {
                        self.good_probes += 1;
                        if self.good_probes == self.cfg.success_threshold {
                            self.enter(State::Closed, Cause::Recovered);
                        }
                    }
                    Some(Outcome::Failure(_)) if dropped => {
                        self.open(self.now, Cause::ProbeDropped, None, opens)
                    }
                    Some(Outcome::Failure(failure)) => {
                        self.open(
                            self.now,
                            Cause::ProbeFailed(failure.category),
                            failure.retry_after,
                            opens,
                        );
                    }
                    Some(Outcome::Neutral) | None => {}
                }
            }
            Admission::Ignored => {}
        }
    }

    fn call_ended(&mut self, outcome: Option<Outcome>, slow: bool) {
        match outcome {
            Some(Outcome::Success) => {
                self.failures.clear();
                self.samples.push((self.now, false, slow));
                if slow {
                    self.judge(None, None);
                }
            }
            Some(Outcome::Answered) => {
                self.failures.clear();
                if slow {
                    self.samples.push((self.now, false, true));
                    self.judge(None, None);
                }
            }
            Some(Outcome::Failure(failure)) => {
                self.failures.push(failure.category);
                self.samples.push((self.now, true, slow));
                self.judge(Some(failure.category), failure.retry_after);
            }
            Some(Outcome::Neutral) | None => {}
        }
    }

    fn streak(&self, category: Category) -> u16 {
        self.failures.iter().filter(|c| **c == category).count() as u16
    }

    fn judge(&mut self, category: Option<Category>, hint: Option<Duration>) {
        let rate = |part: usize, percent: u8, all: usize, least: u32| {
            all >= least as usize && part * 100 >= usize::from(percent) * all
        };
        let count = self.cfg.count_window.map(|rule| {
            let kept: Vec<_> = self.samples.iter().rev().take(rule.size).collect();
            let bad = kept.iter().filter(|sample| sample.1).count();
            let slow = kept.iter().filter(|sample| sample.2).count();
            let is_slow = rule
                .slow_percent
                .is_some_and(|percent| rate(slow, percent, kept.len(), rule.min_calls));
            (rate(bad, rule.failure_percent, kept.len(), rule.min_calls), is_slow)
        });
        let time = self.cfg.time_window.map(|rule| {
            let width = ns(rule.period) / u64::from(rule.buckets);
            let first = (self.now / width + 1).saturating_sub(u64::from(rule.buckets)) * width;
            let kept: Vec<_> = self.samples.iter().filter(|sample| sample.0 >= first).collect();
            let bad = kept.iter().filter(|sample| sample.1).count();
            let slow = kept.iter().filter(|sample| sample.2).count();
            let is_slow = rule
                .slow_percent
                .is_some_and(|percent| rate(slow, percent, kept.len(), rule.min_calls));
            (rate(bad, rule.failure_percent, kept.len(), rule.min_calls), is_slow)
        });
        let by_category = category.filter(|category| {
            self.cfg.category_thresholds.get(*category).is_some_and(|t| self.streak(*category) >= t)
        });
        let total = self.cfg.failure_threshold;
        let cause = if let Some(category) = by_category {
            Cause::Category(category)
        } else if category.is_some() && total > 0 && self.failures.len() >= usize::from(total) {
            Cause::Total
        } else if count.is_some_and(|(bad, _)| bad) {
            Cause::CountRate
        } else if time.is_some_and(|(bad, _)| bad) {
            Cause::TimeRate
        } else if count.is_some_and(|(_, slow)| slow) || time.is_some_and(|(_, slow)| slow) {
            Cause::SlowRate
        } else {
            return;
        };
        self.open(self.now, cause, hint, 1);
    }

    fn trip(&mut self, until: Option<u64>) {
        if !self.decides() {
            return;
        }
        let until = until.unwrap_or(self.now + ns(self.cfg.cooldown));
        if self.state == State::Open && until <= self.deadline {
            return;
        }
        let opens = self.opens.max(1);
        self.enter(State::Open, Cause::Manual);
        self.opens = opens;
        self.deadline = until;
        self.wait(0);
    }

    fn reset(&mut self) {
        if self.decides() {
            self.enter(State::Closed, Cause::Manual);
        }
    }

    fn set_mode(&mut self, to: Mode) {
        let from = std::mem::replace(&mut self.mode, to);
        match (from, to) {
            (from, to) if from == to => {}
            (_, Mode::ForcedOpen) => {
                let opens = self.opens;
                self.enter(State::Open, Cause::Manual);
                self.opens = opens;
            }
            (_, Mode::Disabled) | (Mode::Disabled, _) => self.enter(State::Closed, Cause::Manual),
            (Mode::ForcedOpen, _) => {
                let opens = self.opens;
                self.enter(State::HalfOpen, Cause::Manual);
                self.opens = opens;
            }
            _ => {}
        }
        self.wait(0);
    }
}

/// A breaker and its model, doing the same.
struct Pair {
    rig: Rig,
    model: Model,
    permits: Vec<(OwnedPermit<ManualClock>, ModelPermit)>,
}

impl Pair {
    fn new(cfg: &Config) -> Self {
        Self { rig: Rig::new(cfg.clone()), model: Model::new(cfg), permits: Vec::new() }
    }

    fn take(&mut self, i: usize) -> Option<(OwnedPermit<ManualClock>, ModelPermit)> {
        if self.permits.is_empty() {
            None
        } else {
            Some(self.permits.swap_remove(i % self.permits.len()))
        }
    }

    fn apply(&mut self, op: Op) -> Result<(), TestCaseError> {
        let Self { rig, model, .. } = self;
        match op {
            Op::Acquire => match (rig.ask(), model.acquire()) {
                (Ok(permit), Some(expected)) => {
                    prop_assert_eq!(permit.is_probe(), expected.admission == Admission::Probe);
                    self.permits.push((permit, expected));
                }
                (Err(rejected), None) => {
                    let expected = match (model.mode, model.state) {
                        (Mode::ForcedOpen, _) => None,
                        (_, State::Open) => Some(model.deadline - model.now),
                        _ => model
                            .probes
                            .iter()
                            .map(|p| p.1 + ns(model.cfg.probe_lease) - model.now)
                            .min(),
                    };
                    prop_assert_eq!(rejected.retry_in().map(ns), expected);
                    if let Rejected::CircuitOpen { cause, .. } = rejected {
                        prop_assert_eq!(Some(cause), model.cause);
                    }
                }
                (found, expected) => {
                    prop_assert!(false, "{found:?} where the model says {expected:?}")
                }
            },
            Op::Settle(i, outcome) => {
                if let Some((permit, expected)) = self.take(i) {
                    permit.settle(outcome);
                    self.model.settle(&expected, Some(outcome), false);
                }
            }
            Op::Cancel(i) => {
                if let Some((permit, expected)) = self.take(i) {
                    permit.cancel();
                    self.model.settle(&expected, None, false);
                }
            }
            Op::Drop(i) => {
                if let Some((permit, expected)) = self.take(i) {
                    drop(permit);
                    let fails = self.model.cfg.on_drop == OnDrop::Fail;
                    let outcome = fails.then_some(Outcome::failure(Category::TIMEOUT));
                    self.model.settle(&expected, outcome, true);
                }
            }
            Op::Evidence(category) => {
                rig.breaker.record_failure(category.into());
                if model.decides() && model.state == State::Closed {
                    model.call_ended(Some(Outcome::failure(category)), false);
                }
            }
            Op::Poll => {
                let state = rig.breaker.poll();
                prop_assert_eq!(state, model.state);
                prop_assert_eq!(rig.stored(), model.state);
            }
            Op::Trip(until) => {
                let until = until.map(|ms| model.now + ms * 1_000_000);
                rig.breaker.trip(until.map(Tick::from_nanos), Cause::Manual);
                model.trip(until);
            }
            Op::Reset => {
                rig.breaker.reset();
                model.reset();
            }
            Op::SetMode(mode) => {
                rig.breaker.set_mode(mode);
                model.set_mode(mode);
            }
            Op::Wait(ms) => {
                rig.clock.advance(Duration::from_millis(ms));
                model.wait(ms * 1_000_000);
            }
        }
        self.compare()
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (view, model) = (self.rig.breaker.view(), &self.model);
        prop_assert_eq!(view.mode, model.mode);
        prop_assert_eq!(view.state, model.state);
        prop_assert_eq!(self.rig.breaker.state(), model.state);
        prop_assert_eq!(view.opens, model.opens);
        let has_deadline = model.state == State::Open && model.mode != Mode::ForcedOpen;
        prop_assert_eq!(view.deadline.map(Tick::as_nanos), has_deadline.then_some(model.deadline));
        prop_assert_eq!(view.successes, model.good_probes);
        prop_assert_eq!(usize::from(view.in_flight), model.probes.len());
        let slots =
            if model.state == State::HalfOpen && model.decides() { model.free_slots() } else { 0 };
        prop_assert_eq!(view.free_slots, slots);
        prop_assert_eq!(usize::from(view.total_streak), model.failures.len());
        for category in Category::ALL {
            prop_assert_eq!(view.streaks[category.index()], model.streak(category));
        }
        // Traffic or Proactive depends on who came by.
        if model.state != State::HalfOpen {
            prop_assert_eq!(view.cause, model.cause);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn any_history_looks_like_the_naive_one(cfg in rules(), ops in prop::collection::vec(op(true), 1..200)) {
        let mut pair = Pair::new(&cfg);
        for op in ops {
            pair.apply(op)?;
        }
        let events = pair.rig.events();
        check_history(&events)?;
        let stale = events.iter().filter(|event| matches!(event.kind, EventKind::Stale { .. })).count();
        prop_assert_eq!(stale, pair.model.stale);
        for (permit, _) in pair.permits {
            permit.cancel();
        }
    }

    /// The short cuts of the breaker answer what `step` answers.
    #[test]
    fn the_short_cuts_refine_the_pure_step(cfg in rules(), ops in prop::collection::vec(op(true), 1..200)) {
        let rig = Rig::new(cfg.clone());
        let mut core = Core::new(&cfg);
        let mut permits: Vec<(OwnedPermit<ManualClock>, Ticket)> = Vec::new();
        let take = |permits: &mut Vec<(OwnedPermit<ManualClock>, Ticket)>, i: usize| {
            (!permits.is_empty()).then(|| { let i = i % permits.len(); permits.swap_remove(i) })
        };
        for op in ops {
            let now = rig.clock.now();
            let mut run = |input| step(&mut core, input, now, &cfg, 0).verdict;
            match op {
                Op::Acquire => match (rig.ask(), run(Input::Acquire)) {
                    (Ok(permit), Verdict::Admitted(ticket)) => {
                        prop_assert_eq!(permit.is_probe(), ticket.is_probe());
                        permits.push((permit, ticket));
                    }
                    (Err(found), Verdict::Rejected(expected)) => prop_assert_eq!(found, expected),
                    (found, expected) => prop_assert!(false, "{found:?} where step says {expected:?}"),
                },
                Op::Settle(i, outcome) => if let Some((permit, ticket)) = take(&mut permits, i) {
                    permit.settle(outcome);
                    run(Input::Settle { ticket, ending: Ending::Outcome(outcome) });
                },
                Op::Cancel(i) => if let Some((permit, ticket)) = take(&mut permits, i) {
                    permit.cancel();
                    run(Input::Settle { ticket, ending: Ending::Cancelled });
                },
                Op::Drop(i) => if let Some((permit, ticket)) = take(&mut permits, i) {
                    drop(permit);
                    run(Input::Settle { ticket, ending: Ending::Dropped { panicking: false } });
                },
                Op::Evidence(category) => {
                    rig.breaker.record_failure(category.into());
                    run(Input::Evidence(category.into()));
                }
                Op::Poll => {
                    rig.breaker.poll();
                    run(Input::Poll);
                }
                Op::Trip(until) => {
                    let until = until.map(|ms| now.after(Duration::from_millis(ms)));
                    rig.breaker.trip(until, Cause::Manual);
                    run(Input::Trip { until, cause: Cause::Manual });
                }
                Op::Reset => {
                    rig.breaker.reset();
                    run(Input::Reset);
                }
                Op::SetMode(mode) => {
                    rig.breaker.set_mode(mode);
                    run(Input::SetMode(mode));
                }
                Op::Wait(ms) => rig.clock.advance(Duration::from_millis(ms)),
            }
            let expected: View = core.view(rig.clock.now(), &cfg);
            prop_assert_eq!(rig.breaker.view(), expected);
        }
        for (permit, _) in permits {
            permit.cancel();
        }
    }
}
