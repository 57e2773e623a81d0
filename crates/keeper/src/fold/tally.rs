//! What a transaction has taken in, counted once it is there to stay.

use super::fact::Fact;
use crate::{alert::Phase, metrics::Metric};
use std::collections::BTreeMap;

/// Events by their kind and what became of them.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<(&'static str, &'static str), u64>);

impl Tally {
    /// One more.
    pub(super) fn add(&mut self, fact: &Fact, phase: Phase) {
        *self.0.entry((fact.kind(), phase.name())).or_default() += 1;
    }

    /// Adds them to what is counted of a chain.
    pub(super) fn count(self, chain: &str) {
        for ((kind, phase), events) in self.0 {
            let chain = || chain.to_owned();
            metrics::counter!(Metric::Facts.name(), "chain" => chain(), "kind" => kind, "phase" => phase)
                .increment(events);
            if kind == "unknown" && phase != Phase::Retracted.name() {
                metrics::counter!(Metric::UnknownLogs.name(), "chain" => chain()).increment(events);
            }
        }
    }
}
