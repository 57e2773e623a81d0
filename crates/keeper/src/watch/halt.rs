//! What a tick, or a part of it, can end with.

use crate::{
    node::{explain, is_of_another_chain, is_turned_away},
    store::StoreError,
};
use alloy::transports::TransportError;

/// Why it did not come to its end.
#[derive(Debug)]
pub(super) enum Halt {
    /// The node does not answer, or contradicts itself, which is as good as no answer.
    Unanswered(String),
    /// The node answers with an error.
    Refused(String),
    /// It was not even asked, for reasons that were told.
    TurnedAway,
    /// The node is on another chain than the one that was read, for this reason.
    Foreign(String),
    /// Nothing could be stored. No node is to blame.
    Store(StoreError),
}

impl From<TransportError> for Halt {
    fn from(error: TransportError) -> Self {
        match explain(&error) {
            reason if is_of_another_chain(&error) => Self::Foreign(reason),
            _ if is_turned_away(&error) => Self::TurnedAway,
            reason if error.as_error_resp().is_some() => Self::Refused(reason),
            reason => Self::Unanswered(reason),
        }
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A block that the node must have and does not.
pub(super) fn missing(number: u64) -> Halt {
    Halt::Unanswered(format!("the node has no block {number} below its tip"))
}
