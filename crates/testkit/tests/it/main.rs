//! Every fault, met by a plain client: in front of a scripted chain, and where it forwards, of a real anvil.
//!
//! Some need anvil: `make setup` installs it; without it they fail and say so.

#![allow(clippy::unwrap_used)] // here a panic is the report

mod answers;
mod anvil;
mod block_builder;
mod chain;
mod doors;
mod limits;
mod matching;
mod pool;
mod sink;
mod subscriptions;
mod support;
mod time;
mod views;
mod websocket;
