//! The names of all metrics: a name is written once, so that a dashboard cannot miss a typing error.

/// The newest block that the followed node has shown. By chain.
pub(crate) const CHAIN_HEAD: &str = "keeper_chain_head_block";
/// All up to this block is told. By chain.
pub(crate) const CHAIN_SEEN: &str = "keeper_chain_seen_block";
/// All up to this block is told and will not leave. By chain.
pub(crate) const CHAIN_FINAL: &str = "keeper_chain_final_block";
/// Seconds since the head moved. By chain.
pub(crate) const CHAIN_HEAD_AGE: &str = "keeper_chain_head_age_seconds";
/// 1 while something is wrong with a chain. By chain and reason.
pub(crate) const CHAIN_DEGRADED: &str = "keeper_chain_degraded";
/// Blocks left the chain. By chain.
pub(crate) const REORGS: &str = "keeper_reorgs_total";
/// How many at a time. By chain.
pub(crate) const REORG_DEPTH: &str = "keeper_reorg_depth_blocks";
/// Notifications of new heads that woke the watch. By chain.
pub(crate) const HEAD_HINTS: &str = "keeper_head_hints_total";
/// Logs that were missing when their block was first read. By chain.
pub(crate) const LATE_FACTS: &str = "keeper_late_facts_total";
/// Answers that contradict something. By chain, provider and check.
pub(crate) const INCONSISTENT: &str = "keeper_inconsistent_answers_total";
/// Headers whose bloom was asked for breakers. By chain and result.
pub(crate) const BLOOM_CHECKS: &str = "keeper_bloom_checks_total";
/// Blocks of history that were read in ranges. By chain.
pub(crate) const BACKFILL_BLOCKS: &str = "keeper_backfill_blocks_total";
/// Blocks in the next range of history. By chain.
pub(crate) const RANGE_BLOCKS: &str = "keeper_range_blocks";
/// Rows of the outbox. By channel and status.
pub(crate) const OUTBOX_ROWS: &str = "keeper_outbox_rows";
/// Seconds since the oldest row that waits was put there; 0 for none. By channel.
pub(crate) const OUTBOX_OLDEST: &str = "keeper_outbox_oldest_seconds";
/// Attempts to send. By channel and result.
pub(crate) const ALERTS: &str = "keeper_alerts_total";
/// Seconds from the outbox to the receiver. By channel.
pub(crate) const ALERT_LATENCY: &str = "keeper_alert_latency_seconds";
/// 1 while nothing is sent to a channel. By channel.
pub(crate) const CHANNEL_DISABLED: &str = "keeper_channel_disabled";
