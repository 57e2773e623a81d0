//! What `/status` says. No URL is in it: a node's or relay's URL may hold a key.

use super::{Live, index};
use serde::Serialize;
use serde_json::{Value, json};

/// A node, as it is shown.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NodeStatus {
    /// The name under which it is shown.
    pub name: String,
    /// Its stream of events is open.
    pub connected: bool,
    /// It is on another chain, and never asked again before it is back on ours.
    pub excluded: bool,
    /// The slot of its head, as it last said.
    pub head_slot: Option<u64>,
    /// Events of its stream that were no events.
    pub bad_events: u64,
    /// What last went wrong with it.
    pub error: Option<String>,
}

impl NodeStatus {
    pub(super) fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// The upstream, as it is shown.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct UpstreamStatus {
    pub(crate) endpoint: &'static str,
    /// Its code, or why there is none.
    pub(crate) answer: UpstreamAnswer,
    pub(crate) unix_ms: i64,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum UpstreamAnswer {
    Code(u16),
    Failed(&'static str),
}

impl Live {
    /// The document of `/status`.
    #[must_use]
    pub fn status(&self) -> Value {
        let inner = self.lock();
        let machine = inner.running.as_ref().map(|running| &running.machine);
        let nodes: Vec<Value> = inner
            .nodes
            .iter()
            .enumerate()
            .map(|(number, node)| {
                let mut value = json!(node);
                value["eligible"] =
                    machine.is_some_and(|machine| machine.is_fit(index(number))).into();
                value["gate"] = json!(machine.and_then(|machine| machine.node_gate(index(number))));
                value
            })
            .collect();
        let trip = machine.and_then(|machine| machine.breaker().latch().trip());
        let late: Vec<Value> = machine
            .into_iter()
            .flat_map(|machine| machine.late_blocks())
            .map(|(slot, root)| json!({ "slot": slot, "root": root }))
            .collect();
        json!({
            "instance": self.process.instance,
            "started_ms": self.process.started_ms,
            "genesis": inner.running.as_ref().map(|running| running.network.genesis),
            "policy": self.options.policy.to_string(),
            "state": machine.map_or("closed".to_owned(), |machine| machine.breaker().latch().state().to_string()),
            "slot": machine.map(crate::Machine::now),
            "decision": inner.last,
            "trip": trip.map(|trip| json!({
                "slot": trip.slot, "cause": trip.finding.cause, "value": trip.finding.value, "limit": trip.finding.limit,
            })),
            "override": machine.map_or(inner.early.map(|(force, _)| force), |machine| machine.breaker().forced()),
            "late_blocks": late,
            "counts": machine.map(crate::Machine::counts),
            "nodes": nodes,
            "upstream": inner.upstream,
            "transitions": inner.transitions,
        })
    }

    pub(crate) fn upstream(&self, endpoint: &'static str, answer: UpstreamAnswer) {
        let unix_ms = self.clock.unix_ms();
        self.lock().upstream = Some(UpstreamStatus { endpoint, answer, unix_ms });
    }
}
