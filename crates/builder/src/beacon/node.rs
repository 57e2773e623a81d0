//! One beacon node: its stream, and what is asked of it beside.
//!
//! A stream that has begun is not relied on before the node was asked for what came before it. A gap is unknown and never a run
//! of missed slots, so whatever goes wrong here ends the stream, says so, and begins anew.

use super::{
    api::{Api, ApiError},
    backfill::{Backfill, Known, backfill},
    message::{Syncing, observation},
    sse::{Event, Parser},
};
use crate::{
    Live,
    live::{Network, names},
    machine::{Observation, Seen},
};
use rand::{Rng as _, rngs::StdRng};
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::sleep};

/// The first wait after a stream has ended; then twice that, up to a slot.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Where no slot is known yet.
const LONGEST_WAIT: Duration = Duration::from_secs(12);
/// A head that the poll knows and the stream does not may be on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(500);
/// Headers that are asked for at once, for their parents.
const HEADERS: usize = 64;
/// Blocks remembered with their parents, before old ones are forgotten.
const KNOWN: usize = 1_024;

/// The node cannot be one of those that are watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// It is on another chain than the first one that answered.
    #[error("the beacon node {0} has another genesis or slot length than the others")]
    OtherChain(String),
    /// It says two things about its slots, or nothing.
    #[error("the beacon node {0}: {1}")]
    Spec(String, #[source] crate::ChainSpecError),
}

/// Why a stream ended.
#[derive(Debug)]
enum End {
    Closed,
    Silent,
    TooLarge,
    Lost,
    Clock,
    Unreachable(ApiError),
    OtherChain,
}

impl End {
    fn name(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::TooLarge => "too-large",
            Self::Lost => "lost-events",
            Self::Clock => "clock",
            Self::Unreachable(_) => "unreachable",
            Self::OtherChain => "other-chain",
        }
    }
}

/// What was asked for beside the stream.
enum Done {
    Sync { result: Result<Syncing, ApiError>, again: bool },
    Backfill(Result<Backfill, ApiError>),
    Head(Result<Seen, ApiError>),
    Finality(Result<u64, ApiError>),
    Parent(Seen, Result<Seen, ApiError>),
}

pub(super) struct Node {
    index: u8,
    api: Api,
    live: Arc<Live>,
    known: Known,
    joined: bool,
}

/// A connection's state.
struct Line {
    jobs: JoinSet<Done>,
    backfilling: bool,
    /// Something was missed that only a backfill tells.
    reconcile: bool,
    /// Nothing can be asked: it is relied on from the slot after this one.
    without: Option<u64>,
}

impl Node {
    pub(super) fn new(index: u8, api: Api, live: Arc<Live>) -> Self {
        Self { index, api, live, known: Known::new(), joined: false }
    }

    /// Follows it for ever.
    pub(super) async fn run(mut self) -> Result<(), WatchError> {
        let mut rng: StdRng = rand::SeedableRng::from_os_rng();
        let mut wait = FIRST_WAIT;
        loop {
            let end = match self.join().await? {
                Ok(network) => self.follow(network).await,
                Err(end) => end,
            };
            // One that accepts streams and ends them at once is not asked four times a second.
            if self.is_fit() {
                wait = FIRST_WAIT;
            }
            self.live.observe(Observation::Stream { node: self.index, up: false });
            let error = match &end {
                End::Unreachable(error) => error.to_string(),
                end => end.name().to_owned(),
            };
            tracing::warn!(
                node = self.api.name(),
                reason = end.name(),
                error,
                "the stream has ended"
            );
            metrics::counter!(names::STREAM_RESTARTS, "node" => self.label(), "reason" => end.name()).increment(1);
            self.live.node(self.index, |node| {
                node.connected = false;
                node.error = Some(error);
                node.excluded = matches!(end, End::OtherChain);
            });
            let part = rng.random_range(0.8..1.2);
            sleep(wait.mul_f64(part)).await;
            wait = (2 * wait).min(self.slot().unwrap_or(LONGEST_WAIT));
        }
    }

    fn label(&self) -> String {
        self.index.to_string()
    }

    fn slot(&self) -> Option<Duration> {
        self.live.network().map(|network| Duration::from_millis(network.clock.slot_ms.get()))
    }

