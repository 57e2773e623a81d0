//! Follows a chain and yields what it says about breakers, in chain order, without a gap and without a repeat.
//!
//! History is read in ranges; the last blocks before the tip are walked one by one along their parent hashes, so that a
//! block that left the chain is noticed by its hash and what it said is taken back. A node that goes away loses nothing:
//! the walk goes on where it stood. Generic over alloy's `Provider`, so that a pool of nodes can take the node's place.

mod decode;
mod tail;

pub use decode::{Event, Kind, Undecodable};

use crate::node::explain;
use alloy::{
    eips::BlockNumberOrTag,
    primitives::{Address, B256},
    providers::Provider,
    rpc::types::{Filter, Header, Log},
    sol_types::SolEvent,
    transports::TransportError,
};
use fusebox_bindings::events;
use std::{sync::Arc, time::Duration};
use tail::{Tail, Walked};
use tokio::{
    sync::{Notify, mpsc},
    time,
};

/// Blocks below the tip that are walked one by one, and as far back as a reorg is followed.
const REORG_WINDOW: u64 = 256;

/// Blocks in one `eth_getLogs` of the past. Common nodes allow it; where one does not, the range is halved.
const MAX_RANGE: u64 = 2_000;

/// How soon after a failed request it is tried again; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// How often the tip is asked for. An event is to be known within a second of its block.
const POLL: Duration = Duration::from_millis(500);

/// A block, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// Its timestamp, in unix seconds.
    pub time: u64,
}

/// Something the chain said, or that became of the node. In order: all of a block's events, then the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A breaker's event.
    Event(Event),
    /// A log with a breaker's topic that is not of the event's shape.
    Undecodable(Undecodable),
    /// The block of an event left the chain.
    Retracted(Event),
    /// Everything up to and including this block has been told.
    Block {
        /// The block.
        block: Block,
        /// Whether it was the tip when it was read.
        tip: bool,
    },
    /// The node does not answer, or not usefully.
    Unreachable {
        /// What is wrong, without a secret.
        reason: String,
    },
    /// The node answers again.
    Reachable,
}

/// The watch cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The node has none of the blocks that were read before: it is on another chain, or on one that was begun anew.
    #[error(
        "block {number} with hash {hash} is no longer on the node's chain, nor are the {REORG_WINDOW} before it: \
         this is another chain, or one begun anew. Start again to follow it"
    )]
    OtherChain {
        /// The oldest block that was remembered.
        number: u64,
        /// Its hash.
        hash: B256,
    },
}

/// Follows one chain.
#[derive(Debug)]
pub struct Watch<P> {
    provider: P,
    contracts: Option<Vec<Address>>,
    first: u64,
    tail: Tail,
    /// A block as far below the ground as a reorg is followed: while it stands, a ground that left is a reorg.
    anchor: Option<Block>,
    range: u64,
    /// A lower tip with another hash is believed when it is seen twice.
    doubted: Option<B256>,
    /// The last request failed.
    unreachable: bool,
    hint: Arc<Notify>,
}

/// What a tick can end with.
#[derive(Debug)]
enum Halt {
    /// The node does not answer, or contradicts itself, which is as good as no answer.
    Unanswered(String),
    Final(WatchError),
    /// Nobody listens any more.
    Unheard,
}

impl From<TransportError> for Halt {
    fn from(error: TransportError) -> Self {
        Self::Unanswered(explain(&error))
    }
}

type Facts = mpsc::Sender<Fact>;

impl<P: Provider> Watch<P> {
    /// Watches these contracts, or all where there are none given, from the block `first` on. Asks for nothing yet.
    pub fn new(provider: P, contracts: Option<Vec<Address>>, first: u64) -> Self {
        Self {
            provider,
            contracts,
            first,
            tail: Tail::default(),
            anchor: None,
            range: MAX_RANGE,
            doubted: None,
            unreachable: false,
            hint: Arc::default(),
        }
    }

    /// Wakes the watch before its next poll. A hint only: nothing is lost without it.
    pub fn hint(&self) -> Arc<Notify> {
        Arc::clone(&self.hint)
    }

    /// Follows the chain until the receiver is dropped.
    ///
    /// # Errors
    /// When the chain is no longer the one that was followed. A node that cannot be reached is waited for.
    pub async fn run(mut self, facts: Facts) -> Result<(), WatchError> {
        let mut backoff = MIN_BACKOFF;
        loop {
            let wait = match self.tick(&facts).await {
                Ok(()) => {
                    backoff = MIN_BACKOFF;
                    POLL
                }
                Err(Halt::Unheard) => return Ok(()),
                Err(Halt::Final(error)) => return Err(error),
                Err(Halt::Unanswered(reason)) => {
                    self.unreachable = true;
                    tell(&facts, Fact::Unreachable { reason }).await.ok();
                    let wait = backoff;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                    wait
                }
            };
            tokio::select! {
                () = time::sleep(wait) => {}
                () = self.hint.notified() => {}
                () = facts.closed() => return Ok(()),
            }
        }
    }

