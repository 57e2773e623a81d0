//! The words of breakers in storage, read at the newest block that was told, to be compared with what the events told.

use super::{Block, Book, Slot, Watch, halt::Halt};
use crate::{
    node::{Node, explain},
    output::log,
    target::Key,
};
use alloy::{eips::BlockId, primitives::U256, transports::TransportError};
use std::time::Duration;
use tokio::time::Instant;

/// How often all of them are read.
const AUDIT: Duration = Duration::from_secs(3_600);

impl<B: Book> Watch<B> {
    /// Reads what is wanted, where something was stored since. What cannot be read is read at a later block.
    pub(super) async fn read_back(&mut self, node: &Node) -> Result<(), Halt> {
        let Some(seen) = self.seen else { return Ok(()) };
        if self.audited.elapsed() >= AUDIT {
            self.book.audit().await?;
            self.audited = Instant::now();
            self.is_changed = true;
        }
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        let mut before = Vec::new();
        loop {
            let wanted = self.book.words_wanted().await?;
            // What contradicts the events is wanted once more, at a later block.
            if wanted.is_empty() || wanted == before {
                return Ok(());
            }
            let words = match words(node, seen, &wanted).await {
                Ok(words) => words,
                Err(error) => {
                    self.trouble.unread(&explain(&error));
                    return Ok(());
                }
            };
            let mut read = Vec::new();
            for (slot, word) in wanted.iter().zip(words) {
                match word {
                    Ok(word) => read.push((*slot, word)),
                    Err(error) => self.unread(*slot, &error),
                }
            }
            if read.is_empty() {
                return Ok(());
            }
            self.book.read_back(seen, &read).await?;
            before = wanted;
        }
    }

    fn unread(&mut self, (contract, breaker): Slot, error: &TransportError) {
        let key = Key { chain: self.nodes.chain, contract, breaker };
        let why = format!("the state of {key} is not known yet: {}", explain(error));
        if self.trouble.is_news(&why) {
            log(&why);
        }
    }
}

/// One request for all of them. The block is named by its hash: of another one they would say something else.
async fn words(
    node: &Node,
    block: Block,
    slots: &[Slot],
) -> Result<Vec<Result<U256, TransportError>>, TransportError> {
    let client = node.whole_batches();
    let mut batch = client.new_batch();
    let mut waiting = Vec::new();
    for (contract, breaker) in slots {
        let slot = U256::from_be_bytes(breaker.0);
        let params = (contract, slot, BlockId::hash(block.hash));
        waiting.push(batch.add_call::<_, U256>("eth_getStorageAt", &params)?);
    }
    batch.send().await?;
    let mut words = Vec::new();
    for word in waiting {
        words.push(word.await);
    }
    Ok(words)
}
