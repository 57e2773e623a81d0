//! How one chain is to be watched.

use crate::config::{ChainSettings, Confirmations, Verify};
use std::time::Duration;

/// Confirmations that stand in for a tag that a node does not have: two epochs of Ethereum.
const FALLBACK: u64 = 64;

/// Blocks below final that are searched for where a reorg began: 51 minutes of Ethereum.
const REORG_WINDOW: u64 = 256;

/// Blocks travel: a node this far behind is as good as any.
const MAX_LAG: u64 = 3;

/// How one chain is to be watched. Which contracts, the store says.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What the chain is called.
    pub(crate) name: String,
    /// How often the tip is asked for; `None`: as the blocks come.
    pub(crate) poll: Option<Duration>,
    /// What counts as final.
    pub(crate) confirmations: Confirmations,
    /// So many blocks below the tip, while the tag is not to be had.
    pub(crate) confirmations_fallback: u64,
    /// How far below final a reorg is followed, where final is a number of confirmations.
    pub(crate) reorg_window: u64,
    /// A followed node that is further behind is left.
    pub(crate) max_lag: u64,
    /// How a block with a hit is checked to be complete.
    pub(crate) verify: Verify,
    /// The last block that is read, where the past is; else the tip is followed.
    pub(crate) until: Option<u64>,
}

impl Plan {
    /// As the command line alone has it: polled quickly, since somebody looks on.
    pub(crate) fn quick(name: String) -> Self {
        Self {
            name,
            poll: Some(Duration::from_millis(500)),
            confirmations: Confirmations::Finalized,
            confirmations_fallback: FALLBACK,
            reorg_window: REORG_WINDOW,
            max_lag: MAX_LAG,
            verify: Verify::Auto,
            until: None,
        }
    }

    /// As the file has it.
    pub(crate) fn of(settings: &ChainSettings) -> Self {
        Self {
            name: settings.name.clone(),
            poll: settings.poll,
            confirmations: settings.confirmations,
            confirmations_fallback: settings.confirmations_fallback,
            reorg_window: settings.reorg_window,
            max_lag: settings.max_lag,
            verify: settings.verify,
            until: None,
        }
    }
}
