//! What the crate promises, tested from outside.

#![allow(clippy::unwrap_used)] // here a panic is the report

mod config;
mod near_misses;
mod payloads;
mod pool;
mod rules;
mod totality;
