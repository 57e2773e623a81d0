//! The circuit breaker as a pure function.
//!
//! [`step`] is the only place where a transition is decided. It reads no clock, takes no lock, draws no random number
//! and allocates nothing, so a history of inputs has one result, whoever plays it: threads, a simulation or a test.
//! What stands around it, in the rest of the crate, only decides when `step` has nothing to say.
//!
//! An *era* is the span between two transitions; each has its own generation number. A [`Ticket`] belongs to the era it
//! was given out in, and a result from another era changes nothing: it says how the other side was then.

mod delay;
mod probes;
mod window;

use std::fmt;
use std::time::Duration;

use self::delay::Delay;
use self::probes::Probes;
use self::window::{Sample, Windows};
use crate::clock::Tick;
use crate::config::{Config, OnDrop};
use crate::event::{Event, EventKind, Sink, StaleOutcome};
use crate::outcome::{Category, Failure, Outcome};
use crate::state::{Cause, Mode, Rejected, State};

/// What can happen to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Somebody wants to call.
    Acquire,
    /// A call ended.
    Settle {
        /// What [`Input::Acquire`] gave out.
        ticket: Ticket,
        /// How it ended.
        ending: Ending,
    },
    /// A failure seen outside any call; counts in closed only.
    Evidence(Failure),
    /// Time passed.
    Poll,
    /// Somebody opens it, or moves an open one's deadline further away.
    Trip {
        /// Until when; none = one cooldown from now.
        until: Option<Tick>,
        /// Why.
        cause: Cause,
    },
    /// Somebody closes it.
    Reset,
    /// Somebody changes its mode.
    SetMode(Mode),
    /// It stood like this before a restart; for a new breaker only.
    Restore {
        /// What was left of its cooldown; none or zero = half-open.
        left: Option<Duration>,
        /// Opens since it was last closed.
        opens: u32,
        /// Why it had opened.
        cause: Option<Cause>,
    },
}

/// How a call ended, or its permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an outcome.
    Outcome(Outcome),
    /// Its permit was given back.
    Cancelled,
    /// Its permit was dropped. [`Config::on_drop`] says what that means.
    Dropped {
        /// Whether a panic dropped it.
        panicking: bool,
    },
}

/// The right to one call, and to say how it ended.
///
/// Two words, so that it stays in registers: as a struct of small fields it cost a good call four times as much.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The generation of its era above; in the lowest byte a [`Pass`].
    bits: u64,
    /// When it was given out, where that matters; else the end of time, where no call begins.
    started: Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// A call in closed.
    Normal,
    /// A probe, with its slot.
    Probe(u8),
    /// Admitted by a mode; its end is of no interest.
    Ignored,
}

impl Ticket {
    const NORMAL: u64 = 0xff;
    const IGNORING: u64 = 0xfe;
    const UNTIMED: Tick = Tick::MAX;

    /// A call that is let through whatever the state, and whose end changes nothing: of no era that there is.
    pub(crate) const IGNORED: Self =
        Self { bits: u64::MAX << 8 | Self::IGNORING, started: Self::UNTIMED };

    /// A call in a closed era whose start does not matter.
    #[inline]
    pub(crate) const fn untimed(generation: u64) -> Self {
        Self::timed(generation, Self::UNTIMED)
    }

    /// A call in a closed era.
    #[inline]
    pub(crate) const fn timed(generation: u64, started: Tick) -> Self {
        Self { bits: generation << 8 | Self::NORMAL, started }
    }

    const fn probe(generation: u64, slot: u8, started: Tick) -> Self {
        Self { bits: generation << 8 | slot as u64, started }
    }