    /// Whether it is on the chain that is watched: asked each time, since a node can be replaced.
    async fn join(&mut self) -> Result<Result<Network, End>, WatchError> {
        match self.api.network().await {
            Ok(network) if self.live.join(network) => {
                self.joined = true;
                Ok(Ok(network))
            }
            Ok(_) if !self.joined => Err(WatchError::OtherChain(self.api.name())),
            Ok(_) => {
                tracing::error!(
                    node = self.api.name(),
                    "the node is on another chain now: it is not asked"
                );
                Ok(Err(End::OtherChain))
            }
            Err(ApiError::Spec(error)) if !self.joined => {
                Err(WatchError::Spec(self.api.name(), error))
            }
            Err(error) => Ok(Err(End::Unreachable(error))),
        }
    }

    async fn follow(&mut self, network: Network) -> End {
        let mut stream = match self.api.events().await {
            Ok(stream) => stream,
            Err(error) => return End::Unreachable(error),
        };
        let mut reopen = self.live.reopens();
        self.live.observe(Observation::Stream { node: self.index, up: true });
        self.live.node(self.index, |node| {
            (node.connected, node.excluded, node.error) = (true, false, None);
        });
        let mut line =
            Line { jobs: JoinSet::new(), backfilling: false, reconcile: false, without: None };
        self.poll(&mut line, Duration::ZERO, false);
        self.finality(&mut line);
        let clock = Arc::clone(self.live.clock());
        let silence = Duration::from_millis(network.clock.slot_ms.get()).saturating_mul(2);
        let mut silent = clock.sleep(silence);
        let mut due = clock.sleep(self.until_poll(&network));
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        loop {
            tokio::select! {
                chunk = stream.chunk() => {
                    let Ok(Some(chunk)) = chunk else { return End::Closed };
                    silent = clock.sleep(silence);
                    if parser.push(&chunk, &mut events).is_err() {
                        return End::TooLarge;
                    }
                    events.drain(..).for_each(|event| self.event(&mut line, &event));
                }
                () = &mut silent => return End::Silent,
                _ = reopen.changed() => return End::Clock,
                () = &mut due => {
                    due = clock.sleep(self.until_poll(&network));
                    self.poll(&mut line, Duration::ZERO, false);
                }
                Some(done) = line.jobs.join_next() => {
                    // One that was aborted or has panicked has nothing to tell.
                    let Ok(done) = done else { continue };
                    if let Some(end) = self.done(&mut line, &network, done) {
                        return end;
                    }
                }
            }
        }
    }

