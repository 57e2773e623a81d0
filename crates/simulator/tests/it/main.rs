//! Scenarios on a real anvil, watched by the plainest observer there is.
//!
//! These tests need anvil: `make setup` installs it; without it they fail and say so.

#![allow(clippy::unwrap_used)] // here a panic is the report

// As forge writes it.
#[rustfmt::skip]
#[allow(missing_debug_implementations, unreachable_pub, dead_code)]
mod contracts;
mod estimates;
mod outage_and_recovery;
mod support;