    /// The era it belongs to; the highest number there is if a mode let it through and its end is of no interest.
    #[inline]
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.bits >> 8
    }

    /// Whether it is a probe of a half-open breaker.
    #[must_use]
    pub const fn is_probe(&self) -> bool {
        matches!(self.pass(), Pass::Probe(_))
    }

    pub(crate) const fn is_ignored(&self) -> bool {
        matches!(self.pass(), Pass::Ignored)
    }

    const fn pass(&self) -> Pass {
        match self.bits & 0xff {
            Self::NORMAL => Pass::Normal,
            Self::IGNORING => Pass::Ignored,
            slot => Pass::Probe(slot as u8),
        }
    }

    fn elapsed(&self, now: Tick) -> Option<Duration> {
        (self.started != Self::UNTIMED).then(|| now.since(self.started))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("generation", &self.generation())
            .field("pass", &self.pass())
            .finish()
    }
}

/// What a step answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// To [`Input::Acquire`]: go ahead.
    Admitted(Ticket),
    /// To [`Input::Acquire`]: don't.
    Rejected(Rejected),
    /// To anything else.
    Noted,
}

/// What a step did, beside what it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The answer.
    pub verdict: Verdict,
    /// What the world should know, in order; the numbers ([`Event::seq`]) are not given yet.
    pub events: Events,
}

/// The events of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events([Option<Event>; Self::MOST]);

impl Events {
    /// A lease that ended, the half-open that followed, and what the input itself did.
    const MOST: usize = 3;

    /// The events, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.0.iter().flatten()
    }
}

impl Sink for Events {
    fn tell(&mut self, event: Event) {
        let free = self.0.iter_mut().find(|place| place.is_none());
        debug_assert!(free.is_some(), "a step has at most {} events", Self::MOST);
        if let Some(place) = free {
            *place = Some(event);
        }
    }
}

/// All that a breaker knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    era: Era,
    windows: Windows,
}

/// All but the windows: what a reader copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Era {
    generation: u64,
    mode: Mode,
    state: State,
    /// Why this era began; none in the first.
    cause: Option<Cause>,
    /// Consecutive failures, by category and in all. Zero outside closed.
    streaks: [u16; Category::COUNT],
    total: u16,
    /// Failures in this era, for the report at its end.
    failures: u32,
    /// Opens since the breaker was last closed.
    opens: u32,
    /// Zero outside open.
    deadline: Tick,
    /// Good probes. Zero outside half-open.
    successes: u8,
    probes: Probes,
    /// The draw for the open that a lost probe causes. Drawn when the era begins, so that the deadline does not depend
    /// on who notices the loss first.
    lease_draw: u32,
    /// The latest instant that left a trace; the clock does not go back behind it.
    latest: Tick,
}

impl Core {
    /// A closed breaker, or one in the mode that `cfg` starts it in.
    #[must_use]
    pub fn new(cfg: &Config) -> Self {
        let era = Era {
            generation: 0,
            mode: cfg.mode,
            state: if cfg.mode == Mode::ForcedOpen { State::Open } else { State::Closed },
            cause: None,
            streaks: [0; Category::COUNT],
            total: 0,
            failures: 0,
            opens: 0,
            deadline: Tick::ZERO,
            successes: 0,
            probes: Probes::default(),
            lease_draw: 0,
            latest: Tick::ZERO,
        };
        Self { era, windows: Windows::new(cfg) }
    }

    pub(crate) const fn generation(&self) -> u64 {
        self.era.generation
    }

    pub(crate) const fn mode(&self) -> Mode {
        self.era.mode
    }

    pub(crate) const fn state(&self) -> State {
        self.era.state
    }

    pub(crate) const fn cause(&self) -> Option<Cause> {
        self.era.cause
    }

    /// Whether a success would change something besides a window.
    pub(crate) const fn has_streak(&self) -> bool {
        self.era.total > 0
    }

    /// The next instant at which time alone changes the state.
    pub(crate) fn edge(&self, cfg: &Config) -> Tick {
        match self.era.state {
            _ if matches!(self.era.mode, Mode::ForcedOpen | Mode::Disabled) => Tick::MAX,
            State::Closed => Tick::MAX,
            State::Open => self.era.deadline,
            State::HalfOpen => self.era.lease_end(cfg).unwrap_or(Tick::MAX),
        }
    }

