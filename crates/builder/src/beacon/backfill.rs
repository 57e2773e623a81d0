//! What a stream did not say is asked for: the whole tree where the node gives it, else as much of it as can be walked.

use super::api::{Api, ApiError, BACKFILL_TIME};
use crate::{machine::Seen, root::Root};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use tokio::time::timeout;

/// Headers that are asked for one by one: as many as the ring has slots.
const REQUESTS: usize = 256;

/// Blocks of a node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backfill {
    /// The first slot that they cover.
    pub(super) from: u64,
    pub(super) blocks: Vec<Seen>,
    /// Orphans are among them.
    pub(super) whole_tree: bool,
    pub(super) head: Option<(u64, Root)>,
}

/// Blocks whose parent is known, by root.
pub(super) type Known = BTreeMap<Root, Seen>;

/// Asks for all blocks since `from`. The node's own word for what it does not have goes on to the next way.
pub(super) async fn backfill(
    api: &Api,
    from: u64,
    epoch: u64,
    known: &Known,
) -> Result<Backfill, ApiError> {
    let all = async {
        match fork_choice(api, epoch).await {
            Err(error) if error.is_unsupported() => {}
            result => return result,
        }
        match heads(api, from, known).await {
            Err(error) if error.is_unsupported() => {}
            result => return result,
        }
        head(api, from, known).await
    };
    let in_time = timeout(BACKFILL_TIME, all).await;
    in_time.unwrap_or_else(|_| Err(ApiError::Transport("no answer in time".to_owned())))
}

async fn fork_choice(api: &Api, epoch: u64) -> Result<Backfill, ApiError> {
    let tree = api.fork_choice().await?;
    let blocks = tree.fork_choice_nodes.into_iter().map(|node| {
        let validity = node.validity.unwrap_or_default().to_ascii_lowercase();
        Seen {
            optimistic: validity == "optimistic",
            invalid: validity == "invalid",
            ..Seen::new(node.slot.0, node.block_root, node.parent_root)
        }
    });
    let from = tree.finalized_checkpoint.epoch.0.saturating_mul(epoch);
    Ok(Backfill { from, blocks: blocks.collect(), whole_tree: true, head: None })
}

/// Every block that is no leaf is an ancestor of one.
async fn heads(api: &Api, from: u64, known: &Known) -> Result<Backfill, ApiError> {
    let mut walk = Walk::new(api, from, known);
    for leaf in api.heads().await? {
        walk.next.push((leaf.slot.0, leaf.root));
    }
    let from = walk.run().await?;
    Ok(Backfill { from, blocks: walk.blocks, whole_tree: true, head: None })
}

async fn head(api: &Api, from: u64, known: &Known) -> Result<Backfill, ApiError> {
    let mut walk = Walk::new(api, from, known);
    let head = api.header("head").await?.seen();
    walk.took(head);
    let from = walk.run().await?;
    let head = Some((head.slot, head.root));
    Ok(Backfill { from, blocks: walk.blocks, whole_tree: false, head })
}

struct Walk<'a> {
    api: &'a Api,
    from: u64,
    known: &'a Known,
    /// Blocks to be looked at, each with the latest slot that it can have.
    next: BinaryHeap<(u64, Root)>,
    seen: BTreeSet<Root>,
    blocks: Vec<Seen>,
}

impl<'a> Walk<'a> {
    fn new(api: &'a Api, from: u64, known: &'a Known) -> Self {
        Self {
            api,
            from,
            known,
            next: BinaryHeap::new(),
            seen: BTreeSet::new(),
            blocks: Vec::new(),
        }
    }

    fn took(&mut self, block: Seen) {
        self.seen.insert(block.root);
        self.blocks.push(block);
        if let (Some(parent), Some(latest)) = (block.parent, block.slot.checked_sub(1)) {
            self.next.push((latest, parent));
        }
    }

    /// Latest slots first, so that what was not reached lies below all that was. The first slot that is covered.
    async fn run(&mut self) -> Result<u64, ApiError> {
        let mut requests = 0;
        while let Some((latest, root)) = self.next.pop() {
            if latest < self.from || self.seen.contains(&root) {
                continue;
            }
            // A known block costs no request, and leads to its parent all the same.
            let block = match self.known.get(&root) {
                Some(block) => *block,
                None if requests == REQUESTS => return Ok(latest + 1),
                None => {
                    requests += 1;
                    self.api.header(&root.to_string()).await?.seen()
                }
            };
            // Parents lie before their children, or the walk would not end.
            if block.slot > latest {
                continue;
            }
            self.took(block);
        }
        Ok(self.from)
    }
}