    /// Halfway to the slot's own decision, so that this knows what the node says by then.
    fn until_poll(&self, network: &Network) -> Duration {
        let genesis = i64::try_from(network.genesis.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let now = self.live.clock().unix_ms().saturating_sub(genesis);
        let offset = i64::try_from(network.clock.slot_ms.get() / 6).unwrap_or(0);
        let slot = network.clock.slot_at(now);
        let this = network.clock.start(slot).saturating_add(offset);
        let due =
            if this > now { this } else { network.clock.start(slot + 1).saturating_add(offset) };
        Duration::from_millis(u64::try_from(due.saturating_sub(now)).unwrap_or(1).max(1))
    }

    fn event(&mut self, line: &mut Line, event: &Event) {
        match observation(self.index, event) {
            Ok(None) => {}
            Ok(Some(observation)) => {
                let block = match &observation {
                    Observation::Block { block, .. } => Some(*block),
                    _ => None,
                };
                self.live.observe(observation);
                if let Some(block) = block {
                    self.ask_parent(line, block);
                }
            }
            Err(error) => {
                tracing::warn!(node = self.api.name(), %error, "an event is not one: the node is asked instead");
                self.live.node(self.index, |node| node.bad_events += 1);
                line.reconcile = true;
            }
        }
    }

    /// No event tells a block's parent, and without it nothing is known to be canonical.
    fn ask_parent(&self, line: &mut Line, block: Seen) {
        if self.known.contains_key(&block.root) || line.jobs.len() >= HEADERS {
            return;
        }
        let api = self.api.clone();
        line.jobs.spawn(async move {
            let header = api.header(&block.root.to_string()).await;
            Done::Parent(block, header.map(|header| header.seen()))
        });
    }

    fn poll(&self, line: &mut Line, after: Duration, again: bool) {
        let api = self.api.clone();
        line.jobs.spawn(async move {
            sleep(after).await;
            Done::Sync { result: api.syncing().await, again }
        });
    }

    fn finality(&self, line: &mut Line) {
        let api = self.api.clone();
        line.jobs.spawn(async move { Done::Finality(api.finalized().await) });
    }

    fn backfill(&self, line: &mut Line, network: &Network) {
        if std::mem::replace(&mut line.backfilling, true) {
            return;
        }
        line.reconcile = false;
        let (api, known) = (self.api.clone(), self.known.clone());
        let from = self.live.with_machine(|machine| machine.tally().floor()).unwrap_or_default();
        let epoch = network.clock.slots_per_epoch.get();
        line.jobs.spawn(async move { Done::Backfill(backfill(&api, from, epoch, &known).await) });
        let api = self.api.clone();
        line.jobs
            .spawn(async move { Done::Head(api.header("head").await.map(|header| header.seen())) });
    }

    fn is_fit(&self) -> bool {
        self.live.with_machine(|machine| machine.is_fit(self.index)) == Some(true)
    }

    fn done(&mut self, line: &mut Line, network: &Network, done: Done) -> Option<End> {
        let node = self.index;
        match done {
            Done::Sync { result: Ok(sync), again } => {
                return self.synced(line, network, &sync, again);
            }
            // The stream may be well; a node that answers nothing is silent soon.
            Done::Sync { result: Err(error), .. } => self.failed(&error),
            Done::Finality(Ok(epoch)) => self.live.observe(Observation::Finalized { node, epoch }),
            Done::Head(Ok(Seen { slot, root, .. })) => {
                self.live.observe(Observation::Head { node, slot, root });
            }
            Done::Parent(block, Ok(Seen { parent, .. })) => {
                let block = Seen { parent, ..block };
                self.learn(block);
                self.live.observe(Observation::Block { node, block });
            }
            // What is not told is unknown, and asked for again with the next backfill.
            Done::Finality(Err(_)) | Done::Head(Err(_)) | Done::Parent(_, Err(_)) => {}
            Done::Backfill(result) => {
                line.backfilling = false;
                self.backfilled(line, result);
            }
        }
        None
    }

    fn synced(
        &mut self,
        line: &mut Line,
        network: &Network,
        sync: &Syncing,
        again: bool,
    ) -> Option<End> {
        let Syncing { head_slot, is_syncing, is_optimistic, el_offline } = *sync;
        let head_slot = head_slot.0;
        let unseen = self.live.with_machine(|machine| {
            let tally = machine.tally();
            (tally.floor()..=tally.now()).contains(&head_slot) && !tally.has_block(head_slot)
        });
        let lost = unseen == Some(true) && self.is_fit();
        if lost && !again {
            self.poll(line, ON_ITS_WAY, true);
            return None;
        }
        self.live.node(self.index, |node| node.head_slot = Some(head_slot));
        let node = self.index;
        self.live.observe(Observation::Sync {
            node,
            head_slot,
            is_syncing,
            is_optimistic,
            el_offline,
        });
        if lost {
            return Some(End::Lost);
        }
        let now = self.live.with_machine(crate::Machine::now).unwrap_or_default();
        if let Some(since) =
            line.without.take_if(|since| *since < now && !is_syncing && !el_offline)
        {
            tracing::warn!(
                node = self.api.name(),
                since,
                "the node cannot be asked for what was before: it stays unknown"
            );
            self.live.observe(Observation::Snapshot {
                node,
                from: now,
                blocks: Vec::new(),
                whole_tree: false,
            });
        } else if line.without.is_none()
            && !is_syncing
            && !el_offline
            && (line.reconcile || !self.is_fit())
        {
            self.backfill(line, network);
        }
        None
    }

    fn backfilled(&mut self, line: &mut Line, result: Result<Backfill, ApiError>) {
        let node = self.index;
        let word = match result {
            Ok(Backfill { from, blocks, whole_tree, head }) => {
                blocks.iter().for_each(|block| self.learn(*block));
                self.live.observe(Observation::Snapshot { node, from, blocks, whole_tree });
                if let Some((slot, root)) = head {
                    self.live.observe(Observation::Head { node, slot, root });
                }
                if whole_tree { "tree" } else { "headers" }
            }
            Err(error) if error.is_unsupported() => {
                line.without = self.live.with_machine(crate::Machine::now);
                "unsupported"
            }
            Err(error) => {
                self.failed(&error);
                line.reconcile = true;
                "failed"
            }
        };
        metrics::counter!(names::RECONCILES, "node" => self.label(), "result" => word).increment(1);
    }

    fn failed(&self, error: &ApiError) {
        tracing::warn!(node = self.api.name(), %error, "the node did not answer");
        self.live.node(self.index, |node| node.error = Some(error.to_string()));
    }

    fn learn(&mut self, block: Seen) {
        if block.parent.is_some() {
            self.known.insert(block.root, block);
        }
        if self.known.len() > KNOWN {
            let floor =
                self.live.with_machine(|machine| machine.tally().floor()).unwrap_or_default();
            self.known.retain(|_, block| block.slot >= floor);
        }
    }
}
