//! The one machine of a process: watchers tell it, the sidecar asks it.
//!
//! It stands behind a lock that is held for microseconds and never across I/O. Each thing that it is told is recorded first, so
//! a log replays to the same decisions.

mod clock;
pub(crate) mod names;
mod record;
pub(crate) mod status;
#[cfg(test)]
mod tests;

pub use clock::{Clock, Sleep, WallClock};
pub use record::{ROTATE_AT, Recorder};
pub use status::NodeStatus;

use crate::{
    breaker::{Cause, Decision, Override},
    clock::SlotClock,
    evidence::{Status, View},
    machine::{Action, Machine, Observation, Output, Spec, Transition, Why},
    policy::{OnUnknown, PolicySpec, Recovery, Start},
    root::Root,
};
use fusebox_breaker::State;
use rand::rngs::StdRng;
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// Transitions that `/status` shows.
const TRANSITIONS: usize = 64;
/// What a slow reader of transitions and slots may lag behind: half a day of slots.
const TOLD: usize = 4_096;

/// What stands beside the nodes.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// When to refuse.
    pub policy: PolicySpec,
    /// How it recovers, unless as is usual for its policy.
    pub recovery: Option<Recovery>,
    /// What slots before the start count as.
    pub start: Start,
    /// The answer where nothing is known.
    pub on_unknown: OnUnknown,
}

/// A network's clock, as a node tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Slots and epochs.
    pub clock: SlotClock,
    /// Unix seconds of genesis.
    pub genesis: u64,
    /// The epoch from which on payloads are things of their own; none if not planned.
    pub gloas_epoch: Option<u64>,
}

/// What has come of what it was told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Told {
    /// It is another state now.
    Transition(Transition),
    /// The decision of a slot that nobody asked for.
    Slot(Decision),
    /// A block came too late to change anything.
    Late(u64, Root),
}

/// An answer to a request for a header or a bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it goes on to the builders.
    pub forward: bool,
    /// Why.
    pub cause: Cause,
}

/// The machine, and what was told to it.
pub struct Live {
    inner: Mutex<Inner>,
    clock: Arc<dyn Clock>,
    options: LiveOptions,
    process: Process,
    changed: watch::Sender<u64>,
    reopen: watch::Sender<u64>,
    told: broadcast::Sender<Told>,
}

/// By what one process is told from the next: transitions are numbered from 1 in each.
#[derive(Debug)]
struct Process {
    /// Drawn at the start.
    instance: String,
    started_ms: i64,
}

impl Process {
    fn new(clock: &dyn Clock) -> Self {
        let instance = format!("{:016x}", rand::random::<u64>());
        Self { instance, started_ms: clock.unix_ms() }
    }
}

struct Inner {
    /// None until a node has told slots and genesis.
    running: Option<Running>,
    /// What an admin wants before that.
    early: Option<(Override, Option<i64>)>,
    nodes: Vec<NodeStatus>,
    transitions: VecDeque<Transition>,
    last: Option<Decision>,
    recorder: Option<Recorder>,
    /// Why the upstream was not reached last, and when.
    upstream: Option<status::UpstreamStatus>,
}

