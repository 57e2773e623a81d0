//! What this crate promises, file by file.

// A panic is the report, in a helper as in a test.
#![allow(clippy::unwrap_used)]

mod config;
// As forge writes it.
#[rustfmt::skip]
#[allow(missing_debug_implementations, unreachable_pub, dead_code)]
mod contracts;
mod differential;
mod layout;
mod outcome;
mod probe;
mod properties;
mod strategies;
mod table;
