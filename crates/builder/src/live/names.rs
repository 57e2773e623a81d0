//! The names of all metrics: a name is written once, so that a dashboard cannot miss a typing error.

/// 1 while it refuses by its own state.
pub(crate) const OPEN: &str = "keeper_builder_open";
/// 1 for the state it is in. By state.
pub(crate) const STATE: &str = "keeper_builder_state";
/// The missed run before the current slot.
pub(crate) const MISSED_SLOTS: &str = "keeper_builder_missed_slots";
/// Missed slots among the last epoch's number of them.
pub(crate) const WINDOW_MISSED: &str = "keeper_builder_window_missed";
/// Slots among the last 64 of which nothing is known.
pub(crate) const UNKNOWN_SLOTS: &str = "keeper_builder_unknown_slots";
/// Slots as they were when the next one was decided. By status and view.
pub(crate) const SLOTS: &str = "keeper_builder_slots_total";
/// Answers. By answer and cause.
pub(crate) const DECISIONS: &str = "keeper_builder_decisions_total";
/// Trips. By cause.
pub(crate) const TRIPS: &str = "keeper_builder_trips_total";
/// Blocks that came after a trip for slots found missed.
pub(crate) const LATE_BLOCKS: &str = "keeper_builder_late_blocks_total";
/// 1 while an admin holds it, to this. By override.
pub(crate) const OVERRIDE: &str = "keeper_builder_override";
/// What went on to the upstream. By endpoint and code; `error` and `timeout` where none came.
pub(crate) const UPSTREAM_REQUESTS: &str = "keeper_builder_upstream_requests_total";
/// Seconds until the upstream's answer began. By endpoint.
pub(crate) const UPSTREAM_SECONDS: &str = "keeper_builder_upstream_seconds";
/// Seconds that a request spends in the sidecar before it goes on, or is answered. By endpoint.
pub(crate) const OVERHEAD_SECONDS: &str = "keeper_builder_overhead_seconds";
/// Streams of nodes that ended. By node and reason.
pub(crate) const STREAM_RESTARTS: &str = "keeper_builder_stream_restarts_total";
/// Times that a node was asked for what its stream did not say. By node and result.
pub(crate) const RECONCILES: &str = "keeper_builder_reconciles_total";
/// Signed blocks that passed while it was open.
pub(crate) const SUBMIT_WHILE_OPEN: &str = "keeper_builder_submit_while_open_total";
