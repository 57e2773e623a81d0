#![doc = include_str!("../README.md")]

mod abi;
mod config;
mod outcome;
mod probe;
mod step;
mod word;

// As forge writes it: the staleness check compares text, so rustfmt keeps out, and so do the lints that text decides.
#[rustfmt::skip]
#[allow(missing_docs, missing_debug_implementations, unreachable_pub)]
mod contracts;

pub use word::{
    Fields, LATCH, NEVER, NotConfigured, ONCE_PER_BLOCK, PROBE_ONLY, RECORD_CALLS, State, Word,
};

pub use config::{Config, ConfigError, configure};

pub use outcome::{Cause, Outcome, UnknownOutcome};

pub use probe::ProbeRevert;

pub use step::{Event, TRIP_AT_ONCE, Transition, step};

pub use contracts::{
    circuit_breaker::CircuitBreaker, fault_tolerant_proxy::FaultTolerantProxy,
    guarded_call::GuardedCall, i_circuit_breaker::ICircuitBreaker, moody::Moody,
    resilient::Resilient, resilient_feed::ResilientFeed, stoic::Stoic,
};

/// What a breaker tells the world. The library `CircuitBreaker` declares them, every host emits them.
///
/// `breaker` is the id: the storage slot of the breaker's [`Word`] in the emitting contract. Half-open is time
/// passing and has no event.
pub mod events {
    pub use crate::contracts::circuit_breaker::CircuitBreaker::{Closed, Configured, Opened};
}
