//! Follows a chain and stores what it says about breakers, in chain order, without a gap and without a repeat.
//!
//! Two cursors say how far: `final` is expected never to go back, `seen` is the tip and may. History up to the final block
//! is read in ranges; from there on blocks are walked by their parents' hashes, so that one that left the chain is noticed
//! by its hash. Everything about the head is read from one node, which is followed, so that two views are never mixed;
//! where it fails or contradicts itself, the next one goes on where it stood.

mod asked;
mod backfill;
mod batch;
mod book;
mod compare;
mod decode;
mod finality;
mod halt;
pub(crate) mod health;
mod identity;
mod joining;
mod pace;
mod plan;
mod reader;
mod receipts;
mod settle;
#[cfg(test)]
mod tests;
mod trouble;
mod walk;
mod window;
mod words;

pub(crate) use batch::{Batch, Sighting, Walked};
pub(crate) use book::{Book, Slot, Stored, Tapped};
pub(crate) use decode::{Kind, LEGACY, decode};
pub(crate) use health::Handle;
pub(crate) use plan::Plan;

use crate::{
    fold::Contract,
    metrics::Metric,
    node::{Node, Nodes},
    output::log,
};
use alloy::{primitives::B256, rpc::types::Header};
use asked::Wanted;
use compare::{Step, step};
use finality::Finality;
use futures_util::{StreamExt as _, future, stream::BoxStream};
use halt::Halt;
use health::Board;
use pace::Pace;
use reader::Reader;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{self, Instant},
};
use trouble::Trouble;
use window::Window;

/// How soon after a failed tick it is tried again; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// How often a halted chain is looked at: a node of the right one may come back.
const HALTED_POLL: Duration = Duration::from_secs(5);

/// Hints that come faster than this are one.
const COALESCED: Duration = Duration::from_millis(20);

/// A block, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) number: u64,
    pub(crate) hash: B256,
    /// Its timestamp, in unix seconds.
    pub(crate) time: u64,
}

pub(crate) fn block(header: &Header) -> Block {
    Block { number: header.number, hash: header.hash, time: header.timestamp }
}

/// The watch cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WatchError {
    /// All nodes are on another chain than the one that is stored, or on one of that id that was begun anew.
    #[error("{0}")]
    OtherChain(String),
}

/// Follows one chain.
#[derive(Debug)]
pub(crate) struct Watch<B> {
    nodes: Nodes,
    book: B,
    plan: Plan,
    reader: Reader,
    board: Board,
    hint: Arc<Notify>,
    finality: Finality,
    pace: Pace,
    window: Window,
    trouble: Trouble,
    /// The node that is followed.
    followed: Option<String>,
    /// When each node last showed that it is on this chain.
    identified: BTreeMap<String, Instant>,
    /// A lower tip with another hash that no other node has an opinion on: it is believed when it is seen twice.
    doubted: Option<B256>,
    /// A block that looks emptier than its header says, and since when.
    hollow: Option<(B256, Instant)>,
    /// What follows is as the store has it; it is read again after the store has failed.
    is_loaded: bool,
    seen: Option<Block>,
    last_final: Option<Block>,
    wanted: Wanted,
    /// The first block that is read.
    first: Option<u64>,
    /// Contracts that were added after the cursors had passed their first block.
    joining: Vec<Contract>,
    /// Blocks above the final one of which no header proves that all was read.
    unproven: BTreeSet<u64>,
    /// There are facts that are not final yet.
    is_waited_for: bool,
    /// Something was stored since storage was read back.
    is_changed: bool,
    audited: Instant,
}

impl<B: Book> Watch<B> {
    /// Watches what the store lists, as the plan says. Asks for nothing yet.
    pub(crate) fn new(nodes: Nodes, book: B, plan: Plan) -> (Self, Handle) {
        let (board, handle) = Board::new(&plan.name);
        let watch = Self {
            reader: Reader::new(nodes.clone(), plan.verify, plan.name.as_str().into()),
            board,
            hint: Arc::default(),
            finality: Finality::new(plan.confirmations, plan.confirmations_fallback),
            pace: Pace::new(plan.poll),
            window: Window::default(),
            trouble: Trouble::default(),
            followed: None,
            identified: BTreeMap::new(),
            doubted: None,
            hollow: None,
            is_loaded: false,
            seen: None,
            last_final: None,
            wanted: Wanted::new([], None),
            first: None,
            joining: Vec::new(),
            unproven: BTreeSet::new(),
            is_waited_for: false,
            is_changed: true,
            audited: Instant::now(),
            nodes,
            book,
            plan,
        };
        (watch, handle)
    }

