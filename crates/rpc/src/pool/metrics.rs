//! What a pool counts, through the `metrics` facade: without a recorder it costs next to nothing.
//!
//! Labels are chain, provider *name*, transport, class and category, as far as they apply; never a URL, never a method a
//! caller can invent. Lost events have a chain only: with them it is lost whose they were.

use std::sync::Arc;
use std::time::Duration;

use fusebox_breaker::{EventKind, State};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use super::target::Target;
use crate::endpoint::BreakerKey;
use crate::method::MethodClass;
use crate::verdict::Category;

/// The names, so that each is spelled once.
mod name {
    pub(super) const REQUESTS: &str = "fusebox_rpc_requests_total";
    pub(super) const SECONDS: &str = "fusebox_rpc_request_seconds";
    pub(super) const BREAKER_STATE: &str = "fusebox_rpc_breaker_state";
    pub(super) const TRANSITIONS: &str = "fusebox_rpc_breaker_transitions_total";
    pub(super) const THROTTLED: &str = "fusebox_rpc_throttled_until_seconds";
    pub(super) const HEAD: &str = "fusebox_rpc_head_block";
    pub(super) const LAG: &str = "fusebox_rpc_head_lag_blocks";
    pub(super) const REGRESSIONS: &str = "fusebox_rpc_head_regressions_total";
    pub(super) const FAILOVERS: &str = "fusebox_rpc_failovers_total";
    pub(super) const HEDGES: &str = "fusebox_rpc_hedges_total";
    pub(super) const LAST_RESORT: &str = "fusebox_rpc_last_resort_total";
    pub(super) const STALE: &str = "fusebox_rpc_stale_results_total";
    pub(super) const EVENTS_DROPPED: &str = "fusebox_rpc_events_dropped_total";
    pub(super) const WS_RECONNECTS: &str = "fusebox_rpc_ws_reconnects_total";
    pub(super) const UNKNOWN: &str = "fusebox_rpc_unknown_payloads_total";
}

/// Counts for one chain.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Shared: it is a label of every count.
    chain: Arc<str>,
}

impl Metrics {
    pub(crate) fn new(chain: u64) -> Self {
        Self { chain: chain.to_string().into() }
    }

    fn chain(&self) -> Arc<str> {
        Arc::clone(&self.chain)
    }

    pub(crate) fn attempt(
        &self,
        target: &Target,
        class: MethodClass,
        category: Category,
        elapsed: Duration,
    ) {
        self.requests(target, class, category).increment(1);
        self.seconds(target, class).record(elapsed.as_secs_f64());
    }

    fn requests(&self, target: &Target, class: MethodClass, category: Category) -> Counter {
        counter!(
            name::REQUESTS,
            "chain" => self.chain(),
            "provider" => target.name.clone(),
            "transport" => target.transport().as_str(),
            "class" => class.as_str(),
            "category" => category.as_str(),
        )
    }

    fn seconds(&self, target: &Target, class: MethodClass) -> Histogram {
        histogram!(
            name::SECONDS,
            "chain" => self.chain(),
            "provider" => target.name.clone(),
            "transport" => target.transport().as_str(),
            "class" => class.as_str(),
        )
    }

    fn of(&self, target: &Target, name: &'static str) -> Counter {
        counter!(
            name,
            "chain" => self.chain(),
            "provider" => target.name.clone(),
            "transport" => target.transport().as_str(),
        )
    }

    fn level(&self, target: &Target, name: &'static str) -> Gauge {
        gauge!(
            name,
            "chain" => self.chain(),
            "provider" => target.name.clone(),
            "transport" => target.transport().as_str(),
        )
    }

    pub(crate) fn throttled(&self, target: &Target, wait: Duration) {
        self.level(target, name::THROTTLED).set(wait.as_secs_f64());
    }

    pub(crate) fn head(&self, target: &Target, number: u64, regressed: bool) {
        self.level(target, name::HEAD).set(number as f64);
        if regressed {
            self.of(target, name::REGRESSIONS).increment(1);
        }
    }

    pub(crate) fn lag(&self, target: &Target, blocks: u64) {
        self.level(target, name::LAG).set(blocks as f64);
    }

    pub(crate) fn unknown_payload(&self, target: &Target) {
        self.of(target, name::UNKNOWN).increment(1);
    }

    /// A call goes on to another endpoint, because of this one.
    pub(crate) fn failover(&self, target: &Target, class: MethodClass, category: Category) {
        counter!(
            name::FAILOVERS,
            "chain" => self.chain(),
            "provider" => target.name.clone(),
            "transport" => target.transport().as_str(),
            "class" => class.as_str(),
            "category" => category.as_str(),
        )
        .increment(1);
    }

    /// This endpoint is asked besides another.
    pub(crate) fn hedge(&self, target: &Target, class: MethodClass) {
        self.of_class(target, name::HEDGES, class).increment(1);
    }

    /// This endpoint is asked though it is open.
    pub(crate) fn last_resort(&self, target: &Target, class: MethodClass) {
        self.of_class(target, name::LAST_RESORT, class).increment(1);
    }

    fn of_class(&self, target: &Target, name: &'static str, class: MethodClass) -> Counter {
        counter!(
            name,
            "chain" => self.chain(),
            "provider" => target.name.clone(),
            "transport" => target.transport().as_str(),
            "class" => class.as_str(),
        )
    }

    pub(crate) fn events_dropped(&self, count: u64) {
        counter!(name::EVENTS_DROPPED, "chain" => self.chain()).increment(count);
    }

    pub(crate) fn ws_reconnect(&self, target: &Target) {
        self.of(target, name::WS_RECONNECTS).increment(1);
    }

    /// Counts what happened to a breaker, and says so in the log.
    pub(crate) fn breaker(&self, provider: &str, key: &BreakerKey, kind: &EventKind) {
        let class = key.class.map_or("all", MethodClass::as_str);
        let transport = key.transport;
        let labels = [
            ("chain", self.chain.to_string()),
            ("provider", provider.to_owned()),
            ("transport", transport.to_string()),
            ("class", class.to_owned()),
        ];
        let (state, level) = match kind {
            EventKind::Closed { .. } => (State::Closed, 0.0),
            EventKind::HalfOpened { .. } => (State::HalfOpen, 1.0),
            EventKind::Opened { .. } => (State::Open, 2.0),
            EventKind::Stale { .. } => return counter!(name::STALE, &labels).increment(1),
            _ => return,
        };
        tracing::info!(provider, %transport, class, %state, ?kind, "breaker");
        gauge!(name::BREAKER_STATE, &labels).set(level);
        let [chain, provider, transport, class] = labels;
        let labels = [chain, provider, transport, class, ("to", state.to_string())];
        counter!(name::TRANSITIONS, &labels).increment(1);
    }
}