    /// So many successes in closed, one after the other, from before [`Core::good_until`]. As if each were settled, where
    /// there is no streak that they would end.
    pub(crate) fn count_good(&mut self, count: u32) {
        self.windows.push_good(count);
    }

    /// Until when successes need nothing but to be counted.
    pub(crate) fn good_until(&self) -> Tick {
        self.windows.good_until()
    }

    /// What a reader at `now` sees. Changes nothing.
    #[must_use]
    pub fn view(&self, now: Tick, cfg: &Config) -> View {
        let mut era = self.era;
        era.catch_up(now.max(era.latest), Cause::Proactive, cfg, 0, &mut Events::default());
        View {
            mode: era.mode,
            stored: self.era.state,
            state: era.state,
            generation: self.era.generation,
            cause: era.cause,
            opens: era.opens,
            deadline: (era.state == State::Open && era.mode != Mode::ForcedOpen)
                .then_some(era.deadline),
            lease_end: era.lease_end(cfg),
            total_streak: era.total,
            streaks: era.streaks,
            successes: era.successes,
            in_flight: era.probes.in_flight(),
            free_slots: era.free_slots(cfg),
        }
    }
}

/// What a breaker looks like at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct View {
    /// Its mode. Forced-open and disabled outrank the state.
    pub mode: Mode,
    /// The state as the last input left it.
    pub stored: State,
    /// The state that the next input finds: what time has changed meanwhile is in it, and in all fields below.
    pub state: State,
    /// The stored era.
    pub generation: u64,
    /// Why it is in this state; none before the first transition.
    pub cause: Option<Cause>,
    /// Opens since it was last closed.
    pub opens: u32,
    /// Open: from when on a probe is let through.
    pub deadline: Option<Tick>,
    /// Half-open with a probe under way: when the oldest of them is given up.
    pub lease_end: Option<Tick>,
    /// Closed: consecutive failures of any category.
    pub total_streak: u16,
    /// Closed: consecutive failures by category, in the order of [`Category::ALL`].
    pub streaks: [u16; Category::COUNT],
    /// Half-open: probes that succeeded.
    pub successes: u8,
    /// Half-open: probes under way.
    pub in_flight: u8,
    /// Half-open: how many more would be let through now.
    pub free_slots: u8,
}

/// What becomes of a breaker to which `input` happens at `now`.
///
/// `draw` is a random number, uniform over all of `u32`, of which jitter is made. A `now` before one that an earlier
/// step saw counts as no time passed. One transition may follow another: a lost probe opens the breaker at the end of
/// its lease, and if that open is over too, it is half-open when `input` is applied.
pub fn step(core: &mut Core, input: Input, now: Tick, cfg: &Config, draw: u32) -> Step {
    let mut events = Events::default();
    let verdict = apply(core, input, now, cfg, draw, &mut events);
    Step { verdict, events }
}

/// [`step`], with its events on their way to where they are kept: carried in an array they made a step twice as long.
#[inline]
pub(crate) fn apply(
    core: &mut Core,
    input: Input,
    now: Tick,
    cfg: &Config,
    draw: u32,
    events: &mut impl Sink,
) -> Verdict {
    let mut stepping =
        Stepping { now: now.max(core.era.latest), asked_at: now, core, cfg, draw, events };
    match input {
        Input::Acquire => stepping.acquire(),
        Input::Settle { ticket, ending } => stepping.settle(ticket, ending),
        Input::Evidence(failure) => stepping.evidence(failure),
        Input::Poll => stepping.poll(),
        Input::Trip { until, cause } => stepping.trip(until, cause),
        Input::Reset => stepping.reset(),
        Input::SetMode(mode) => stepping.set_mode(mode),
        Input::Restore { left, opens, cause } => stepping.restore(left, opens, cause),
    }
}

