//! `eth_getLogs`, as geth answers it.

use super::{Inner, block::to_json};
use crate::rpc::{Answer, RpcError};
use alloy::{
    eips::BlockNumberOrTag,
    rpc::types::{Filter, FilterBlockOption},
};
use std::sync::Arc;

/// A range that reaches beyond the head ends there, and one that lies beyond it is empty: geth finds nothing wrong.
pub(super) fn get(chain: &Inner, filter: &Filter) -> Answer {
    let blocks = match filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => {
            let block = chain.by_hash.get(&hash);
            vec![Arc::clone(block.ok_or_else(|| RpcError::new(-32000, "unknown block"))?)]
        }
        FilterBlockOption::Range { from_block, to_block } => {
            let from = chain.number(from_block.unwrap_or_default());
            let to = chain.number(to_block.unwrap_or_default());
            if from > to && from_block.is_some() && to_block.is_some() {
                return Err(RpcError::new(-32000, "invalid block range params"));
            }
            let to = to.min(chain.head().header().number);
            (from..=to).filter_map(|number| chain.at(number).cloned()).collect()
        }
    };
    let logs: Vec<_> = blocks
        .iter()
        .filter(|block| filter.matches_bloom(block.header().logs_bloom))
        .flat_map(|block| block.logs())
        .filter(|log| filter.matches(&log.inner))
        .collect();
    Ok(to_json(logs))
}

impl Inner {
    /// Which number a tag stands for at present.
    pub(super) fn number(&self, tag: BlockNumberOrTag) -> u64 {
        let head = self.head().header().number;
        match tag {
            BlockNumberOrTag::Number(number) => number,
            BlockNumberOrTag::Earliest => 0,
            BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => head,
            BlockNumberOrTag::Safe | BlockNumberOrTag::Finalized => {
                head.saturating_sub(self.finality)
            }
        }
    }
}
