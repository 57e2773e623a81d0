//! What this crate promises, file by file. `step` against the contract's bytecode is a test of its own.

// A panic is the report, in a helper as in a test.
#![allow(clippy::unwrap_used)]

mod config;
mod layout;
mod outcome;
mod properties;
mod table;
