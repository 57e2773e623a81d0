//! The document at `/status`: what is known of each endpoint. Names and numbers, no URL.

use super::chains::Chains;
use fusebox_breaker::{Clock as _, Mode, State, View};
use fusebox_rpc::{EndpointStatus, MachineTime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// All of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// The version of this form.
    pub(super) v: u8,
    /// What `POST /` asks; none where several chains are served and none was named.
    pub(super) default_chain: Option<u64>,
    pub(super) chains: Vec<Chain>,
}

/// A chain.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Chain {
    pub(super) chain: u64,
    /// The highest block that an endpoint has shown.
    pub(super) head: Option<u64>,
    pub(super) endpoints: Vec<Endpoint>,
}

/// An endpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Endpoint {
    pub(super) provider: String,
    pub(super) transport: String,
    /// Whether it serves this chain; none while it has not said.
    pub(super) right_chain: Option<bool>,
    pub(super) head: Option<u64>,
    /// How many blocks that is behind.
    pub(super) lag: u64,
    /// How long it is left alone because it asked for that; 0 for not at all.
    pub(super) throttled_ms: u64,
    /// Whether that is because its quota is used up.
    pub(super) parked: bool,
    pub(super) classes: Vec<Class>,
}

/// Its breaker for one class of calls.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Class {
    pub(super) class: String,
    /// `closed`, `open`, `half-open`, or the mode that outranks these: `forced-open`, `disabled`.
    pub(super) state: String,
    /// Why it is in this state; none while nothing has ever happened.
    pub(super) cause: Option<String>,
    /// Open: how long until a probe is let through.
    pub(super) retry_in_ms: Option<u64>,
    /// Closed: failures in a row.
    pub(super) failures: u16,
    /// How often it has opened since it was last closed.
    pub(super) opens: u32,
    pub(super) latency_ms: Option<f64>,
}

impl Report {
    /// At this instant.
    pub(super) fn of(chains: &Chains) -> Self {
        let chain = |(chain, pool): (u64, &fusebox_rpc::Pool)| {
            let status = pool.status();
            let head = status.iter().filter_map(|endpoint| endpoint.head).max();
            Chain { chain, head, endpoints: status.into_iter().map(Endpoint::of).collect() }
        };
        Self { v: 1, default_chain: chains.default(), chains: chains.iter().map(chain).collect() }
    }
}

impl Endpoint {
    fn of(status: EndpointStatus) -> Self {
        let class = |class: fusebox_rpc::ClassStatus| {
            let latency_ms =
                class.latency.map(|latency| (latency.as_secs_f64() * 1e6).round() / 1e3);
            Class::of(class.class.as_str(), &class.breaker, latency_ms)
        };
        Self {
            provider: status.provider.to_string(),
            transport: status.transport.to_string(),
            right_chain: status.right_chain,
            head: status.head,
            lag: status.lag,
            throttled_ms: millis(status.throttled_for),
            parked: status.parked,
            classes: status.classes.into_iter().map(class).collect(),
        }
    }
}

impl Class {
    fn of(class: &str, view: &View, latency_ms: Option<f64>) -> Self {
        let state = match view.mode {
            Mode::ForcedOpen | Mode::Disabled => view.mode.to_string(),
            Mode::Normal | Mode::Shadow => view.state.to_string(),
        };
        let deadline = view.deadline.filter(|_| view.state == State::Open);
        Self {
            class: class.to_owned(),
            state,
            cause: view.cause.map(|cause| cause.to_string()),
            retry_in_ms: deadline.map(|deadline| millis(deadline.since(MachineTime.now()))),
            failures: view.total_streak,
            opens: view.opens,
            latency_ms,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