struct Running {
    machine: Machine,
    network: Network,
    /// Milliseconds since genesis when it was last told anything.
    last_ms: i64,
    out: Vec<Output>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Live {
    /// A closed breaker that does not know its network yet. `nodes` are the names under which nodes are shown.
    #[must_use]
    pub fn new(
        options: LiveOptions,
        clock: Arc<dyn Clock>,
        nodes: Vec<String>,
        recorder: Option<Recorder>,
    ) -> Arc<Self> {
        let inner = Inner {
            running: None,
            early: None,
            nodes: nodes.into_iter().map(NodeStatus::new).collect(),
            transitions: VecDeque::new(),
            last: None,
            recorder,
            upstream: None,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            process: Process::new(&*clock),
            clock,
            options,
            changed: watch::Sender::new(0),
            reopen: watch::Sender::new(0),
            told: broadcast::Sender::new(TOLD),
        })
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic under the lock leaves a machine that is whole: it changes step by step, and judging is caught inside.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node has told the network. Whether it is the one that is known already; the first one decides.
    pub fn join(&self, network: Network) -> bool {
        let mut inner = self.lock();
        if let Some(running) = &inner.running {
            return running.network == network;
        }
        let spec = Spec {
            slot_ms: network.clock.slot_ms,
            slots_per_epoch: network.clock.slots_per_epoch,
            start: self.options.start,
            on_unknown: self.options.on_unknown,
            trusts: false,
            gloas_epoch: network.gloas_epoch,
        };
        let mut rng: StdRng = rand::SeedableRng::from_os_rng();
        let policy = self.options.policy.compile(network.clock.slots_per_epoch, &mut rng);
        let recovery = self.options.recovery.unwrap_or(policy.default_recovery());
        let ms = since_genesis(&network, self.clock.unix_ms());
        tracing::info!(
            policy = policy.name(),
            slot = network.clock.slot_at(ms),
            "slots are counted from now on"
        );
        let machine = Machine::new(&spec, policy, recovery, ms);
        if let Some(recorder) = &mut inner.recorder {
            recorder.begin(ms, spec);
        }
        inner.running = Some(Running { machine, network, last_ms: ms, out: Vec::new() });
        let early = inner.early.take();
        drop(inner);
        if let Some((force, until)) = early {
            let action = match force {
                Override::ForceOpen => Action::ForceOpen,
                Override::ForceClosed => Action::ForceClosed,
            };
            let left = until.map(|until| until.saturating_sub(self.clock.unix_ms()));
            let ttl = left.map(|ms| u64::try_from(ms).unwrap_or(0) / 1_000);
            self.observe(Observation::Admin { action, ttl });
        }
        self.changed.send_modify(|changes| *changes += 1);
        true
    }

    /// Tells the machine of something that happens now.
    pub fn observe(&self, observation: Observation) {
        self.tell(observation);
    }

    /// May builders be asked for this slot?
    pub fn ask(&self, slot: u64) -> Answer {
        let answer = self.tell(Observation::Header { slot }).unwrap_or_else(|| self.early_answer());
        let word = if answer.forward { "forward" } else { "refuse" };
        metrics::counter!(names::DECISIONS, "answer" => word, "cause" => answer.cause.name())
            .increment(1);
        answer
    }

    fn early_answer(&self) -> Answer {
        let inner = self.lock();
        let force =
            inner.early.filter(|(_, until)| until.is_none_or(|until| until > self.clock.unix_ms()));
        match force {
            Some((Override::ForceOpen, _)) => Answer { forward: false, cause: Cause::ForcedOpen },
            Some((Override::ForceClosed, _)) => {
                Answer { forward: true, cause: Cause::ForcedClosed }
            }
            None => {
                let forward = self.options.on_unknown == OnUnknown::Forward;
                Answer { forward, cause: Cause::NoNode }
            }
        }
    }

    /// What an admin does. It is logged, whatever comes of it.
    pub fn admin(&self, action: Action, ttl: Option<u64>) {
        tracing::warn!(action = action.name(), ttl, "an admin has acted");
        let mut inner = self.lock();
        if inner.running.is_none() {
            let ms = |ttl: u64| i64::try_from(ttl.saturating_mul(1_000)).unwrap_or(i64::MAX);
            let until = ttl.map(|ttl| self.clock.unix_ms().saturating_add(ms(ttl)));
            inner.early = action.force().map(|force| (force, until));
            return;
        }
        drop(inner);
        self.tell(Observation::Admin { action, ttl });
    }

    /// Time goes on: how long until it changes something by itself. A second where the network is not known.
    pub(crate) fn wake(&self) -> Duration {
        const LATER: Duration = Duration::from_secs(1);
        let now = self.clock.unix_ms();
        let mut inner = self.lock();
        let Some(mut running) = inner.running.take() else { return LATER };
        self.advance(&mut inner, &mut running, now);
        self.heard(&mut inner, &mut running);
        let due = running.machine.next_wake().saturating_sub(since_genesis(&running.network, now));
        inner.running = Some(running);
        Duration::from_millis(u64::try_from(due).unwrap_or(0).max(1))
    }

    /// A process that was stopped, or whose clock was set, has watched nothing meanwhile: its streams have ended *before*
    /// that time, or slots that nobody watched would count as missed.
    fn advance(&self, inner: &mut Inner, running: &mut Running, now: i64) -> i64 {
        let ms = since_genesis(&running.network, now);
        let slot = i64::try_from(running.network.clock.slot_ms.get()).unwrap_or(i64::MAX);
        if ms.saturating_sub(running.last_ms) > slot && running.last_ms >= 0 {
            tracing::warn!(
                ms = ms - running.last_ms,
                "time has jumped: slots are unknown until nodes were asked"
            );
            for node in 0..inner.nodes.len() {
                let observation = Observation::Stream { node: index(node), up: false };
                if let Some(recorder) = &mut inner.recorder {
                    recorder.write(running.last_ms, &observation);
                }
                running.machine.observe(running.last_ms, &observation, &mut running.out);
            }
            self.reopen.send_modify(|times| *times += 1);
        }
        running.last_ms = running.last_ms.max(ms);
        running.machine.advance(ms, &mut running.out);
        running.last_ms
    }

    fn tell(&self, observation: Observation) -> Option<Answer> {
        let now = self.clock.unix_ms();
        let mut inner = self.lock();
        let mut running = inner.running.take()?;
        let ms = self.advance(&mut inner, &mut running, now);
        if let Some(recorder) = &mut inner.recorder {
            recorder.write(ms, &observation);
        }
        running.machine.observe(ms, &observation, &mut running.out);
        let answer = self.heard(&mut inner, &mut running);
        inner.running = Some(running);
        drop(inner);
        // Who waits for a header's effect waits for nothing.
        if answer.is_none() {
            self.changed.send_modify(|changes| *changes += 1);
        }
        answer
    }

    /// Passes on what the machine has to say.
    fn heard(&self, inner: &mut Inner, running: &mut Running) -> Option<Answer> {
        let mut answer = None;
        for output in running.out.drain(..) {
            match output {
                Output::Answer(decision) => {
                    inner.last = Some(decision);
                    answer = Some(Answer { forward: decision.forward, cause: decision.cause });
                    if decision.cause == Cause::Internal {
                        tracing::error!(slot = decision.slot, "the policy failed");
                    }
                }
                Output::Tick(decision) => {
                    inner.last = Some(decision);
                    ticked(&running.machine, &decision);
                    self.told.send(Told::Slot(decision)).ok();
                }
                Output::Transition(transition) => {
                    inner.transitions.truncate(TRANSITIONS - 1);
                    inner.transitions.push_front(transition);
                    moved(&running.machine, &transition);
                    self.told.send(Told::Transition(transition)).ok();
                }
                Output::Late { slot, root } => {
                    metrics::counter!(names::LATE_BLOCKS).increment(1);
                    tracing::warn!(slot, %root, "a block came after the trip: it changes nothing");
                    self.told.send(Told::Late(slot, root)).ok();
                }
            }
        }
        answer
    }

    /// What comes of it from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Told> {
        self.told.subscribe()
    }

