//! The binary as its users meet it: run it, compare what it prints and how it ends. On real anvils.
//!
//! These tests need anvil: `make setup` installs it; without it they fail and say so.

#![allow(clippy::unwrap_used)] // here a panic is the report

mod builder;
mod builder_status;
mod check;
mod config;
mod crash;
mod daemon;
mod help;
mod legacy;
mod metrics;
mod nodes;
mod ready;
mod refusals;
mod replay;
mod rpc;
mod run;
mod sidecar;
mod simulate;
mod status;
mod stored;
mod support;
mod watch_cases;
mod watch_store;