/// One step under way.
struct Stepping<'a, S> {
    core: &'a mut Core,
    cfg: &'a Config,
    now: Tick,
    /// The instant as it was passed, for answers that the caller compares with its own clock.
    asked_at: Tick,
    draw: u32,
    events: &'a mut S,
}

/// The rows of the transition table.
impl<S: Sink> Stepping<'_, S> {
    fn acquire(&mut self) -> Verdict {
        match self.core.era.mode {
            Mode::Disabled => return Verdict::Admitted(Ticket::IGNORED),
            Mode::ForcedOpen => return self.reject(Rejected::ForcedOpen),
            Mode::Normal | Mode::Shadow => self.catch_up(Cause::Traffic),
        }
        let era = &mut self.core.era;
        match era.state {
            State::Closed => {
                let generation = era.generation;
                self.admit(match self.cfg.slow_call {
                    Some(_) => Ticket::timed(generation, self.asked_at),
                    None => Ticket::untimed(generation),
                })
            }
            State::Open => {
                let retry_in = era.deadline.since(self.asked_at);
                // An open era always has a cause.
                let cause = era.cause.unwrap_or(Cause::Manual);
                self.reject(Rejected::CircuitOpen { retry_in, cause })
            }
            State::HalfOpen if era.free_slots(self.cfg) > 0 => {
                let slot = era.probes.take(self.now);
                era.latest = self.now;
                let ticket = Ticket::probe(era.generation, slot, self.asked_at);
                self.admit(ticket)
            }
            State::HalfOpen => {
                let lease_end = era.lease_end(self.cfg).unwrap_or(self.now);
                self.reject(Rejected::HalfOpenBusy { retry_in: lease_end.since(self.asked_at) })
            }
        }
    }

    fn settle(&mut self, ticket: Ticket, ending: Ending) -> Verdict {
        if ticket.is_ignored() || self.core.era.mode == Mode::Disabled {
            return Verdict::Noted;
        }
        // Whoever polls all the time would have seen a lost probe before this result; whoever never does must not get
        // another history.
        if ticket.generation() == self.core.era.generation {
            self.catch_up(Cause::Proactive);
        }
        if ticket.generation() != self.core.era.generation {
            let outcome = match ending {
                Ending::Outcome(outcome) => Some(StaleOutcome::from(outcome)),
                Ending::Cancelled | Ending::Dropped { .. } => None,
            };
            self.emit(EventKind::Stale { outcome, from_generation: ticket.generation() });
            return Verdict::Noted;
        }

        // By the clock as it is: the difference means something even where it has been set back before both.
        let elapsed = ticket.elapsed(self.asked_at);
        let is_slow =
            self.cfg.slow_call.zip(elapsed).is_some_and(|(limit, elapsed)| elapsed >= limit);
        match ticket.pass() {
            Pass::Normal => self.settle_closed(ending, elapsed, is_slow),
            // A slot that is free was settled before: a copy of the ticket says nothing new.
            Pass::Probe(slot) if self.core.era.probes.release(slot) => {
                self.settle_probe(ending, elapsed, is_slow);
            }
            Pass::Probe(_) | Pass::Ignored => {}
        }
        Verdict::Noted
    }

    fn settle_closed(&mut self, ending: Ending, elapsed: Option<Duration>, slow: bool) {
        match ending {
            Ending::Outcome(Outcome::Success) => self.answered(true, slow),
            Ending::Outcome(Outcome::Answered) => self.answered(slow, slow),
            Ending::Outcome(Outcome::Failure(failure)) => self.failed(failure, elapsed, slow),
            Ending::Dropped { .. } if self.cfg.on_drop == OnDrop::Fail => {
                self.failed(Failure::new(Category::TIMEOUT), elapsed, slow);
            }
            Ending::Outcome(Outcome::Neutral) | Ending::Cancelled | Ending::Dropped { .. } => {}
        }
    }

    /// The other side is there: every streak ends.
    fn answered(&mut self, is_sample: bool, slow: bool) {
        let era = &mut self.core.era;
        era.streaks = [0; Category::COUNT];
        era.total = 0;
        if is_sample {
            self.sample(Sample { failed: false, slow });
        }
        if slow && let Some(cause) = self.core.windows.tripped(self.cfg) {
            self.open_by(cause, None, 1);
        }
    }

    /// A failure in closed.
    fn failed(&mut self, failure: Failure, elapsed: Option<Duration>, slow: bool) {
        let Failure { category, .. } = failure;
        self.report(failure, elapsed);
        let era = &mut self.core.era;
        let streak = &mut era.streaks[category.index()];
        *streak = streak.saturating_add(1);
        let streak = *streak;
        era.total = era.total.saturating_add(1);
        let total = era.total;
        era.latest = self.now;
        self.sample(Sample { failed: true, slow });

        let threshold = self.cfg.failure_threshold;
        let cause = if self
            .cfg
            .category_thresholds
            .get(category)
            .is_some_and(|threshold| streak >= threshold)
        {
            Some(Cause::Category(category))
        } else if threshold > 0 && total >= threshold {
            Some(Cause::Total)
        } else {
            self.core.windows.tripped(self.cfg)
        };
        if let Some(cause) = cause {
            self.open_by(cause, Some(failure), 1);
        }
    }

    fn sample(&mut self, sample: Sample) {
        self.core.windows.push(sample, self.now);
    }

    fn settle_probe(&mut self, ending: Ending, elapsed: Option<Duration>, slow: bool) {
        let reopened = self.core.era.opens.saturating_add(1);
        match ending {
            Ending::Outcome(Outcome::Success | Outcome::Answered) if slow => {
                self.open_by(Cause::ProbeSlow, None, reopened);
            }
            Ending::Outcome(Outcome::Success | Outcome::Answered) => {
                let era = &mut self.core.era;
                era.successes = era.successes.saturating_add(1);
                if era.successes >= self.cfg.success_threshold {
                    self.close(Cause::Recovered);
                }
            }
            Ending::Outcome(Outcome::Failure(failure)) => {
                self.report(failure, elapsed);
                self.open_by(Cause::ProbeFailed(failure.category), Some(failure), reopened);
            }
            Ending::Dropped { panicking } if self.cfg.on_drop == OnDrop::Fail => {
                let failure = Failure::new(Category::TIMEOUT);
                self.report(failure, elapsed);
                let cause = if panicking { Cause::ProbePanicked } else { Cause::ProbeDropped };
                self.open_by(cause, Some(failure), reopened);
            }
            Ending::Outcome(Outcome::Neutral) | Ending::Cancelled | Ending::Dropped { .. } => {}
        }
    }

    fn evidence(&mut self, failure: Failure) -> Verdict {
        let decides = matches!(self.core.era.mode, Mode::Normal | Mode::Shadow);
        if decides && self.core.era.state == State::Closed {
            self.failed(failure, None, false);
        }
        Verdict::Noted
    }

    fn poll(&mut self) -> Verdict {
        self.catch_up(Cause::Proactive);
        Verdict::Noted
    }

    fn trip(&mut self, until: Option<Tick>, cause: Cause) -> Verdict {
        if matches!(self.core.era.mode, Mode::ForcedOpen | Mode::Disabled) {
            return Verdict::Noted;
        }
        self.catch_up(Cause::Proactive);
        let era = &self.core.era;
        let until = until.unwrap_or(self.now.after(self.cfg.cooldown)).max(self.now);
        if era.state == State::Open && until <= era.deadline {
            return Verdict::Noted;
        }
        // Closed: the first. Half-open by a mode or an unknown past: there has been none yet.
        let opens = era.opens.max(1);
        self.open(self.now, cause, None, opens, Delay::exactly(until.since(self.now)));
        Verdict::Noted
    }

    fn reset(&mut self) -> Verdict {
        if matches!(self.core.era.mode, Mode::Normal | Mode::Shadow) {
            self.catch_up(Cause::Proactive);
            self.close(Cause::Manual);
        }
        Verdict::Noted
    }

    fn set_mode(&mut self, to: Mode) -> Verdict {
        let from = self.core.era.mode;
        if from == to {
            return Verdict::Noted;
        }
        self.catch_up(Cause::Proactive);
        let decides = |mode| matches!(mode, Mode::Normal | Mode::Shadow);
        if !(decides(from) && decides(to)) {
            let era = &mut self.core.era;
            match to {
                Mode::ForcedOpen => era.begin(State::Open, Cause::Manual, self.now),
                Mode::Disabled => {
                    era.begin(State::Closed, Cause::Manual, self.now);
                    era.opens = 0;
                }
                // Out of disabled: closed, and nothing was counted. Out of forced-open: told below, after the mode.
                Mode::Normal | Mode::Shadow => {}
            }
            self.core.windows.clear();
        }
        self.core.era.mode = to;
        self.emit(EventKind::Mode { from, to });
        if from == Mode::ForcedOpen && decides(to) {
            self.core.era.half_open(self.now, Cause::Manual, self.draw, self.events);
        }
        Verdict::Noted
    }

    fn restore(&mut self, left: Option<Duration>, opens: u32, cause: Option<Cause>) -> Verdict {
        if matches!(self.core.era.mode, Mode::ForcedOpen | Mode::Disabled) {
            return Verdict::Noted;
        }
        match left.filter(|left| !left.is_zero()) {
            Some(left) => {
                self.open(self.now, Cause::Restored, None, opens.max(1), Delay::exactly(left));
                // Callers are told why it opened, not that there was a restart since.
                self.core.era.cause = cause.or(Some(Cause::Restored));
            }
            None => {
                self.core.era.opens = opens;
                self.core.era.half_open(self.now, Cause::Restored, self.draw, self.events);
            }
        }
        Verdict::Noted
    }
}

