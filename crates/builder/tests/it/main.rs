//! Tests of the builder breaker.

#![allow(clippy::unwrap_used)] // here a panic is the report

#[cfg(feature = "net")]
mod beacon;
mod cases;
mod clock;
mod dependencies;
mod events;
mod history;
mod input;
mod machine;
mod policies;
mod properties;
mod script;
#[cfg(feature = "net")]
mod sidecar;
mod simulate;
mod tally;