    /// Everything up to the tip.
    async fn tick(&mut self, facts: &Facts) -> Result<(), Halt> {
        let Some(tip) = self.header(BlockNumberOrTag::Latest).await? else {
            return Err(Halt::Unanswered("the node has no latest block".to_owned()));
        };
        if std::mem::take(&mut self.unreachable) {
            tell(facts, Fact::Reachable).await?;
        }
        if self.tail.is_empty() && !self.begin(&tip, facts).await? {
            return Ok(());
        }
        self.compare(&tip, facts).await?;
        loop {
            let next = self.tail.next();
            if next > tip.number {
                return Ok(());
            }
            if tip.number - next >= REORG_WINDOW {
                // Ranges are not linked by parent hashes: what was told must still stand.
                if self.rewind(&tip, facts).await? {
                    continue;
                }
                self.backfill(next, tip.number - REORG_WINDOW, facts).await?;
            } else if !self.walk(next, &tip, facts).await? {
                // A node behind a balancer that does not have the block yet: the next tick asks again.
                return Ok(());
            }
        }
    }

    /// Lays the ground: the block before the first one to tell. False where the chain is not there yet.
    async fn begin(&mut self, tip: &Header, facts: &Facts) -> Result<bool, Halt> {
        // The genesis block has no logs, so it may be the ground itself.
        let ground = self.header(self.first.saturating_sub(1).into()).await?;
        let Some(ground) = ground else {
            if self.first > tip.number.saturating_add(1) {
                return Ok(false);
            }
            return Err(missing(self.first.saturating_sub(1)));
        };
        let block = block(&ground);
        let below = block.number.saturating_sub(REORG_WINDOW);
        let anchor = self.header(below.into()).await?.ok_or_else(|| missing(below))?;
        self.anchor = Some(self::block(&anchor));
        self.tail.restart(Walked::empty(block));
        tell(facts, Fact::Block { block, tip: block.number == tip.number }).await?;
        Ok(true)
    }

    /// Whether the node's tip belongs to the chain that was told; takes back what does not.
    async fn compare(&mut self, tip: &Header, facts: &Facts) -> Result<(), Halt> {
        let known = self.tail.hash_of(tip.number);
        if known == Some(tip.hash) || tip.number > self.tail.tip().number {
            self.doubted = None;
            return Ok(());
        }
        // Below all that is remembered there is nothing to compare with: a node that lags.
        if known.is_none() {
            return Ok(());
        }
        // A lower tip may be a node that lags on another fork: it is believed when it says the same again.
        if tip.number < self.tail.tip().number && self.doubted.replace(tip.hash) != Some(tip.hash) {
            return Ok(());
        }
        self.doubted = None;
        self.rewind(tip, facts).await.map(drop)
    }

    /// Back to the last block that is still on the chain. Whether there was anything to take back.
    async fn rewind(&mut self, tip: &Header, facts: &Facts) -> Result<bool, Halt> {
        let mut moved = false;
        loop {
            let last = self.tail.tip();
            // Above the node's tip there is nothing any more; below it, a block that it does not have says nothing.
            let there = if last.number > tip.number {
                None
            } else {
                Some(self.header(last.number.into()).await?.ok_or_else(|| missing(last.number))?)
            };
            if there.as_ref().is_some_and(|header| header.hash == last.hash) {
                return Ok(moved);
            }
            if let Some(gone) = self.tail.pop() {
                moved = true;
                for event in gone.events.into_iter().rev() {
                    tell(facts, Fact::Retracted(event)).await?;
                }
                continue;
            }
            // The ground itself left. Nothing was told of it, so another takes its place, if this is the same chain.
            let other = WatchError::OtherChain { number: last.number, hash: last.hash };
            let Some(anchor) = self.anchor else { return Err(Halt::Final(other)) };
            let still = self.header(anchor.number.into()).await?;
            if still.ok_or_else(|| missing(anchor.number))?.hash != anchor.hash {
                return Err(Halt::Final(other));
            }
            let Some(ground) = there else { return Ok(moved) };
            self.tail.restart(Walked::empty(block(&ground)));
            moved = true;
        }
    }

    /// One block, by its parent's hash. False where the node does not have its tip yet.
    async fn walk(&mut self, number: u64, tip: &Header, facts: &Facts) -> Result<bool, Halt> {
        let Some(header) = self.header(number.into()).await? else {
            return if number < tip.number { Err(missing(number)) } else { Ok(false) };
        };
        let parent = self.tail.tip();
        if header.parent_hash != parent.hash {
            if !self.rewind(tip, facts).await? {
                return Err(Halt::Unanswered(format!(
                    "the node's block {number} does not follow its block {}",
                    parent.number
                )));
            }
            return Ok(true);
        }
        let logs = self.provider.get_logs(&self.filter().at_block_hash(header.hash)).await?;
        let block = block(&header);
        let logs = self.checked(logs)?;
        if logs.iter().any(|log| log.block_hash != Some(header.hash)) {
            return Err(Halt::Unanswered(format!(
                "the node gave a log of another block for {number}"
            )));
        }
        let mut events = Vec::new();
        for fact in logs.iter().map(|log| decode::fact(log, block)) {
            if let Fact::Event(event) = &fact {
                events.push(event.clone());
            }
            tell(facts, fact).await?;
        }
        if self.tail.push(Walked { block, events }) {
            // What was told is no longer all remembered: an older ground cannot be replaced.
            self.anchor = None;
        }
        tell(facts, Fact::Block { block, tip: number == tip.number }).await?;
        Ok(true)
    }

