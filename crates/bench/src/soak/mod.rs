//! Ten minutes of random faults in front of the pool, and what must be left of them: nothing.
//!
//! The nodes are another process, so that the memory that is measured is the pool's and its callers', and not that of
//! nodes, which keep a record of every call.

pub mod faults;
pub mod memory;
pub mod tally;
pub mod traffic;
