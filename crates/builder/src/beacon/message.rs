//! What beacon nodes say, read leniently: numbers are in quotes, and keys that mean nothing here are many.

use super::sse::Event;
use crate::{
    machine::{Observation, Seen},
    root::Root,
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// A number, which nodes put into quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = match &value {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        number.map(Self).ok_or_else(|| D::Error::custom("not a number"))
    }
}

#[derive(Deserialize)]
struct BlockEvent {
    slot: Number,
    block: Root,
    #[serde(default)]
    execution_optimistic: bool,
}

#[derive(Deserialize)]
struct HeadEvent {
    slot: Number,
    block: Root,
}

#[derive(Deserialize)]
struct ReorgEvent {
    slot: Number,
    depth: Number,
}

#[derive(Deserialize)]
struct FinalizedEvent {
    epoch: Number,
}

/// What an event tells of node `node`; nothing where its name is unknown.
pub(super) fn observation(
    node: u8,
    event: &Event,
) -> Result<Option<Observation>, serde_json::Error> {
    let data = event.data.as_slice();
    Ok(Some(match event.name.as_slice() {
        b"block" => {
            let BlockEvent { slot, block, execution_optimistic } = serde_json::from_slice(data)?;
            let optimistic = execution_optimistic;
            Observation::Block {
                node,
                block: Seen { optimistic, ..Seen::new(slot.0, block, None) },
            }
        }
        b"head" => {
            let HeadEvent { slot, block } = serde_json::from_slice(data)?;
            Observation::Head { node, slot: slot.0, root: block }
        }
        b"chain_reorg" => {
            let ReorgEvent { slot, depth } = serde_json::from_slice(data)?;
            Observation::Reorg { node, slot: slot.0, depth: depth.0 }
        }
        b"finalized_checkpoint" => {
            let FinalizedEvent { epoch } = serde_json::from_slice(data)?;
            Observation::Finalized { node, epoch: epoch.0 }
        }
        _ => return Ok(None),
    }))
}

/// `data` of `/eth/v1/node/syncing`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Syncing {
    pub(super) head_slot: Number,
    pub(super) is_syncing: bool,
    #[serde(default)]
    pub(super) is_optimistic: bool,
    #[serde(default)]
    pub(super) el_offline: bool,
}

/// `/eth/v1/debug/fork_choice`, which stands in no `data`.
#[derive(Debug, Deserialize)]
pub(super) struct ForkChoice {
    pub(super) finalized_checkpoint: Checkpoint,
    pub(super) fork_choice_nodes: Vec<ForkChoiceNode>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) epoch: Number,
}

#[derive(Debug, Deserialize)]
pub(super) struct ForkChoiceNode {
    pub(super) slot: Number,
    pub(super) block_root: Root,
    #[serde(default)]
    pub(super) parent_root: Option<Root>,
    #[serde(default)]
    pub(super) validity: Option<String>,
}

/// An element of `data` of `/eth/v2/debug/beacon/heads`.
#[derive(Debug, Deserialize)]
pub(super) struct Leaf {
    pub(super) slot: Number,
    pub(super) root: Root,
}

/// `data` of `/eth/v1/beacon/headers/{id}`; `canonical` is not read, since clients disagree about it.
#[derive(Debug, Deserialize)]
pub(super) struct HeaderData {
    pub(super) root: Root,
    pub(super) header: SignedHeader,
}

#[derive(Debug, Deserialize)]
pub(super) struct SignedHeader {
    pub(super) message: HeaderMessage,
}

#[derive(Debug, Deserialize)]
pub(super) struct HeaderMessage {
    pub(super) slot: Number,
    pub(super) parent_root: Root,
}

impl HeaderData {
    pub(super) fn seen(&self) -> Seen {
        let HeaderMessage { slot, parent_root } = self.header.message;
        Seen::new(slot.0, self.root, Some(parent_root))
    }
}
