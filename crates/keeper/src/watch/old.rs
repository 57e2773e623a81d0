//! The watch without a store, until `run` has the new one.

use super::{
    Block, WatchError,
    asked::{Asked, Wanted},
    block,
    decode::{self, Event, Undecodable},
    tail::{Tail, Walked as Told},
};
use crate::node::{Node, Nodes, explain, is_too_much, is_turned_away};
use alloy::{
    eips::BlockNumberOrTag,
    primitives::{Address, B256},
    providers::Provider,
    rpc::types::{Header, Log},
    transports::TransportError,
};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc},
    time,
};

/// Blocks below the tip that are walked one by one, and as far back as a reorg is followed.
pub(super) const REORG_WINDOW: u64 = 256;

/// Blocks in one `eth_getLogs` of the past. Common nodes allow it; for others the pool asks in pieces, up to a number of
/// them. Only beyond that, or where a node is too slow for so many, the range is halved.
const MAX_RANGE: u64 = 2_000;

/// How soon after a failed request it is tried again; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// How long a second node may think about what is not believed of the first: that there are no logs, or that the tip is
/// lower. A node that hangs must not hold every block for as long as a first one may take; its breaker hears of it.
const SECOND_OPINION: Duration = Duration::from_secs(3);

/// How often the tip is asked for. An event is to be known within a second of its block.
const POLL: Duration = Duration::from_millis(500);

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
    /// No node answers, or none usefully.
    Unreachable {
        /// What is wrong with which, without a secret.
        reason: String,
    },
    /// A node answers again.
    Reachable {
        /// Where it is, without a secret.
        host: String,
    },
}

/// Follows one chain.
#[derive(Debug)]
pub struct OldWatch {
    nodes: Nodes,
    wanted: Wanted,
    first: u64,
    tail: Tail,
    /// A block as far below the ground as a reorg is followed: while it stands, a ground that left is a reorg.
    anchor: Option<Block>,
    range: u64,
    /// A lower tip with another hash that no other node has an opinion on: it is believed when it is seen twice.
    doubted: Option<B256>,
    /// No node brought the last tick to its end.
    unreachable: bool,
    /// What is wrong with which node, by its host.
    trouble: BTreeMap<String, String>,
    hint: Arc<Notify>,
}

/// What a tick can end with.
#[derive(Debug)]
enum Halt {
    /// The node does not answer, or contradicts itself, which is as good as no answer.
    Unanswered(String),
    /// The node answers with an error.
    Refused(String),
    /// It was not even asked, for reasons that were told.
    TurnedAway,
    Final(WatchError),
    /// Nobody listens any more.
    Unheard,
}

impl From<TransportError> for Halt {
    fn from(error: TransportError) -> Self {
        match explain(&error) {
            _ if is_turned_away(&error) => Self::TurnedAway,
            reason if error.as_error_resp().is_some() => Self::Refused(reason),
            reason => Self::Unanswered(reason),
        }
    }
}

type Facts = mpsc::Sender<Fact>;

