//! What says 0 before anything has happened: a series that begins with 1 has no increase.

use super::Metric;

/// What can contradict what, as the reader of blocks has it.
const CHECKS: [&str; 7] =
    ["filter", "bloom", "empty", "incomplete", "logs", "receipts_root", "withdrawn"];

/// What can be wrong with a chain, in the words of the watch.
const REASONS: [&str; 3] = ["store", "unreachable", "reorg"];

const BLOOMED: [&str; 3] = ["excluded", "possible", "likely"];
const KINDS: [&str; 4] = ["opened", "closed", "configured", "unknown"];
const PHASES: [&str; 3] = ["seen", "final", "retracted"];

/// Those of a chain and its nodes.
pub(crate) fn begin<'n>(chain: &str, nodes: impl IntoIterator<Item = &'n str>) {
    let chain = || chain.to_owned();
    for metric in [
        Metric::Reorgs,
        Metric::HeadHints,
        Metric::LateFacts,
        Metric::UnknownLogs,
        Metric::BackfillBlocks,
        Metric::BreakerDrift,
    ] {
        metrics::counter!(metric.name(), "chain" => chain()).increment(0);
    }
    for reason in REASONS {
        metrics::gauge!(Metric::ChainDegraded.name(), "chain" => chain(), "reason" => reason)
            .set(0.0);
    }
    for result in BLOOMED {
        metrics::counter!(Metric::BloomChecks.name(), "chain" => chain(), "result" => result)
            .increment(0);
    }
    for kind in KINDS {
        for phase in PHASES {
            metrics::counter!(Metric::Facts.name(), "chain" => chain(), "kind" => kind, "phase" => phase)
                .increment(0);
        }
    }
    for node in nodes {
        for check in CHECKS {
            let provider = node.to_owned();
            metrics::counter!(Metric::Inconsistent.name(), "chain" => chain(), "provider" => provider, "check" => check)
                .increment(0);
        }
    }
}

/// That of a stage.
pub(crate) fn begin_task(name: &'static str) {
    metrics::counter!(Metric::TaskRestarts.name(), "task" => name).increment(0);
}