    /// Counts what it is told: changes once something may be another way.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn reopens(&self) -> watch::Receiver<u64> {
        self.reopen.subscribe()
    }

    /// Writes what is recorded to the end. Nothing is after it.
    pub fn stop_recording(&self) {
        let recorder = self.lock().recorder.take();
        drop(recorder);
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        let inner = self.lock();
        inner
            .running
            .as_ref()
            .map_or(State::Closed, |running| running.machine.breaker().latch().state())
    }

    /// Whether slots are counted, and a node can be asked.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let inner = self.lock();
        let nodes = inner.nodes.len();
        inner
            .running
            .as_ref()
            .is_some_and(|running| (0..nodes).any(|node| running.machine.is_fit(index(node))))
    }

    /// Whether slots are counted.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.lock().running.is_some()
    }

    /// The network, once a node has told it.
    #[must_use]
    pub fn network(&self) -> Option<Network> {
        self.lock().running.as_ref().map(|running| running.network)
    }

    /// Looks into the machine.
    pub fn with_machine<T>(&self, look: impl FnOnce(&Machine) -> T) -> Option<T> {
        self.lock().running.as_ref().map(|running| look(&running.machine))
    }

    pub(crate) fn node<T>(&self, node: u8, change: impl FnOnce(&mut NodeStatus) -> T) -> Option<T> {
        self.lock().nodes.get_mut(usize::from(node)).map(change)
    }
}