impl OldWatch {
    /// Watches these contracts, or all where there are none given, from the block `first` on. Asks for nothing yet.
    pub(crate) fn new(nodes: Nodes, contracts: Option<Vec<Address>>, first: u64) -> Self {
        Self {
            nodes,
            wanted: Wanted::of(contracts),
            first,
            tail: Tail::default(),
            anchor: None,
            range: MAX_RANGE,
            doubted: None,
            unreachable: false,
            trouble: BTreeMap::new(),
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
                Err(_) => {
                    self.unreachable = true;
                    let reason = self.reason();
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

    /// Everything up to the tip, as the first node says it that can.
    async fn tick(&mut self, facts: &Facts) -> Result<(), Halt> {
        let mut other_chain = None;
        let mut all = true;
        for node in self.nodes.ranked() {
            let trouble = match self.tick_on(&node, facts).await {
                Ok(()) => {
                    self.trouble.clear();
                    if std::mem::take(&mut self.unreachable) {
                        tell(facts, Fact::Reachable { host: node.host }).await?;
                    }
                    return Ok(());
                }
                Err(Halt::Unheard) => return Err(Halt::Unheard),
                Err(Halt::Final(error)) => {
                    let trouble = error.to_string();
                    other_chain = Some(error);
                    trouble
                }
                Err(Halt::Unanswered(reason) | Halt::Refused(reason)) => {
                    all = false;
                    reason
                }
                Err(Halt::TurnedAway) => {
                    all = false;
                    self.trouble.entry(node.host).or_insert_with(|| "it is busy".to_owned());
                    continue;
                }
            };
            self.trouble.insert(node.host, trouble);
        }
        // While one of them does not answer, it may be the one that still has the chain.
        match other_chain {
            Some(error) if all => Err(Halt::Final(error)),
            _ => Err(Halt::TurnedAway),
        }
    }

    fn reason(&self) -> String {
        let each = self.trouble.iter().map(|(host, why)| format!("no answer from {host}: {why}"));
        each.collect::<Vec<_>>().join("; ")
    }

    /// Everything up to the tip of one node.
    async fn tick_on(&mut self, node: &Node, facts: &Facts) -> Result<(), Halt> {
        let latest = node.provider.get_block_by_number(BlockNumberOrTag::Latest).await?;
        let Some(tip) = latest.map(|block| block.header) else {
            return Err(Halt::Unanswered("the node has no latest block".to_owned()));
        };
        if self.tail.is_empty() && !self.begin(node, &tip, facts).await? {
            return Ok(());
        }
        self.compare(node, &tip, facts).await?;
        loop {
            let next = self.tail.next();
            if next > tip.number {
                return Ok(());
            }
            if tip.number - next >= REORG_WINDOW {
                // Ranges are not linked by parent hashes: what was told must still stand.
                if self.rewind(node, &tip, facts).await? {
                    continue;
                }
                self.backfill(node, next, tip.number - REORG_WINDOW, facts).await?;
            } else if !self.walk(node, next, &tip, facts).await? {
                // A node behind a balancer that does not have the block yet: the next tick asks again.
                return Ok(());
            }
        }
    }

    /// Lays the ground: the block before the first one to tell. False where the chain is not there yet.
    async fn begin(&mut self, node: &Node, tip: &Header, facts: &Facts) -> Result<bool, Halt> {
        // The genesis block has no logs, so it may be the ground itself.
        let ground = header(node, self.first.saturating_sub(1)).await?;
        let Some(ground) = ground else {
            if self.first > tip.number.saturating_add(1) {
                return Ok(false);
            }
            return Err(missing(self.first.saturating_sub(1)));
        };
        let block = block(&ground);
        let below = block.number.saturating_sub(REORG_WINDOW);
        let anchor = header(node, below).await?.ok_or_else(|| missing(below))?;
        self.anchor = Some(self::block(&anchor));
        self.tail.restart(Told::empty(block));
        tell(facts, Fact::Block { block, tip: block.number == tip.number }).await?;
        Ok(true)
    }

    /// Whether the node's tip belongs to the chain that was told; takes back what does not.
    async fn compare(&mut self, node: &Node, tip: &Header, facts: &Facts) -> Result<(), Halt> {
        let known = self.tail.hash_of(tip.number);
        if known == Some(tip.hash) || tip.number > self.tail.tip().number {
            self.doubted = None;
            return Ok(());
        }
        // Below all that is remembered there is nothing to compare with: a node that lags.
        if known.is_none() {
            return Ok(());
        }
        // A lower tip may be that of a node that lags on another fork. It is believed when a second one says the same; where
        // none says anything, when it says so again.
        if tip.number < self.tail.tip().number {
            let repeated = self.doubted.replace(tip.hash) == Some(tip.hash);
            match self.others_say(node, tip).await {
                Some(true) => {}
                Some(false) => {
                    let number = tip.number;
                    return Err(Halt::Unanswered(format!(
                        "its newest block is {number}, below what was told, and no other node has the same block {number}"
                    )));
                }
                None if repeated => {}
                None => return Ok(()),
            }
        }
        self.doubted = None;
        self.rewind(node, tip, facts).await.map(drop)
    }

    /// Whether another node has this very block in its place; `None` where no other one has any.
    async fn others_say(&self, node: &Node, block: &Header) -> Option<bool> {
        let mut said = None;
        for other in self.nodes.others(node) {
            let opinion = time::timeout(SECOND_OPINION, header(&other, block.number)).await;
            let Ok(Ok(Some(found))) = opinion else { continue };
            said = Some(found.hash == block.hash);
            if said == Some(true) {
                break;
            }
        }
        said
    }

    /// Back to the last block that is still on the chain. Whether there was anything to take back. Nothing is taken back
    /// before that block is found: of a node on another chain all would be, and another node then tell it all again.
    async fn rewind(&mut self, node: &Node, tip: &Header, facts: &Facts) -> Result<bool, Halt> {
        let mut gone = 0;
        // What the node has in the place of the last block that was compared.
        let mut there = None;
        while let Some(last) = self.tail.back(gone) {
            // Above the node's tip there is nothing any more; below it, a block that it does not have says nothing.
            if last.number <= tip.number {
                let found = header(node, last.number).await?;
                let found = found.ok_or_else(|| missing(last.number))?;
                if found.hash == last.hash {
                    break;
                }
                there = Some(found);
            }
            gone += 1;
        }
        // The oldest block that is remembered, if it left as well.
        let ground = match self.tail.back(gone) {
            Some(_) => None,
            None => self.tail.back(gone.saturating_sub(1)),
        };
        if let Some(ground) = ground {
            // Nothing was told of the ground itself, so another takes its place, if this is the same chain.
            let other = WatchError::OtherChain(format!(
                "block {} with hash {} is no longer on the node's chain, nor are the {REORG_WINDOW} before it: \
                 this is another chain, or one begun anew. Start again to follow it",
                ground.number, ground.hash
            ));
            let Some(anchor) = self.anchor else { return Err(Halt::Final(other)) };
            let still = header(node, anchor.number).await?;
            if still.ok_or_else(|| missing(anchor.number))?.hash != anchor.hash {
                return Err(Halt::Final(other));
            }
        }
        for _ in 0..gone {
            // The ground is never popped.
            let Some(walked) = self.tail.pop() else { break };
            for event in walked.events.into_iter().rev() {
                tell(facts, Fact::Retracted(event)).await?;
            }
        }
        if let (Some(_), Some(there)) = (ground, there) {
            self.tail.restart(Told::empty(block(&there)));
        }
        Ok(gone > 0)
    }

    /// One block, by its parent's hash. False where the node does not have its tip yet.
    async fn walk(
        &mut self,
        node: &Node,
        number: u64,
        tip: &Header,
        facts: &Facts,
    ) -> Result<bool, Halt> {
        let Some(header) = header(node, number).await? else {
            return if number < tip.number { Err(missing(number)) } else { Ok(false) };
        };
        let parent = self.tail.tip();
        if header.parent_hash != parent.hash {
            if !self.rewind(node, tip, facts).await? {
                return Err(Halt::Unanswered(format!(
                    "the node's block {number} does not follow its block {}",
                    parent.number
                )));
            }
            return Ok(true);
        }
        let doubtful = self.wanted.may_be_in(&header.logs_bloom);
        let asked = Asked::Block { number, hash: header.hash };
        let logs = self.logs(node, asked, doubtful).await?;
        let block = block(&header);
        let mut events = Vec::new();
        for fact in logs.iter().map(|log| decode::fact(log, block)) {
            if let Fact::Event(event) = &fact {
                events.push(event.clone());
            }
            tell(facts, fact).await?;
        }
        if self.tail.push(Told { block, events }) {
            // What was told is no longer all remembered: an older ground cannot be replaced.
            self.anchor = None;
        }
        tell(facts, Fact::Block { block, tip: number == tip.number }).await?;
        Ok(true)
    }

    /// A range of the past, too far below the tip to leave the chain.
    async fn backfill(
        &mut self,
        node: &Node,
        from: u64,
        last: u64,
        facts: &Facts,
    ) -> Result<(), Halt> {
        let to = last.min(from + self.range - 1);
        // Until all of it is told: looking up the blocks of many logs may be too much as well.
        self.range = (to - from).div_ceil(2).max(1);
        let logs = match self.logs(node, Asked::Range { from, to }, true).await {
            Ok(logs) => logs,
            // More than the pool asks for in pieces: at once, since no node is asked for what is known to be too much.
            Err(Halt::Refused(_)) if from < to => return Ok(()),
            Err(halt) => return Err(halt),
        };
        let Some(end) = header(node, to).await? else {
            return Err(missing(to));
        };
        let mut at: Option<Block> = None;
        let mut told = Vec::new();
        for log in logs {
            let place = log.block_number.zip(log.block_hash);
            let (number, hash) =
                place.expect("`Wanted::checked` lets no log without its block through");
            let block = match at {
                Some(block) if block.hash == hash => block,
                _ => block_of(node, &log, number, hash).await?,
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
        self.tail.restart(Told::empty(block));
        tell(facts, Fact::Block { block, tip: false }).await
    }

    /// The logs, checked. Where it is `doubtful` that there are none, that is believed of two nodes, or where only one
    /// answers.
    async fn logs(&self, node: &Node, asked: Asked, doubtful: bool) -> Result<Vec<Log>, Halt> {
        let logs = self.logs_of(node, asked).await?;
        if !logs.is_empty() || !doubtful {
            return Ok(logs);
        }
        for other in self.nodes.others(node) {
            let opinion = time::timeout(SECOND_OPINION, self.logs_of(&other, asked));
            if let Ok(Ok(logs)) = opinion.await {
                return Ok(logs);
            }
        }
        Ok(logs)
    }

    async fn logs_of(&self, node: &Node, asked: Asked) -> Result<Vec<Log>, Halt> {
        let logs = match (node.provider.get_logs(&self.wanted.filter(asked)).await, asked.block()) {
            (Err(error), Some((number, name))) if is_too_much(&error) => {
                self.receipt_logs(node, number, name).await?
            }
            (answer, _) => answer?,
        };
        self.wanted.checked(logs, asked).map_err(Halt::Unanswered)
    }

    /// The logs of a block that holds more than a node gives at once: as its receipts have them, where there is no limit.
    async fn receipt_logs(&self, node: &Node, number: u64, name: String) -> Result<Vec<Log>, Halt> {
        // Of its transactions nothing else is read, so that their kind does not matter.
        #[derive(Debug, Deserialize)]
        struct Receipt {
            logs: Vec<Log>,
        }
        let client = node.provider.client();
        let receipts = client.request::<_, Vec<Receipt>>("eth_getBlockReceipts", (name,)).await;
        let receipts = receipts.map_err(|error| {
            Halt::Unanswered(format!(
                "block {number} holds more logs than the node gives at once, and its receipts are not to be had ({}): \
                 give one more --rpc-url, of a node without that limit",
                explain(&error)
            ))
        })?;
        let logs = receipts.into_iter().flat_map(|receipt| receipt.logs);
        Ok(logs.filter(|log| self.wanted.matches(log)).collect())
    }
}

/// The block of this number, checked to be that.
async fn header(node: &Node, number: u64) -> Result<Option<Header>, Halt> {
    let found = node.provider.get_block_by_number(number.into()).await?;
    match found.map(|block| block.header) {
        Some(header) if header.number != number => Err(Halt::Unanswered(format!(
            "the node gave block {} when it was asked for {number}",
            header.number
        ))),
        found => Ok(found),
    }
}

/// Newer nodes put the time into the log; others are asked for the header.
async fn block_of(node: &Node, log: &Log, number: u64, hash: B256) -> Result<Block, Halt> {
    if let Some(time) = log.block_timestamp {
        return Ok(Block { number, hash, time });
    }
    match header(node, number).await? {
        Some(header) if header.hash == hash => Ok(block(&header)),
        _ => Err(Halt::Unanswered(format!(
            "the node gave a log of a block {number} that it does not have"
        ))),
    }
}

fn missing(number: u64) -> Halt {
    Halt::Unanswered(format!("the node has no block {number} below its tip"))
}

async fn tell(facts: &Facts, fact: Fact) -> Result<(), Halt> {
    facts.send(fact).await.map_err(|_| Halt::Unheard)
}
