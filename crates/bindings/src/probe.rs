//! Why a probe could not be made.
//!
//! Whatever the primary does is an outcome, so a probe reverts for five reasons only, and who sends probes has to tell
//! them apart: one says to send more gas, the others that trying again is of no use.

use crate::contracts::{
    circuit_breaker::CircuitBreaker, guarded_call::GuardedCall, i_circuit_breaker::ICircuitBreaker,
};
use alloy::{
    primitives::{B256, U256},
    sol_types::{SolError, SolInterface},
};

/// What `probe` of a host reverted with. The names are those of the contracts' custom errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeRevert {
    /// The primary could not be given its budget. Send more gas: nothing was recorded.
    #[error("{available} gas left where {needed} are needed")]
    InsufficientGas {
        /// What must be left at the call of the primary.
        needed: U256,
        /// What was left there.
        available: U256,
    },
    /// The host has no breaker of this id.
    #[error("no breaker {0}")]
    UnknownBreaker(B256),
    /// The breaker was never given a configuration.
    #[error("breaker not configured")]
    NotConfigured,
    /// The probe came from within an attempt of the same host.
    #[error("probed from within an attempt")]
    Reentered,
    /// What the host probes is not decorated, so nothing could be blamed on a primary.
    #[error("the probed function is not decorated")]
    NotDecorated,
}

impl ProbeRevert {
    /// Reads revert data. `None` where it is of no kind that a probe may revert with: then the host is not what it
    /// says to be.
    pub fn decode(data: &[u8]) -> Option<Self> {
        use ICircuitBreaker::ICircuitBreakerErrors as Host;
        if let Ok(error) = GuardedCall::InsufficientGas::abi_decode(data) {
            let GuardedCall::InsufficientGas { needed, available } = error;
            return Some(Self::InsufficientGas { needed, available });
        }
        if CircuitBreaker::BreakerNotConfigured::abi_decode(data).is_ok() {
            return Some(Self::NotConfigured);
        }
        match Host::abi_decode(data).ok()? {
            Host::UnknownBreaker(error) => Some(Self::UnknownBreaker(error.breaker)),
            Host::Reentered(_) => Some(Self::Reentered),
            Host::NotDecorated(_) => Some(Self::NotDecorated),
            Host::NoBackup(_) => None,
        }
    }
}
