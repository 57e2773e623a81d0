//! The state machine among threads.
//!
//! One atomic word says all that a call in closed needs: it is loaded once to acquire and once to settle, and a success
//! without a streak writes nothing. A reject in open is loads only. All else takes a short lock, runs
//! [`step`](crate::core::step), publishes the word and queues what there is to tell. No code of the user runs under the
//! lock. Good calls with a window are only counted; see `samples`.
//!
//! The short cuts here answer what `step` would answer, or else they go the long way; a test compares the two.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError};

use crate::clock::{Clock, SystemClock, Tick};
use crate::config::{Config, ConfigErrors};
use crate::core::{Core, Ending, Input, Ticket, Verdict, View, apply};
use crate::event::{Dropped, Event, Journal};
use crate::outcome::{Failure, Outcome};
use crate::permit::{OwnedPermit, Permit};
use crate::samples::Samples;
use crate::snapshot::{Snapshot, UnixMillis};
use crate::state::{Cause, Mode, Rejected, State};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::word::{Allowed, Word};

/// A circuit breaker. Share it by reference or in an [`Arc`].
pub struct Breaker<C: Clock = SystemClock> {
    published: Published,
    samples: Samples,
    cfg: Config,
    clock: C,
    inner: Mutex<Inner>,
}

/// What is read without the lock and written only under it. On a cache line of its own: the lock beside it would take
/// the line away from every reader. 128, since some processors fetch lines in pairs.
#[repr(align(128))]
struct Published {
    word: AtomicU64,
    /// The next instant at which time alone changes the state.
    edge: AtomicU64,
    sealed: AtomicBool,
    allowed: Allowed,
}

struct Inner {
    core: Core,
    journal: Journal,
    random: Random,
}

impl<C: Clock> Breaker<C> {
    /// A closed breaker, or one in the mode that `cfg` starts it in.
    ///
    /// # Errors
    ///
    /// All that [`Config::validate`] finds.
    pub fn new(cfg: Config, clock: C) -> Result<Self, ConfigErrors> {
        cfg.validate()?;
        Ok(Self::from_core(Core::new(&cfg), cfg, clock))
    }

    /// A breaker as it stood when `snap` was taken, as far as that still holds at `wall`, the present.
    ///
    /// Open stays open for what was left, by the wall clock but never for longer than it would have without a restart.
    /// Open and due, half-open, and [`Snapshot::unknown`] are half-open: unknown is not healthy. Forced-open stays.
    /// Streaks and windows start at zero.
    ///
    /// # Errors
    ///
    /// All that [`Config::validate`] finds.
    pub fn restore(
        cfg: Config,
        clock: C,
        snap: &Snapshot,
        wall: UnixMillis,
    ) -> Result<Self, ConfigErrors> {
        let breaker = Self::new(cfg, clock)?;
        breaker.resume(snap, wall);
        Ok(breaker)
    }

    /// [`Breaker::restore`] for a breaker that is shared already. Before its first call: where it stands is replaced.
    pub fn resume(&self, snap: &Snapshot, wall: UnixMillis) {
        for input in snap.inputs(wall) {
            self.run(input, self.clock.now());
        }
    }

    fn from_core(core: Core, cfg: Config, clock: C) -> Self {
        let allowed = Allowed::new(&cfg);
        Self {
            published: Published {
                word: AtomicU64::new(Word::new(&core, allowed).to_bits()),
                edge: AtomicU64::new(core.edge(&cfg).as_nanos()),
                sealed: AtomicBool::new(false),
                allowed,
            },
            samples: Samples::new(core.good_until()),
            inner: Mutex::new(Inner {
                core,
                journal: Journal::new(cfg.event_capacity),
                random: Random::new(),
            }),
            cfg,
            clock,
        }
    }

    /// Asks for a permit.
    ///
    /// # Errors
    ///
    /// [`Rejected`] when the call should not be made now.
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_, C>, Rejected> {
        Ok(Permit::new(self, self.acquire(None)?))
    }

