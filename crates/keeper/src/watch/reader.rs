//! Reads blocks and their logs from nodes, and believes what was checked.
//!
//! What belongs together is read from one node. Where its answer contradicts the header of the block, or is empty though
//! the header says otherwise, the receipts decide, which the header's root proves; else a second node.

use super::{
    Block, Sighting,
    asked::{Asked, Bloomed, Wanted},
    block,
    halt::{Halt, missing},
    receipts::{is_mute, is_sealed, proven},
};
use crate::{
    config::Verify,
    metrics::Metric,
    node::{Node, Nodes, explain, is_too_much},
};
use alloy::{
    eips::BlockNumberOrTag,
    primitives::B256,
    providers::Provider,
    rpc::types::{Block as RpcBlock, Header, Log, TransactionReceipt},
};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time;

/// How long a second node may think about what is not believed of the first. A node that hangs must not hold every block
/// for as long as a first one may take; its breaker hears of it.
const SECOND_OPINION: Duration = Duration::from_secs(3);

/// Headers that are asked for in one batch, where a node does not put the time into a log.
const HEADERS: usize = 100;

/// The logs of a block.
#[derive(Debug, Default)]
pub(super) struct BlockLogs {
    pub(super) logs: Vec<Log>,
    /// The header proves that these are all.
    pub(super) is_proven: bool,
    /// There are none, though the header says otherwise, and nobody else was there to say who is right.
    pub(super) is_contradicted: bool,
}

impl BlockLogs {
    fn unproven(logs: Vec<Log>) -> Self {
        Self { logs, ..Self::default() }
    }

    fn proven(logs: Vec<Log>, header: &Header) -> Self {
        Self { logs, is_proven: is_sealed(header), is_contradicted: false }
    }
}

/// Reads from the nodes of a chain.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    nodes: Nodes,
    verify: Verify,
    chain: Arc<str>,
}

impl Reader {
    pub(super) fn new(nodes: Nodes, verify: Verify, chain: Arc<str>) -> Self {
        Self { nodes, verify, chain }
    }

    /// The newest block.
    pub(super) async fn latest(&self, node: &Node) -> Result<Header, Halt> {
        let latest = node.provider.get_block_by_number(BlockNumberOrTag::Latest).await?;
        let none = || Halt::Unanswered("the node has no latest block".to_owned());
        Ok(latest.ok_or_else(none)?.header)
    }

    /// The block of this number, checked to be that; `None` where the node has none.
    pub(super) async fn numbered(&self, node: &Node, number: u64) -> Result<Option<Header>, Halt> {
        let found = node.provider.get_block_by_number(number.into()).await?;
        found.map(|found| is_numbered(found.header, number)).transpose()
    }

    /// The block of this number, which the node has to have.
    pub(super) async fn below_tip(&self, node: &Node, number: u64) -> Result<Header, Halt> {
        self.numbered(node, number).await?.ok_or_else(|| missing(number))
    }

    /// The parent of a block. Asked by its hash, since another node may answer, and of another chain.
    pub(super) async fn parent(&self, node: &Node, child: &Header) -> Result<Header, Halt> {
        let number = child.number.saturating_sub(1);
        let hash = child.parent_hash;
        let found = match node.provider.get_block_by_hash(hash).await? {
            Some(found) => is_numbered(found.header, number)?,
            // A node behind a balancer that has not got it yet.
            None => self.of_another(node, hash).await.ok_or_else(|| missing(number))?,
        };
        match found.hash == hash && found.number == number {
            true => Ok(found),
            false => Err(Halt::Unanswered(format!(
                "the node gave another block than {number} when it was asked for its hash"
            ))),
        }
    }

    async fn of_another(&self, than: &Node, hash: B256) -> Option<Header> {
        for other in self.nodes.others(than) {
            let found = time::timeout(SECOND_OPINION, other.provider.get_block_by_hash(hash));
            if let Ok(Ok(Some(found))) = found.await {
                return Some(found.header);
            }
        }
        None
    }

    /// Whether another node has this very block in its place; `None` where no other one has any.
    pub(super) async fn others_have(&self, node: &Node, block: Block) -> Option<bool> {
        let mut said = None;
        for other in self.nodes.others(node) {
            let opinion = time::timeout(SECOND_OPINION, self.numbered(&other, block.number));
            let Ok(Ok(Some(found))) = opinion.await else { continue };
            said = Some(found.hash == block.hash);
            if said == Some(true) {
                break;
            }
        }
        said
    }