    /// Wakes the watch before its next poll. A hint only: nothing is lost without it.
    pub(crate) fn hint(&self) -> Arc<Notify> {
        Arc::clone(&self.hint)
    }

    /// Follows the chain until this is dropped.
    ///
    /// # Errors
    /// When all nodes are on another chain at the start. Later the chain is halted instead: it is looked at, and nothing
    /// more is believed. A node that cannot be reached is waited for.
    pub(crate) async fn run(mut self) -> Result<(), WatchError> {
        let mut hints: BoxStream<'static, _> = match self.nodes.has_hints {
            true => self.nodes.wakeups().boxed(),
            false => futures_util::stream::pending().boxed(),
        };
        let mut backoff = MIN_BACKOFF;
        loop {
            let wait = match self.tick().await {
                Ok(is_more) => {
                    backoff = MIN_BACKOFF;
                    if is_more { Duration::ZERO } else { self.pace.interval() }
                }
                Err(Halt::Foreign(reason)) if self.followed.is_none() => {
                    return Err(WatchError::OtherChain(reason));
                }
                Err(Halt::Foreign(reason)) => {
                    self.halt(reason).await;
                    HALTED_POLL
                }
                Err(_) => {
                    let wait = backoff;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                    wait
                }
            };
            self.look_around().await;
            tokio::select! {
                () = time::sleep(wait) => {}
                () = self.hint.notified() => {}
                Some(_) = hints.next() => {
                    let chain = self.plan.name.clone();
                    metrics::counter!(Metric::HeadHints.name(), "chain" => chain).increment(1);
                    time::sleep(COALESCED).await;
                    // What came meanwhile is of the same block.
                    while let Some(Some(_)) = future::FutureExt::now_or_never(hints.next()) {}
                }
            }
        }
    }

    /// Everything up to the tip, as the first node says it that can. Whether there is more to be read at once.
    async fn tick(&mut self) -> Result<bool, Halt> {
        if let Err(error) = self.load().await {
            return Err(self.store_failed(error));
        }
        let mut foreign = None;
        let mut all = true;
        for node in self.nodes.ranked_after(self.followed.as_deref(), self.plan.max_lag) {
            let reason = match self.tick_on(&node).await {
                Ok(is_more) => {
                    self.answered(&node);
                    return Ok(is_more);
                }
                Err(Halt::Store(error)) => return Err(self.store_failed(Halt::Store(error))),
                Err(Halt::Foreign(reason)) => {
                    foreign = Some(reason.clone());
                    reason
                }
                Err(Halt::Unanswered(reason) | Halt::Refused(reason)) => {
                    all = false;
                    reason
                }
                Err(Halt::TurnedAway) => {
                    all = false;
                    self.trouble.turned_away(&node);
                    continue;
                }
            };
            // It may have been exchanged meanwhile.
            self.identified.remove(&node.name);
            self.trouble.met(&node, reason);
        }
        // While one of them does not answer, it may be the one that still has the chain.
        match foreign {
            Some(reason) if all => Err(Halt::Foreign(reason)),
            _ => {
                self.unanswered();
                Err(Halt::TurnedAway)
            }
        }
    }

    /// Everything up to the tip of one node.
    async fn tick_on(&mut self, node: &Node) -> Result<bool, Halt> {
        let tip = match self.plan.until {
            None => self.reader.latest(node).await?,
            Some(until) => self.reader.below_tip(node, until).await?,
        };
        self.identify(node, tip.number).await?;
        self.ask_finality(node, tip.number).await?;
        self.board.head(block(&tip));
        let seen = match self.seen {
            Some(seen) => seen,
            None => match self.begin(node, &tip).await? {
                Some(ground) => ground,
                None => return Ok(false),
            },
        };
        let told = match tip.number < seen.number {
            true => self.told(tip.number).await?,
            false => None,
        };
        let is_more = match step(block(&tip), seen, told) {
            Step::Idle | Step::Lags => {
                self.doubted = None;
                false
            }
            Step::Doubt if !self.is_believed(node, &tip).await? => return Ok(false),
            Step::Doubt | Step::Walk => {
                self.doubted = None;
                self.follow(node, &tip).await?
            }
        };
        self.board.recovered("reorg");
        self.settle(node).await?;
        let is_joining = self.join(node).await?;
        self.read_back(node).await?;
        Ok(is_more || is_joining)
    }

    /// Where the store stands.
    async fn load(&mut self) -> Result<(), Halt> {
        if self.is_loaded {
            return Ok(());
        }
        let cursors = self.book.cursors().await?;
        let contracts = self.book.contracts().await?;
        self.seen = cursors.seen;
        self.last_final = cursors.last_final;
        let read_to = cursors.last_final.map_or(0, |last| last.number);
        let is_behind =
            |one: &Contract| cursors.seen.is_some() && one.start.max(one.scanned_to + 1) <= read_to;
        let (joining, joined): (Vec<_>, Vec<_>) = contracts.into_iter().partition(is_behind);
        let anywhere = self.book.anywhere_from();
        self.first = joined.iter().map(|one| one.start).chain(anywhere).min();
        self.wanted = Wanted::new(joined, anywhere);
        self.joining = joining;
        if let (Some(last), Some(seen)) = (cursors.last_final, cursors.seen) {
            // What the headers said of them is not known any more.
            self.unproven = (last.number + 1..=seen.number).collect();
            self.is_waited_for =
                !self.book.sightings(last.number + 1, seen.number).await?.is_empty();
        }
        self.is_changed = true;
        self.board.cursors(self.seen, self.last_final);
        self.board.recovered("store");
        self.is_loaded = true;
        Ok(())
    }

    /// Stores a step, and goes on from there.
    async fn commit(&mut self, batch: Batch) -> Result<(), Halt> {
        self.book.commit(&batch).await?;
        if let Some(to) = batch.rewound_to {
            self.seen = Some(to);
            if self.last_final.is_some_and(|last| last.number > to.number) {
                self.last_final = Some(to);
            }
            self.unproven.split_off(&(to.number + 1));
            for one in &mut self.joining {
                one.scanned_to = one.scanned_to.min(to.number);
            }
        }
        self.seen = batch.seen.or(self.seen);
        self.last_final = batch.last_final.or(self.last_final);
        self.is_waited_for |= batch
            .sightings
            .iter()
            .any(|sighting| self.last_final.is_none_or(|last| sighting.block.number > last.number));
        self.is_changed = true;
        for walked in &batch.blocks {
            self.pace.saw(walked.block);
        }
        self.board.cursors(self.seen, self.last_final);
        Ok(())
    }

    /// The store failed: nothing advances, and what it has is read again before anything else.
    fn store_failed(&mut self, halt: Halt) -> Halt {
        self.is_loaded = false;
        if let Halt::Store(error) = &halt
            && self.board.degraded("store", error.to_string())
        {
            log(&format!("{error}; trying again"));
        }
        halt
    }

    /// The first block that is told nothing of, and what is final, where nothing was read before. `None` while the chain
    /// has not come so far.
    async fn begin(&mut self, node: &Node, tip: &Header) -> Result<Option<Block>, Halt> {
        // The genesis block has no logs, so it may be the ground itself.
        let number = self.first.unwrap_or(tip.number).saturating_sub(1);
        let Some(ground) = self.reader.numbered(node, number).await? else {
            return match number > tip.number {
                true => Ok(None),
                false => Err(halt::missing(number)),
            };
        };
        let last = self.finality.bound(tip.number).map_or(0, finality::Bound::number);
        let last_final = match last < number {
            true => block(&self.reader.below_tip(node, last).await?),
            false => block(&ground),
        };
        self.book.history_ends_at(last).await?;
        let ground = Walked { block: block(&ground), parent: ground.parent_hash };
        let (seen, last_final) = (Some(ground.block), Some(last_final));
        let batch = Batch { blocks: vec![ground], seen, last_final, ..Batch::default() };
        self.commit(batch).await?;
        Ok(seen)
    }

    /// The hash of the block that was told at this height, where it is remembered.
    async fn told(&self, number: u64) -> Result<Option<B256>, Halt> {
        for known in [self.seen, self.last_final].into_iter().flatten() {
            if known.number == number {
                return Ok(Some(known.hash));
            }
        }
        if self.seen.is_none_or(|seen| number > seen.number) {
            return Ok(None);
        }
        Ok(self.book.stored(number).await?.map(|walked| walked.block.hash))
    }

    /// A lower tip may be that of a node that lags on another fork. It is believed when a second one says the same; where
    /// none says anything, when it says so again.
    async fn is_believed(&mut self, node: &Node, tip: &Header) -> Result<bool, Halt> {
        let is_repeated = self.doubted.replace(tip.hash) == Some(tip.hash);
        match self.reader.others_have(node, block(tip)).await {
            Some(true) => Ok(true),
            Some(false) => Err(Halt::Unanswered(format!(
                "its newest block is {}, below what was told, and no other node has the same block {}",
                tip.number, tip.number
            ))),
            None => Ok(is_repeated),
        }
    }
}
