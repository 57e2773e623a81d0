//! What a breaker is told: one event a line in a log, the same ones live.

use crate::{
    breaker::Override,
    clock::{SlotClock, SlotsPerEpoch},
    policy::{OnUnknown, Start},
    root::Root,
};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// How many beacon nodes can be watched: as many as a slot has bits for who has seen it.
pub const MAX_NODES: u8 = 8;

/// The network, and what stands beside the policy: the first event of a log, and the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Milliseconds of a slot.
    pub slot_ms: NonZeroU64,
    /// Slots of an epoch.
    pub slots_per_epoch: SlotsPerEpoch,
    /// What the slots before count as.
    #[serde(default)]
    pub start: Start,
    /// The answer where nothing is known.
    #[serde(default)]
    pub on_unknown: OnUnknown,
    /// Whether node 0 is up at the start, with all its blocks known until then. So it is in a log that somebody writes. The
    /// watcher relies on no node before it was asked, and its record says so.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub trusts: bool,
    /// The epoch from which on a missing payload is the fault, and not a missing block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gloas_epoch: Option<u64>,
}

impl Spec {
    /// The clock of the network.
    #[must_use]
    pub fn clock(&self) -> SlotClock {
        SlotClock { slot_ms: self.slot_ms, slots_per_epoch: self.slots_per_epoch }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Observation {
    /// The network and the start.
    Spec(Spec),
    /// A node has imported a block.
    Block {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The block.
        #[serde(flatten)]
        block: Seen,
    },
    /// A node has imported the payload of a block; from Gloas on.
    Payload {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The block's slot.
        slot: u64,
        /// The block's root.
        root: Root,
    },
    /// A node has another head.
    Head {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The head's slot.
        slot: u64,
        /// The head's root.
        root: Root,
    },
    /// A node has finalized an epoch.
    Finalized {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The epoch.
        epoch: u64,
    },
    /// A node's head moved to another branch.
    Reorg {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The new head's slot.
        slot: u64,
        /// How many slots the old branch lost.
        depth: u64,
    },
    /// A node's stream of events has begun or ended. One that has begun is not relied on before its `Snapshot`. Whoever
    /// finds that the clock jumped, or that it could not keep up, says that all streams have ended.
    Stream {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// Whether it is up.
        up: bool,
    },
    /// A node was asked for all blocks since `from`, after its stream began.
    Snapshot {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The first slot that it covers.
        from: u64,
        /// Its blocks.
        blocks: Vec<Seen>,
        /// Whether orphans are among them. Else a slot without a block is not known to be missed.
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        whole_tree: bool,
    },
    /// A node's own account of itself, polled each slot.
    Sync {
        /// Which node.
        #[serde(default)]
        node: u8,
        /// The slot of its head.
        head_slot: u64,
        /// It is catching up.
        #[serde(default)]
        is_syncing: bool,
        /// Its head's payload is not verified.
        #[serde(default)]
        is_optimistic: bool,
        /// Its execution client is gone.
        #[serde(default)]
        el_offline: bool,
    },
    /// A block is asked for: decide.
    Header {
        /// The slot being proposed.
        slot: u64,
    },
    /// An admin acts.
    Admin {
        /// How.
        action: Action,
        /// For how long an override holds, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<u64>,
    },
    /// The process was restarted.
    Restart,
}

/// A block as a node tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its slot.
    pub slot: u64,
    /// Its root.
    pub root: Root,
    /// The block it builds on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Root>,
    /// Its payload is not verified.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optimistic: bool,
    /// The node calls it invalid.
    #[serde(default, skip_serializing_if = "is_false")]
    pub invalid: bool,
    /// Whether it took the bid of an external builder; from Gloas on, where the bid was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<bool>,
}

impl Seen {
    /// A valid block.
    #[must_use]
    pub fn new(slot: u64, root: Root, parent: Option<Root>) -> Self {
        Self { slot, root, parent, optimistic: false, invalid: false, external: None }
    }
}

/// What an admin can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Closes it, with a tally of 0, as a restart does.
    Reset,
    /// Refuses everything.
    ForceOpen,
    /// Forwards everything.
    ForceClosed,
    /// Lets go of either.
    Clear,
}

impl Action {
    /// Its name in JSON, in paths and in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::ForceOpen => "force-open",
            Self::ForceClosed => "force-closed",
            Self::Clear => "clear",
        }
    }

    pub(crate) fn force(self) -> Option<Override> {
        match self {
            Self::ForceOpen => Some(Override::ForceOpen),
            Self::ForceClosed => Some(Override::ForceClosed),
            Self::Reset | Self::Clear => None,
        }
    }
}

fn yes() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}
