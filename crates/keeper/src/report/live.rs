//! What only a running keeper knows.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// All chains of a process at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    pub(crate) chains: Vec<LiveChain>,
    pub(crate) providers: Vec<LiveProvider>,
    /// What the sidecar says of itself.
    pub(crate) builder: Option<Value>,
}

/// How a chain is watched.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LiveChain {
    #[serde(skip)]
    pub(crate) chain: u64,
    /// The newest block that the followed node has shown.
    pub(crate) head: Option<u64>,
    /// How long the head has been the same.
    pub(crate) head_age_seconds: Option<u64>,
    /// Blocks between the head and what is told.
    pub(crate) behind: Option<u64>,
    pub(crate) identified: bool,
    /// What is wrong, by a word.
    pub(crate) degraded: BTreeMap<String, String>,
    /// Nothing more is believed of any node, for this reason.
    pub(crate) halted: Option<String>,
    /// The node that is followed.
    pub(crate) followed: Option<String>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LiveProvider {
    pub(crate) chain: String,
    pub(crate) provider: String,
    /// `ok`, or what is wrong with it.
    pub(crate) state: String,
    pub(crate) head: Option<u64>,
    pub(crate) lag: u64,
}