/// What the rows are made of.
impl<S: Sink> Stepping<'_, S> {
    fn admit(&mut self, ticket: Ticket) -> Verdict {
        if self.cfg.call_events {
            self.emit(EventKind::Admit { state: self.core.era.state, probe: ticket.is_probe() });
        }
        Verdict::Admitted(ticket)
    }

    fn reject(&mut self, reason: Rejected) -> Verdict {
        if self.cfg.call_events {
            self.emit(EventKind::Reject { reason });
        }
        match self.core.era.mode {
            Mode::Shadow => Verdict::Admitted(Ticket::IGNORED),
            _ => Verdict::Rejected(reason),
        }
    }

    fn report(&mut self, failure: Failure, elapsed: Option<Duration>) {
        let era = &mut self.core.era;
        era.failures = era.failures.saturating_add(1);
        let (category, state, hint) = (failure.category, era.state, failure.retry_after);
        self.emit(EventKind::Failure { category, state, hint });
        if category == Category::TIMEOUT {
            self.emit(EventKind::Timeout { elapsed });
        }
    }

    fn catch_up(&mut self, cause: Cause) {
        self.core.era.catch_up(self.now, cause, self.cfg, self.draw, self.events);
    }

    fn open_by(&mut self, cause: Cause, failure: Option<Failure>, opens: u32) {
        let hint = failure.and_then(|failure| failure.retry_after);
        let delay = Delay::of(self.cfg, opens, hint, self.draw);
        self.open(self.now, cause, failure.map(|failure| failure.category), opens, delay);
    }

    fn open(
        &mut self,
        at: Tick,
        cause: Cause,
        category: Option<Category>,
        opens: u32,
        delay: Delay,
    ) {
        self.core.era.open(at, cause, category, opens, delay, self.events);
        self.core.windows.clear();
    }

    fn close(&mut self, cause: Cause) {
        let era = &mut self.core.era;
        let opens = era.opens;
        era.begin(State::Closed, cause, self.now);
        era.opens = 0;
        self.core.windows.clear();
        self.emit(EventKind::Closed { cause, opens });
    }

    fn emit(&mut self, kind: EventKind) {
        self.core.era.emit(self.now, kind, self.events);
    }
}

