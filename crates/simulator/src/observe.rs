//! What watches a run: whoever drives the simulation lends it the code that watches a real chain.

use crate::engine::Sealed;
use alloy::primitives::{Address, B256};
use fusebox_bindings::Cause;

/// Watches the chain of a run.
pub trait Observer {
    /// The transitions in a block that has just been made, in order.
    fn observe(
        &mut self,
        block: &Sealed,
    ) -> impl Future<Output = Result<Vec<Observed>, ObserverError>> + Send;
}

/// A transition, as the observer read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The contract that emitted it.
    pub contract: Address,
    /// The breaker: its storage slot.
    pub breaker: B256,
    /// What happened.
    pub transition: ObservedTransition,
}

/// What happened to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedTransition {
    /// It opened.
    Opened {
        /// Unix seconds at which it becomes half-open.
        retry_at: u64,
        /// Why.
        cause: Cause,
    },
    /// It closed.
    Closed,
}

/// The observer cannot say what happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chain could not be watched: {reason}")]
pub struct ObserverError {
    /// What went wrong, for a person.
    pub reason: String,
}