fn index(node: usize) -> u8 {
    // There are eight at most.
    u8::try_from(node).unwrap_or(u8::MAX)
}

fn since_genesis(network: &Network, unix_ms: i64) -> i64 {
    let genesis = i64::try_from(network.genesis.saturating_mul(1_000)).unwrap_or(i64::MAX);
    unix_ms.saturating_sub(genesis)
}

fn ticked(machine: &Machine, decision: &Decision) {
    let number = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    metrics::gauge!(names::MISSED_SLOTS).set(number(decision.run));
    metrics::gauge!(names::UNKNOWN_SLOTS).set(f64::from(decision.unknown_slots));
    let epoch = machine.clock().slots_per_epoch.get();
    let window = decision.slot.saturating_sub(epoch)..decision.slot;
    let view = machine.breaker().view();
    let missed = window.filter(|slot| status(machine, *slot, view) == Some(Status::Missed)).count();
    metrics::gauge!(names::WINDOW_MISSED).set(number(missed as u64));
    show(machine);
    let Some(last) = decision.slot.checked_sub(1) else { return };
    for (view, name) in [(View::Tree, "tree"), (View::Canonical, "canonical")] {
        let status = match status(machine, last, view) {
            Some(Status::Present) => "present",
            Some(Status::Missed) => "missed",
            Some(Status::Unknown) | None => "unknown",
        };
        metrics::counter!(names::SLOTS, "status" => status, "view" => name).increment(1);
    }
}

fn status(machine: &Machine, slot: u64, view: View) -> Option<Status> {
    let facts = machine.tally().status(slot)?;
    Some(match view {
        View::Tree => facts.tree,
        View::Canonical => facts.canonical,
    })
}

fn show(machine: &Machine) {
    let state = machine.breaker().latch().state();
    metrics::gauge!(names::OPEN).set(f64::from(u8::from(state != State::Closed)));
    for (each, name) in
        [(State::Closed, "closed"), (State::Open, "open"), (State::HalfOpen, "half-open")]
    {
        metrics::gauge!(names::STATE, "state" => name).set(f64::from(u8::from(state == each)));
    }
    let forced = machine.breaker().forced();
    for (each, name) in
        [(Override::ForceOpen, "force-open"), (Override::ForceClosed, "force-closed")]
    {
        metrics::gauge!(names::OVERRIDE, "override" => name)
            .set(f64::from(u8::from(forced == Some(each))));
    }
}

fn moved(machine: &Machine, transition: &Transition) {
    let &Transition { slot, from, to, cause, value, limit, .. } = transition;
    let cause = match cause {
        Why::Decided(cause) => cause.name(),
        Why::Restart => "restart",
        Why::Admin(action) => action.name(),
        Why::Expired => "expired",
    };
    if (from, to) == (State::Closed, State::Open) {
        metrics::counter!(names::TRIPS, "cause" => cause).increment(1);
    }
    tracing::warn!(slot, %from, %to, cause, value, limit, "transition");
    show(machine);
}
