//! The breaker and the pool beside their peers.
//!
//! `make conformance` plays the scenarios of [`rows`] on each crate of [`subjects`], times a closed and an open breaker
//! of each in the same run ([`speed`]), prints both tables and writes them as a page. `make bench` measures the whole
//! grid with criterion. `make bench-rpc` plays outages on nodes that misbehave, in front of them the pool and what alloy
//! has ([`rpc`]), and writes another page; `make soak-rpc` is ten minutes of random faults in front of the pool alone
//! ([`soak`]). `make bench-keeper` and `make soak` do the same with a [`keeper`].
//!
//! Out of the workspace's default members: whoever builds Fusebox does not build its peers.

pub mod about;
pub mod call;
pub mod clock;
pub mod keeper;
pub mod page;
pub mod rows;
pub mod rpc;
pub mod soak;
pub mod speed;
pub mod subjects;
pub mod tasks;
