//! Whether a node is on the chain that was read.
//!
//! Chain id and genesis are not enough: two development nodes that were begun with the same time share both, and their
//! first block. So the final block that is stored is compared as well.

use super::{Block, Book, Watch, halt::Halt};
use crate::{alert::AlertType, node::Node, output::log};
use alloy::{
    eips::BlockNumberOrTag,
    primitives::{B256, U64},
    rpc::types::Block as RpcBlock,
};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// How often a node is asked again: behind a name, nodes are exchanged.
const EVERY: Duration = Duration::from_secs(600);

impl<B: Book> Watch<B> {
    /// Asks a node for its chain, unless it answered lately and has not failed since.
    pub(super) async fn identify(&mut self, node: &Node, head: u64) -> Result<(), Halt> {
        if self.identified.get(&node.name).is_some_and(|at| at.elapsed() < EVERY) {
            return Ok(());
        }
        let client = node.whole_batches();
        let mut batch = client.new_batch();
        let chain = batch.add_call::<_, U64>("eth_chainId", &())?;
        let number = |number| (BlockNumberOrTag::Number(number), false);
        let method = "eth_getBlockByNumber";
        let genesis = batch.add_call::<_, Option<RpcBlock>>(method, &number(0))?;
        let last = match self.landmark().await? {
            Some(last) => {
                let call = batch.add_call::<_, Option<RpcBlock>>(method, &number(last.number))?;
                Some((last, call))
            }
            None => None,
        };
        batch.send().await?;
        let found: u64 = chain.await?.to();
        if found != self.nodes.chain {
            return Err(Halt::Foreign(format!(
                "the node at {} is on chain {found}, not {}",
                node.host, self.nodes.chain
            )));
        }
        let hash = |found: Option<RpcBlock>| found.map(|block| block.header.hash);
        let found = match last {
            Some((last, call)) => hash(call.await?).map(|found| (last, found)),
            None => None,
        };
        match found {
            // All before it follows from its hash, whatever the node says of block 0: anvil makes that anew when it loads
            // its state.
            Some((last, found)) if found == last.hash => {}
            Some((last, found)) if self.is_irrevocable(node, head).await? => {
                return Err(self.other(node, last.number, last.hash, found));
            }
            // A node that has dropped its first block is no other chain.
            _ => {
                if let Some(found) = hash(genesis.await?)
                    && found != self.book.genesis()
                {
                    return Err(self.other(node, 0, self.book.genesis(), found));
                }
            }
        }
        self.identified.insert(node.name.clone(), Instant::now());
        Ok(())
    }

    /// A block that was told and is expected to stay: the final one, or the oldest one that was walked.
    async fn landmark(&self) -> Result<Option<Block>, Halt> {
        if let Some(last) = self.last_final.filter(|last| last.number > 0) {
            return Ok(Some(last));
        }
        let ground = self.first.map_or(1, |first| first.saturating_sub(1).max(1));
        Ok(self.book.stored(ground).await?.map(|walked| walked.block))
    }

    /// Whether a final block that another one has replaced is no reorg, which the walk would find out.
    async fn is_irrevocable(&mut self, node: &Node, head: u64) -> Result<bool, Halt> {
        // What the node has of tags is known when it was asked; it is of another chain, though.
        self.finality.ask(node, head).await?;
        let is_by_tag = self.finality.is_by_tag();
        self.finality.forget();
        Ok(is_by_tag)
    }

    fn other(&self, node: &Node, number: u64, expected: B256, found: B256) -> Halt {
        Halt::Foreign(format!(
            "block {number} of the node at {} has hash {found}, and the store has {expected}: \
             this is another chain, or one begun anew. Give another --store to follow it",
            node.host
        ))
    }

    /// No node is on this chain any more: nothing is believed until one is.
    pub(super) async fn halt(&mut self, reason: String) {
        if !self.board.halted(reason.clone()) {
            return;
        }
        log(&format!("{reason}; nothing more is told of chain {}", self.plan.name));
        let at = self.seen.map_or(0, |seen| seen.time);
        let cause = self.seen.map(|seen| seen.hash.to_string()).unwrap_or_default();
        let data = json!({ "reason": reason });
        if let Err(error) = self.book.note(AlertType::ChainIdentity, &cause, at, data).await {
            log(&error.to_string());
            // Told again with the next look.
            self.board.unhalted();
        }
    }
}
