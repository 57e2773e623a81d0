//! What the crate promises, tested from outside.

mod payloads;
