//! What the crate promises, tested from outside.

mod config;
mod near_misses;
mod payloads;
mod pool;
mod rules;
mod totality;