    /// [`Breaker::try_acquire`] without a look at the clock.
    ///
    /// # Errors
    ///
    /// [`Rejected`] when the call should not be made at `now`.
    #[inline]
    pub fn try_acquire_at(&self, now: Tick) -> Result<Permit<'_, C>, Rejected> {
        Ok(Permit::new(self, self.acquire(Some(now))?))
    }

    /// Asks for a permit that may cross await points and threads.
    ///
    /// # Errors
    ///
    /// [`Rejected`] when the call should not be made now.
    #[inline]
    pub fn try_acquire_owned(self: &Arc<Self>) -> Result<OwnedPermit<C>, Rejected> {
        let ticket = self.acquire(None)?;
        Ok(OwnedPermit::new(Arc::clone(self), ticket))
    }

    /// A failure seen outside any call, such as a socket that closed. It counts in closed only.
    pub fn record_failure(&self, failure: Failure) {
        self.run(Input::Evidence(failure), self.clock.now());
    }

    /// Performs the transitions that time has made due, and says where the breaker stands.
    ///
    /// Without it they are performed by the next call. Polling gives events in time, and changes nothing else.
    pub fn poll(&self) -> State {
        let word = self.word();
        if word.state() == State::Closed {
            return State::Closed;
        }
        let now = self.clock.now();
        if now < self.edge() && self.is_current(word) {
            return word.state();
        }
        self.run(Input::Poll, now);
        self.word().state()
    }

    /// Where the breaker stands at this instant. Takes no lock unless a lost probe has not been noticed yet.
    #[must_use]
    pub fn state(&self) -> State {
        let word = self.word();
        if word.state() == State::Closed || word.mode() == Mode::ForcedOpen {
            return word.state();
        }
        let now = self.clock.now();
        let due = now >= self.edge();
        match word.state() {
            state if !due && self.is_current(word) => state,
            _ => self.view().state,
        }
    }

    /// The mode. Takes no lock.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.word().mode()
    }

    /// Everything there is to see at this instant. Changes nothing.
    #[must_use]
    pub fn view(&self) -> View {
        let now = self.clock.now();
        self.lock().core.view(now, &self.cfg)
    }

    /// Opens it until `until`, or for one cooldown. An open one stays open until the later of the two deadlines.
    ///
    /// Does nothing in [`Mode::ForcedOpen`] and [`Mode::Disabled`].
    pub fn trip(&self, until: Option<Tick>, cause: Cause) {
        self.run(Input::Trip { until, cause }, self.clock.now());
    }

    /// Closes it, and forgets all counts. Calls in flight become stale.
    ///
    /// Does nothing in [`Mode::ForcedOpen`] and [`Mode::Disabled`].
    pub fn reset(&self) {
        self.run(Input::Reset, self.clock.now());
    }

    /// Changes the mode; see [`Mode`] for what each does on entry and exit.
    pub fn set_mode(&self, mode: Mode) {
        self.run(Input::SetMode(mode), self.clock.now());
    }

    /// Shutdown: from now on a dropped permit is a cancelled one, so that aborting tasks invents no failure.
    pub fn seal(&self) {
        self.published.sealed.store(true, Ordering::Release);
    }

    /// What must survive a restart. `wall` is the present.
    #[must_use]
    pub fn snapshot(&self, wall: UnixMillis) -> Snapshot {
        let now = self.clock.now();
        let view = self.lock().core.view(now, &self.cfg);
        Snapshot::of(&view, now, wall)
    }

    /// Appends all events since the last drain to `out`, oldest first, and says how many were lost.
    pub fn drain(&self, out: &mut Vec<Event>) -> Dropped {
        let waiting = self.lock().journal.len();
        // Outside the lock: the allocator may be slow.
        out.reserve(waiting);
        self.lock().journal.drain(out)
    }

    /// Its rules.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.cfg
    }

    /// Its clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    #[inline]
    fn acquire(&self, now: Option<Tick>) -> Result<Ticket, Rejected> {
        let word = self.word();
        if word.is_free() {
            return Ok(Ticket::untimed(word.generation()));
        }
        self.acquire_slowly(word, now)
    }

    #[inline(never)]
    fn acquire_slowly(&self, word: Word, now: Option<Tick>) -> Result<Ticket, Rejected> {
        if word.is_told() {
            return self.acquire_locked(now.unwrap_or_else(|| self.clock.now()));
        }
        match (word.mode(), word.state()) {
            (Mode::Disabled, _) => return Ok(Ticket::IGNORED),
            (Mode::ForcedOpen, _) => return Err(Rejected::ForcedOpen),
            (Mode::Normal | Mode::Shadow, _) => {}
        }
        let now = now.unwrap_or_else(|| self.clock.now());
        match word.state() {
            State::Closed => return Ok(Ticket::timed(word.generation(), now)),
            State::Open => {
                let edge = self.edge();
                if now < edge && self.is_current(word) {
                    return match word.mode() {
                        Mode::Shadow => Ok(Ticket::IGNORED),
                        _ => Err(Rejected::CircuitOpen {
                            retry_in: edge.since(now),
                            cause: word.cause(),
                        }),
                    };
                }
            }
            State::HalfOpen => {}
        }
        self.acquire_locked(now)
    }

    #[cold]
    fn acquire_locked(&self, now: Tick) -> Result<Ticket, Rejected> {
        match self.run(Input::Acquire, now) {
            Verdict::Admitted(ticket) => Ok(ticket),
            Verdict::Rejected(rejected) => Err(rejected),
            Verdict::Noted => unreachable!("an acquire is answered"),
        }
    }

    #[inline]
    pub(crate) fn settle(&self, ticket: Ticket, outcome: Outcome, now: Option<Tick>) {
        let word = self.word();
        match outcome {
            Outcome::Success | Outcome::Answered => {
                if !(word.is_clean() && word.generation() == ticket.generation()) {
                    self.settle_good_slowly(word, ticket, outcome == Outcome::Success, now);
                }
            }
            outcome => self.settle_slowly(word, ticket, Ending::Outcome(outcome), now),
        }
    }

    /// Apart from its siblings: the short cut before it passes nothing through memory, and with a window every good
    /// call comes by here.
    #[inline(never)]
    fn settle_good_slowly(&self, word: Word, ticket: Ticket, is_success: bool, now: Option<Tick>) {
        let mut now = now;
        if self.published.allowed.samples() && self.count_good(ticket, is_success, &mut now) {
            return;
        }
        let outcome = if is_success { Outcome::Success } else { Outcome::Answered };
        self.settle_here(word, ticket, Ending::Outcome(outcome), now);
    }

    /// Counts a good call of the present era where it leaves nothing but a sample. False if the lock is needed.
    #[inline]
    fn count_good(&self, ticket: Ticket, is_success: bool, now: &mut Option<Tick>) -> bool {
        if self.cfg.time_window.is_some() && is_success && now.is_none() {
            *now = Some(self.clock.now());
        }
        let round = self.samples.round();
        let word = self.word();
        if !word.is_sampled() || word.generation() != ticket.generation() {
            return false;
        }
        // An answer that is no success is no sample, and there is no streak for it to end.
        !is_success
            || (now.unwrap_or(Tick::ZERO) < self.samples.until() && self.samples.count(round))
    }

    pub(crate) fn cancel(&self, ticket: Ticket) {
        self.settle_slowly(self.word(), ticket, Ending::Cancelled, None);
    }

    #[cold]
    pub(crate) fn drop_permit(&self, ticket: Ticket) {
        let ending = if self.published.sealed.load(Ordering::Acquire) {
            Ending::Cancelled
        } else {
            Ending::Dropped { panicking: std::thread::panicking() }
        };
        self.settle_slowly(self.word(), ticket, ending, None);
    }

    #[inline(never)]
    fn settle_slowly(&self, word: Word, ticket: Ticket, ending: Ending, now: Option<Tick>) {
        self.settle_here(word, ticket, ending, now);
    }

    #[inline(always)]
    fn settle_here(&self, word: Word, ticket: Ticket, ending: Ending, now: Option<Tick>) {
        if ticket.is_ignored() {
            return;
        }
        let is_call_in_closed = !ticket.is_probe() && word.generation() == ticket.generation();
        let concludes_nothing =
            matches!(ending, Ending::Outcome(Outcome::Neutral) | Ending::Cancelled);
        if is_call_in_closed && concludes_nothing {
            return;
        }
        // The end of a streak needs no time, and a count window none either. The origin is before everything, and a
        // clock that goes back is no time passed.
        let is_good = matches!(ending, Ending::Outcome(Outcome::Success | Outcome::Answered));
        let is_timed = self.cfg.time_window.is_some() || self.cfg.slow_call.is_some();
        let now = match now {
            Some(now) => now,
            None if is_call_in_closed && is_good && !is_timed => Tick::ZERO,
            None => self.clock.now(),
        };
        self.run_here(Input::Settle { ticket, ending }, now);
    }

    /// The long way.
    fn run(&self, input: Input, now: Tick) -> Verdict {
        self.run_here(input, now)
    }

    /// The same, for callers that know the input: what does not concern it is left out there.
    #[inline(always)]
    fn run_here(&self, input: Input, now: Tick) -> Verdict {
        let mut inner = self.lock();
        let Inner { core, journal, random } = &mut *inner;
        let samples = self.published.allowed.samples();
        if samples {
            core.count_good(self.samples.close());
        }
        let verdict = apply(core, input, now, &self.cfg, random.next(), journal);
        self.publish(core);
        if samples {
            self.samples.open(core.good_until());
        }
        verdict
    }

    /// Writes what readers see. Only under the lock.
    ///
    /// Between two eras the edge is at the origin, where everything is due and a reader has to take the lock. So a
    /// reader of the new word never sees the old edge, and a reader of the new edge finds the word changed.
    fn publish(&self, core: &Core) {
        let Published { word, edge, allowed, .. } = &self.published;
        let (old, new) = (Word::from_bits(word.load(Ordering::Relaxed)), Word::new(core, *allowed));
        if old.generation() != new.generation() {
            edge.store(Tick::ZERO.as_nanos(), Ordering::Release);
        }
        // What is the same is left alone: a write takes the line away from every reader.
        if old != new {
            word.store(new.to_bits(), Ordering::Release);
        }
        let next = core.edge(&self.cfg).as_nanos();
        if edge.load(Ordering::Relaxed) != next {
            edge.store(next, Ordering::Release);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Only code of this crate runs under the lock, and none of it panics; if it did, the state would still be one
        // that some step left.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn word(&self) -> Word {
        Word::from_bits(self.published.word.load(Ordering::Acquire))
    }

    fn edge(&self) -> Tick {
        Tick::from_nanos(self.published.edge.load(Ordering::Acquire))
    }

    /// Whether an edge that was read after `word`, and that is not due, belongs to it; see `publish`.
    fn is_current(&self, word: Word) -> bool {
        self.published.word.load(Ordering::Relaxed) == word.to_bits()
    }
}

impl<C: Clock> fmt::Debug for Breaker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker").field("view", &self.view()).finish_non_exhaustive()
    }
}

/// SplitMix64: jitter has no secret to keep, only a fleet to spread.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(RandomState::new().hash_one(0u8))
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }
}
