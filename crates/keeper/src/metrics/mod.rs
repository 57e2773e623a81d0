//! The names of all metrics: a name is written once, so that a dashboard cannot miss a typing error, and the documentation
//! is held against them.

mod zero;

pub(crate) use zero::{begin, begin_task};

macro_rules! metrics {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// What is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Metric {
            $($(#[$doc])+ $variant,)+
        }

        impl Metric {
            /// All of them.
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$variant,)+];

            /// As Prometheus has it.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("keeper_", $name),)+
                }
            }
        }
    };
}

metrics! {
    /// 1, for whoever asks which version runs. By version.
    BuildInfo = "build_info",
    /// The newest block that the followed node has shown. By chain.
    ChainHead = "chain_head_block",
    /// All up to this block is told. By chain.
    ChainSeen = "chain_seen_block",
    /// All up to this block is told and will not leave. By chain.
    ChainFinal = "chain_final_block",
    /// How long the head has been the same. By chain.
    ChainHeadAge = "chain_head_age_seconds",
    /// 1 while something is wrong with a chain. By chain, reason.
    ChainDegraded = "chain_degraded",
    /// Blocks left the chain. By chain.
    Reorgs = "reorgs_total",
    /// How many at a time. By chain.
    ReorgDepth = "reorg_depth_blocks",
    /// Notifications of new heads that woke the watch. By chain.
    HeadHints = "head_hints_total",
    /// Events that were taken in, became final, or left. By chain, kind, phase.
    Facts = "facts_total",
    /// Logs that were missing when their block was first read. By chain.
    LateFacts = "late_facts_total",
    /// Logs with a breaker's topic and not its shape. By chain.
    UnknownLogs = "unknown_logs_total",
    /// Answers that contradict something. By chain, provider, check.
    Inconsistent = "inconsistent_answers_total",
    /// Headers whose bloom was asked for breakers. By chain, result.
    BloomChecks = "bloom_checks_total",
    /// Blocks of history that were read in ranges. By chain.
    BackfillBlocks = "backfill_blocks_total",
    /// Blocks in the next range of history. By chain, provider.
    RangeBlocks = "range_blocks",
    /// Breakers in a state. By chain, state.
    Breakers = "breakers",
    /// Of each listed breaker, while there are at most 1,000: 0 closed, 1 half-open, 2 open, -1 unknown. By chain, key, label.
    BreakerState = "breaker_state",
    /// Storage contradicted the events of a breaker. By chain.
    BreakerDrift = "breaker_drift_total",
    /// 1 while the builder's sidecar answers.
    BuilderAnswers = "builder_answers",
    /// 1 while blocks are built locally, as the sidecar last said.
    BuilderOpen = "builder_open",
    /// The missed run before the last slot it decided about.
    BuilderMissedSlots = "builder_missed_slots",
    /// Rows of the outbox. By channel, status.
    OutboxRows = "outbox_rows",
    /// How long the oldest row has waited; 0 for none. By channel.
    OutboxOldest = "outbox_oldest_seconds",
    /// Attempts to send. By channel, result.
    Alerts = "alerts_total",
    /// From the outbox to the receiver. By channel.
    AlertLatency = "alert_latency_seconds",
    /// 1 while nothing is sent to a channel. By channel.
    ChannelDisabled = "channel_disabled",
    /// How long a batch takes to be stored.
    StoreCommit = "store_commit_seconds",
    /// The database on disk.
    StoreBytes = "store_bytes",
    /// Stages that ended and were started again. By task.
    TaskRestarts = "task_restarts_total",
}

#[cfg(test)]
mod tests {
    use super::Metric;
    use std::collections::BTreeSet;

    #[test]
    fn the_documentation_names_each_metric_and_no_other() {
        let page = include_str!("../../../../docs/operations/keeper.md");
        let (_, table) = page.split_once("| metric | labels | meaning |").unwrap();
        let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
        let told: BTreeSet<&str> = rows.map(|row| row.split_once('`').unwrap().0).collect();
        let measured: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(told, measured);
        assert_eq!(measured.len(), Metric::ALL.len(), "each name once");
    }
}