    /// The logs of a block, as complete as can be known.
    pub(super) async fn block_logs(
        &self,
        node: &Node,
        wanted: &Wanted,
        header: &Header,
    ) -> Result<BlockLogs, Halt> {
        if !wanted.begins_by(header.number) {
            return Ok(BlockLogs { is_proven: true, ..BlockLogs::default() });
        }
        let bloomed = match is_mute(header) {
            true => Bloomed::Possible,
            false => wanted.bloomed(&header.logs_bloom),
        };
        let result = match bloomed {
            Bloomed::Excluded => "excluded",
            Bloomed::Possible => "possible",
            Bloomed::Likely => "likely",
        };
        metrics::counter!(Metric::BloomChecks.name(), "chain" => self.chain.to_string(), "result" => result)
            .increment(1);
        if bloomed == Bloomed::Excluded {
            return Ok(BlockLogs::proven(Vec::new(), header));
        }
        let asked = Asked::Block { number: header.number, hash: header.hash };
        let logs = self.checked(node, wanted, asked, Some(header)).await?;
        match (logs.is_empty(), bloomed) {
            (true, Bloomed::Possible) => Ok(BlockLogs::unproven(logs)),
            (false, _) if self.verify == Verify::Off => Ok(BlockLogs::unproven(logs)),
            _ => self.complete(node, wanted, header, logs).await,
        }
    }

    /// The receipts decide, or a second node; where there is neither, the answer stands.
    async fn complete(
        &self,
        node: &Node,
        wanted: &Wanted,
        header: &Header,
        logs: Vec<Log>,
    ) -> Result<BlockLogs, Halt> {
        let asked = Asked::Block { number: header.number, hash: header.hash };
        if matches!(self.verify, Verify::Auto | Verify::Receipts)
            && let Some(all) = self.receipts(node, header).await
        {
            let all = all.into_iter().filter(|log| wanted.asks_for(log)).collect();
            let all = wanted.checked(all, asked).map_err(Halt::Unanswered)?;
            if !is_same(&all, &logs) {
                self.inconsistent(node, if logs.is_empty() { "empty" } else { "incomplete" });
            }
            return Ok(BlockLogs::proven(all, header));
        }
        if self.verify != Verify::Receipts {
            for other in self.nodes.others(node) {
                let opinion = self.checked(&other, wanted, asked, Some(header));
                let Ok(Ok(others)) = time::timeout(SECOND_OPINION, opinion).await else { continue };
                return self.merged((node, logs), (&other, others), header);
            }
        }
        let is_contradicted = logs.is_empty();
        if is_contradicted {
            self.inconsistent(node, "empty");
        }
        Ok(BlockLogs { is_contradicted, ..BlockLogs::unproven(logs) })
    }

    /// What either has: both passed all checks, so who has more has withheld less.
    fn merged(
        &self,
        (node, logs): (&Node, Vec<Log>),
        (other, others): (&Node, Vec<Log>),
        header: &Header,
    ) -> Result<BlockLogs, Halt> {
        let mut all = BTreeMap::new();
        let counts = (logs.len(), others.len());
        for log in logs.into_iter().chain(others) {
            let inner = log.inner.clone();
            let same = all.insert(log.log_index, log);
            if same.is_some_and(|same: Log| same.inner != inner) {
                self.inconsistent(node, "logs");
                return Err(Halt::Unanswered(format!(
                    "two nodes have different logs in block {}",
                    header.number
                )));
            }
        }
        if counts.0 < all.len() {
            self.inconsistent(node, if counts.0 == 0 { "empty" } else { "incomplete" });
        }
        if counts.1 < all.len() {
            self.inconsistent(other, if counts.1 == 0 { "empty" } else { "incomplete" });
        }
        Ok(BlockLogs::unproven(all.into_values().collect()))
    }

