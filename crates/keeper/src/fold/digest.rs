//! History in one message: what of it is not over.

use super::{
    breakers::{Breaker, Slot},
    ledger::Ledger,
    state::column,
    tell::block_document,
};
use crate::{
    alert::{About, AlertType, Message, MessageId, Phase, breaker_key},
    output::count,
    watch::Block,
};
use serde_json::{Value, json};

/// How many breakers it names; the others it counts.
const NAMED: usize = 50;

impl Ledger {
    /// The breakers that are open or half-open at the end of the history of so many contracts.
    pub(super) fn digest(&self, end: Block, contracts: usize, open: &[(Slot, Breaker)]) -> Message {
        let kind = AlertType::KeeperDigest;
        let named = open.iter().take(NAMED).map(|((contract, slot), breaker)| {
            json!({
                "key": breaker_key(&self.chain.name, *contract, *slot),
                "label": breaker.label,
                "state": column(breaker.state),
                "retry_at": breaker.fold.due(),
                "since": breaker.fold.since.map(|(_, time)| time),
            })
        });
        let data = json!({
            "v": 1,
            "phase": Phase::Seen.name(),
            "chain": self.chain.name,
            "block": block_document(end),
            "severity": kind.severity().name(),
            "summary": format!(
                "the history of {} up to block {} is read: {} not closed",
                count(contracts, "contract"),
                end.number,
                count(open.len(), "breaker"),
            ),
            "not_closed": open.len(),
            "breakers": named.collect::<Value>(),
        });
        Message {
            id: MessageId::of_cause(
                kind,
                &format!("{}:{}:{}:{contracts}", self.chain.id, self.genesis, end.hash),
            ),
            key: self.chain.name.clone(),
            about: About {
                chain: Some(self.chain.name.clone()),
                label: None,
                kind,
                phase: Phase::Seen,
                severity: kind.severity(),
            },
            fact: None,
            note: Some(format!("digest:{}", end.number)),
            data,
            at: end.time,
        }
    }
}