impl Era {
    /// Leaves everything behind but the mode and the number of opens.
    fn begin(&mut self, state: State, cause: Cause, now: Tick) {
        *self = Self {
            generation: self.generation + 1,
            mode: self.mode,
            state,
            cause: Some(cause),
            streaks: [0; Category::COUNT],
            total: 0,
            failures: 0,
            opens: self.opens,
            deadline: Tick::ZERO,
            successes: 0,
            probes: Probes::default(),
            lease_draw: 0,
            latest: self.latest.max(now),
        };
    }

    fn open(
        &mut self,
        at: Tick,
        cause: Cause,
        category: Option<Category>,
        opens: u32,
        delay: Delay,
        events: &mut impl Sink,
    ) {
        let (from, failures) = (self.state, self.failures);
        let deadline = at.after(delay.total);
        self.begin(State::Open, cause, at);
        self.opens = opens;
        self.deadline = deadline;
        let Delay { total: delay, jitter, hint } = delay;
        let kind = EventKind::Opened {
            from,
            cause,
            category,
            failures,
            opens,
            delay,
            jitter,
            hint,
            deadline,
        };
        self.emit(at, kind, events);
    }

    fn half_open(&mut self, now: Tick, cause: Cause, draw: u32, events: &mut impl Sink) {
        self.begin(State::HalfOpen, cause, now);
        self.lease_draw = draw;
        self.emit(now, EventKind::HalfOpened { cause, opens: self.opens }, events);
    }

