//! What the machine has to say.

use super::Action;
use crate::{
    breaker::{Cause, Decision, state_name},
    root::Root,
};
use fusebox_breaker::State;
use serde::{Serialize, Serializer};

/// Why a breaker went to another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A decision.
    Decided(Cause),
    /// The process was restarted.
    Restart,
    /// An admin.
    Admin(Action),
    /// An admin's override was for a limited time.
    Expired,
}

impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Decided(cause) => cause.name(),
            Self::Restart => "restart",
            Self::Admin(action) => action.name(),
            Self::Expired => "expired",
        })
    }
}

/// A change of state, or of what an admin holds it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// Its number, from 1.
    pub seq: u64,
    /// Milliseconds since genesis.
    pub ms: i64,
    /// The slot that was decided, or ran.
    pub slot: u64,
    /// The state before.
    #[serde(serialize_with = "state_name")]
    pub from: State,
    /// The state after.
    #[serde(serialize_with = "state_name")]
    pub to: State,
    /// Why.
    pub cause: Why,
    /// The number that tripped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// What it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What the machine has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The answer to a header request.
    Answer(Decision),
    /// The slot's own decision, which nobody asked for.
    Tick(Decision),
    /// A change.
    Transition(Transition),
    /// A block came after its slot was found missed, and after a trip: it changes nothing.
    Late {
        /// Its slot.
        slot: u64,
        /// Its root.
        root: Root,
    },
}

/// What was dropped or ignored, to be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Blocks after a trip for slots found missed before.
    pub late_blocks: u64,
    /// Ninth blocks of a slot.
    pub blocks_dropped: u64,
    /// Blocks of slots too old or too far ahead to keep.
    pub blocks_out_of_reach: u64,
    /// Requests for a slot that is not the current one or its neighbour.
    pub requests_out_of_reach: u64,
}