    /// All logs of a block, proven; `None` where the node does not give its receipts, or they are no proof.
    async fn receipts(&self, node: &Node, header: &Header) -> Option<Vec<Log>> {
        let client = node.provider.client();
        let asked = client
            .request::<_, Option<Vec<TransactionReceipt>>>("eth_getBlockReceipts", (header.hash,));
        let receipts = match time::timeout(SECOND_OPINION, asked).await {
            Ok(Ok(Some(receipts))) => receipts,
            _ => return None,
        };
        let logs = proven(receipts, header);
        if logs.is_none() {
            self.inconsistent(node, "receipts_root");
        }
        logs
    }

    /// The end of a range, and the logs in it, in as many pieces as the node needs.
    pub(super) async fn range(
        &self,
        node: &Node,
        wanted: &Wanted,
        mut from: u64,
        to: u64,
    ) -> Result<(Header, Vec<Log>), Halt> {
        let mut logs = Vec::new();
        loop {
            let last =
                node.longest_log_range().map_or(to, |most| to.min(from.saturating_add(most - 1)));
            match self.piece(node, wanted, from, last).await {
                Ok((end, found)) => {
                    logs.extend(found);
                    if last == to {
                        return Ok((end, logs));
                    }
                    from = last + 1;
                }
                // It was too long, and what is not is known now.
                Err(_) if node.longest_log_range().is_some_and(|most| most <= last - from) => {}
                Err(halt) => return Err(halt),
            }
        }
    }

    /// Both leave as one request: a node that does not have the end would have no logs either, and say so with an empty
    /// list. So what is too long does not go in pieces without an end each.
    async fn piece(
        &self,
        node: &Node,
        wanted: &Wanted,
        from: u64,
        to: u64,
    ) -> Result<(Header, Vec<Log>), Halt> {
        let asked = Asked::Range { from, to };
        let client = node.whole_batches();
        let mut batch = client.new_batch();
        let params = (BlockNumberOrTag::Number(to), false);
        let end = batch.add_call::<_, Option<RpcBlock>>("eth_getBlockByNumber", &params)?;
        let logs = batch.add_call::<_, Vec<Log>>("eth_getLogs", &(wanted.filter(asked),))?;
        batch.send().await?;
        let end = end.await?.ok_or_else(|| missing(to))?;
        let end = is_numbered(end.header, to)?;
        let logs = match logs.await {
            Err(error) if from == to && is_too_much(&error) => {
                self.in_receipts(node, wanted, to, format!("{to:#x}")).await?
            }
            logs => logs?,
        };
        let logs = wanted.checked(logs, asked).map_err(|why| {
            self.inconsistent(node, "filter");
            Halt::Unanswered(why)
        })?;
        Ok((end, logs))
    }

    /// The same; that there are none is believed of two nodes, or where only one answers.
    pub(super) async fn history(
        &self,
        node: &Node,
        wanted: &Wanted,
        from: u64,
        to: u64,
    ) -> Result<(Header, Vec<Log>), Halt> {
        let (end, logs) = self.range(node, wanted, from, to).await?;
        if !logs.is_empty() {
            return Ok((end, logs));
        }
        for other in self.nodes.others(node) {
            let opinion = time::timeout(SECOND_OPINION, self.range(&other, wanted, from, to));
            match opinion.await {
                Ok(Ok((found, logs))) if found.hash == end.hash => {
                    if !logs.is_empty() {
                        self.inconsistent(node, "empty");
                    }
                    return Ok((end, logs));
                }
                _ => {}
            }
        }
        Ok((end, logs))
    }

    /// Another reading of a range, by another node if there is one; else by this.
    pub(super) async fn second_reading(
        &self,
        node: &Node,
        wanted: &Wanted,
        from: u64,
        to: u64,
    ) -> Result<(Node, Vec<Log>), Halt> {
        for other in self.nodes.others(node) {
            let reading = time::timeout(SECOND_OPINION, self.range(&other, wanted, from, to));
            if let Ok(Ok((_, logs))) = reading.await {
                return Ok((other, logs));
            }
        }
        let (_, logs) = self.range(node, wanted, from, to).await?;
        Ok((node.clone(), logs))
    }