    /// Applies what time alone has changed up to `now`. Windows play no part: they are empty outside closed.
    fn catch_up(
        &mut self,
        now: Tick,
        cause: Cause,
        cfg: &Config,
        draw: u32,
        events: &mut impl Sink,
    ) {
        // Nor in closed: every good call with a window comes by here, under the lock.
        if self.state == State::Closed || self.mode == Mode::ForcedOpen {
            return;
        }
        if let Some(lost_at) = self.lease_end(cfg).filter(|&end| now >= end) {
            let opens = self.opens.saturating_add(1);
            let delay = Delay::of(cfg, opens, None, self.lease_draw);
            self.failures = self.failures.saturating_add(1);
            self.open(lost_at, Cause::LeaseExpired, Some(Category::TIMEOUT), opens, delay, events);
        }
        if self.state == State::Open && now >= self.deadline {
            self.half_open(now, cause, draw, events);
        }
    }

    /// When the oldest probe is given up.
    fn lease_end(&self, cfg: &Config) -> Option<Tick> {
        Some(self.probes.oldest()?.after(cfg.probe_lease))
    }

    /// How many more probes there is room for: no more at once than allowed, and never more than are still needed.
    fn free_slots(&self, cfg: &Config) -> u8 {
        if self.state != State::HalfOpen {
            return 0;
        }
        let in_flight = self.probes.in_flight();
        let needed = cfg.success_threshold.saturating_sub(self.successes).saturating_sub(in_flight);
        needed.min(cfg.half_open_max_inflight.min(Probes::MOST).saturating_sub(in_flight))
    }

    fn emit(&self, at: Tick, kind: EventKind, events: &mut impl Sink) {
        let shadow = self.mode == Mode::Shadow;
        events.tell(Event { seq: 0, at, generation: self.generation, shadow, kind });
    }
}
