//! What the crate promises, tested from outside.

mod config;
mod near_misses;
mod payloads;
mod rules;
mod totality;