    async fn checked(
        &self,
        node: &Node,
        wanted: &Wanted,
        asked: Asked,
        header: Option<&Header>,
    ) -> Result<Vec<Log>, Halt> {
        let logs = match (node.provider.get_logs(&wanted.filter(asked)).await, asked.block()) {
            (Err(error), Some((number, name))) if is_too_much(&error) => {
                self.in_receipts(node, wanted, number, name).await?
            }
            (answer, _) => answer?,
        };
        let contradicts = |why| {
            self.inconsistent(node, "filter");
            Halt::Unanswered(why)
        };
        let logs = wanted.checked(logs, asked).map_err(contradicts)?;
        let is_in = |log: &Log, header: &Header| {
            header.logs_bloom.contains_raw_log(log.address(), log.topics())
        };
        if let Some(header) = header.filter(|header| !is_mute(header))
            && !logs.iter().all(|log| is_in(log, header))
        {
            self.inconsistent(node, "bloom");
            return Err(Halt::Unanswered(format!(
                "the node gave a log that is not in the bloom of block {}",
                header.number
            )));
        }
        Ok(logs)
    }

    /// The logs of a block that holds more than a node gives at once: as its receipts have them, where there is no limit.
    async fn in_receipts(
        &self,
        node: &Node,
        wanted: &Wanted,
        number: u64,
        name: String,
    ) -> Result<Vec<Log>, Halt> {
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
        Ok(logs.filter(|log| wanted.asks_for(log)).collect())
    }

    /// The same logs with their blocks' times, which newer nodes put into the log; others are asked for the headers.
    pub(super) async fn sightings(
        &self,
        node: &Node,
        logs: Vec<Log>,
        late: bool,
    ) -> Result<Vec<Sighting>, Halt> {
        let mut times: BTreeMap<u64, Block> = BTreeMap::new();
        let mut unknown: Vec<u64> = Vec::new();
        for log in &logs {
            let (number, hash) = place(log);
            match log.block_timestamp {
                Some(time) => drop(times.insert(number, Block { number, hash, time })),
                None if unknown.last() != Some(&number) => unknown.push(number),
                None => {}
            }
        }
        unknown.retain(|number| !times.contains_key(number));
        for numbers in unknown.chunks(HEADERS) {
            let client = node.whole_batches();
            let mut batch = client.new_batch();
            let mut waiting = Vec::new();
            for number in numbers {
                let params = (BlockNumberOrTag::Number(*number), false);
                let call =
                    batch.add_call::<_, Option<RpcBlock>>("eth_getBlockByNumber", &params)?;
                waiting.push((*number, call));
            }
            batch.send().await?;
            for (number, call) in waiting {
                let header = call.await?.ok_or_else(|| missing(number))?.header;
                times.insert(number, block(&is_numbered(header, number)?));
            }
        }
        let seen = logs.into_iter().map(|log| {
            let (number, hash) = place(&log);
            match times.get(&number).filter(|block| block.hash == hash) {
                Some(block) => Ok(sighting(&log, *block, late)),
                None => Err(Halt::Unanswered(format!(
                    "the node gave a log of a block {number} that it does not have"
                ))),
            }
        });
        seen.collect()
    }

    /// An answer that contradicts something is counted, whatever becomes of it.
    pub(super) fn inconsistent(&self, node: &Node, check: &'static str) {
        let (chain, provider) = (self.chain.to_string(), node.name.clone());
        metrics::counter!(Metric::Inconsistent.name(), "chain" => chain, "provider" => provider, "check" => check)
            .increment(1);
    }
}

/// A log of this block, as the store takes it.
pub(super) fn sighting(log: &Log, block: Block, late: bool) -> Sighting {
    Sighting {
        block,
        transaction: log.transaction_hash,
        log_index: log.log_index.unwrap_or_default(),
        contract: log.address(),
        topics: log.topics().to_vec(),
        data: log.data().data.clone(),
        late,
    }
}

/// The block of a log that was checked to have one.
pub(super) fn place(log: &Log) -> (u64, B256) {
    (log.block_number.unwrap_or_default(), log.block_hash.unwrap_or_default())
}

fn is_same(one: &[Log], other: &[Log]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one.inner == other.inner && one.log_index == other.log_index)
}

fn is_numbered(header: Header, number: u64) -> Result<Header, Halt> {
    match header.number == number {
        true => Ok(header),
        false => Err(Halt::Unanswered(format!(
            "the node gave block {} when it was asked for {number}",
            header.number
        ))),
    }
}
