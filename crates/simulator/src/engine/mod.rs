//! What executes a plan: a chain that makes a block when told to.

mod anvil;
mod find;

pub use anvil::AnvilEngine;
pub use find::{AnvilNotFound, find_anvil};

use alloy::primitives::{Address, B256, Bytes, U256};

/// The timestamp of time 0 of every scenario, in unix seconds: 2023-11-14T22:13:20Z, a round number.
pub const START: u64 = 1_700_000_000;

/// A chain under control. Transactions are executed in the order they were submitted, in the next block.
pub trait Engine {
    /// Deploys a contract in a block of its own, at the current time.
    fn deploy(
        &mut self,
        creation: Bytes,
    ) -> impl Future<Output = Result<Address, EngineError>> + Send;

    /// Adds a transaction to the next block.
    fn submit(
        &mut self,
        to: Address,
        input: Bytes,
        gas: u64,
    ) -> impl Future<Output = Result<(), EngineError>> + Send;

    /// Makes the block.
    ///
    /// `timestamp` is in unix seconds and not before that of the last block.
    fn seal(&mut self, timestamp: u64) -> impl Future<Output = Result<Sealed, EngineError>> + Send;

    /// A storage slot, as of the last block.
    fn storage(
        &self,
        address: Address,
        slot: B256,
    ) -> impl Future<Output = Result<U256, EngineError>> + Send;
}

/// A block that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// What came of its transactions, in order.
    pub results: Vec<CallResult>,
}

/// What came of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Whether it did not revert.
    pub ok: bool,
    /// The gas it used, intrinsic gas included.
    pub gas_used: u64,
    /// What it returned, or its revert data.
    pub output: Bytes,
}

/// The engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is no anvil to start.
    #[error(transparent)]
    NotFound(#[from] AnvilNotFound),
    /// anvil was there and did not start.
    #[error("anvil did not start: {0}")]
    Start(#[from] alloy::node_bindings::NodeError),
    /// anvil started without an account to send from.
    #[error("anvil has no account to send from")]
    NoAccount,
    /// There can be no HTTP client, as where no CA certificates are installed.
    #[error("no HTTP client: {0}")]
    Client(#[from] alloy::transports::http::reqwest::Error),
    /// anvil did not answer, or answered with an error.
    #[error("anvil failed at {method}: {source}")]
    Rpc {
        /// The method that was called.
        method: &'static str,
        /// What came of it.
        source: alloy::transports::TransportError,
    },
    /// A contract was not created.
    #[error("a contract could not be deployed: {0}")]
    NotDeployed(Bytes),
    /// The block does not hold what was submitted.
    #[error("block {number} holds {found} transactions instead of {submitted}")]
    Incomplete {
        /// The block.
        number: u64,
        /// The transactions it holds.
        found: usize,
        /// The transactions that were submitted for it.
        submitted: usize,
    },
}