    /// A range of the past, too far below the tip to leave the chain.
    async fn backfill(&mut self, from: u64, last: u64, facts: &Facts) -> Result<(), Halt> {
        let to = last.min(from + self.range - 1);
        let logs = match self.provider.get_logs(&self.filter().from_block(from).to_block(to)).await
        {
            Ok(logs) => logs,
            // The node thinks the range too large, or its answer: half of it, down to a single block.
            Err(error) if error.as_error_resp().is_some() && from < to => {
                self.range = (to - from).div_ceil(2);
                return Ok(());
            }
            // It may also be too much to answer in time: less the next time, and not at once.
            Err(error) => {
                self.range = (to - from).div_ceil(2).max(1);
                return Err(error.into());
            }
        };
        // Until all of it is told: looking up the blocks of many logs may be too much as well.
        self.range = (to - from).div_ceil(2).max(1);
        let Some(end) = self.header(to.into()).await? else {
            return Err(missing(to));
        };
        let mut at: Option<Block> = None;
        let mut told = Vec::new();
        for log in self.checked(logs)? {
            let (Some(number), Some(hash)) = (log.block_number, log.block_hash) else {
                return Err(Halt::Unanswered("the node gave a log without its block".to_owned()));
            };
            if !(from..=to).contains(&number) {
                return Err(Halt::Unanswered(format!(
                    "the node gave a log of block {number}, unasked"
                )));
            }
            let block = match at {
                Some(block) if block.hash == hash => block,
                _ => self.block_of(&log, number, hash).await?,
            };
            at = Some(block);
            told.push(decode::fact(&log, block));
        }
        // Told at once when all of it is there: a range that fails half way is read again whole.
        for fact in told {
            tell(facts, fact).await?;
        }
        self.range = (to - from + 1).saturating_mul(2).min(MAX_RANGE);
        self.anchor = None;
        let block = block(&end);
        self.tail.restart(Walked::empty(block));
        tell(facts, Fact::Block { block, tip: false }).await
    }

    /// Newer nodes put the time into the log; others are asked for the header.
    async fn block_of(&self, log: &Log, number: u64, hash: B256) -> Result<Block, Halt> {
        if let Some(time) = log.block_timestamp {
            return Ok(Block { number, hash, time });
        }
        match self.header(number.into()).await? {
            Some(header) if header.hash == hash => Ok(block(&header)),
            _ => Err(Halt::Unanswered(format!(
                "the node gave a log of a block {number} that it does not have"
            ))),
        }
    }

    /// In chain order, each once and each asked for: what a node must give, checked before it is believed.
    fn checked(&self, mut logs: Vec<Log>) -> Result<Vec<Log>, Halt> {
        let position = |log: &Log| (log.block_number, log.log_index);
        logs.sort_by_key(position);
        let repeated = logs.windows(2).any(|pair| position(&pair[0]) == position(&pair[1]));
        if repeated || logs.iter().any(|log| log.log_index.is_none()) {
            return Err(Halt::Unanswered(
                "the node gave a log twice, or without its index".to_owned(),
            ));
        }
        if logs.iter().any(|log| log.removed) {
            return Err(Halt::Unanswered("the node gave a log of a block that left".to_owned()));
        }
        let asked =
            |log: &Log| self.contracts.as_ref().is_none_or(|asked| asked.contains(&log.address()));
        match logs.iter().find(|log| !asked(log)) {
            Some(foreign) => Err(Halt::Unanswered(format!(
                "the node gave a log of {}, unasked",
                foreign.address()
            ))),
            None => Ok(logs),
        }
    }

    async fn header(&self, number: BlockNumberOrTag) -> Result<Option<Header>, TransportError> {
        Ok(self.provider.get_block_by_number(number).await?.map(|block| block.header))
    }

    fn filter(&self) -> Filter {
        let topics = vec![
            events::Opened::SIGNATURE_HASH,
            events::Closed::SIGNATURE_HASH,
            events::Configured::SIGNATURE_HASH,
        ];
        let filter = Filter::new().event_signature(topics);
        match &self.contracts {
            Some(contracts) => filter.address(contracts.clone()),
            None => filter,
        }
    }
}

pub(crate) fn block(header: &Header) -> Block {
    Block { number: header.number, hash: header.hash, time: header.timestamp }
}

fn missing(number: u64) -> Halt {
    Halt::Unanswered(format!("the node has no block {number} below its tip"))
}

async fn tell(facts: &Facts, fact: Fact) -> Result<(), Halt> {
    facts.send(fact).await.map_err(|_| Halt::Unheard)
}
