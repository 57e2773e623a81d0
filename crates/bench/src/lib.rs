//! The breaker beside its peers.
//!
//! `make conformance` plays the scenarios of [`rows`] on each crate of [`subjects`], times a closed and an open breaker
//! of each in the same run ([`speed`]), prints both tables and writes them as a page. `make bench` measures the whole
//! grid with criterion.
//!
//! Out of the workspace's default members: whoever builds Fusebox does not build its peers.

pub mod call;
pub mod clock;
pub mod rows;
pub mod speed;
pub mod subjects;
