//! What all that listens on this machine has in common: where, who is let in, and how connections are kept.

pub(crate) mod connections;
mod door;

pub(crate) use door::{Door, guard};

use crate::{Refusal, metrics::Metric};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// From a node in the same rack to a trace that takes half a minute.
const SECONDS: [f64; 12] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0];

/// From a disk with a cache to one that many share.
const COMMITS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

/// From a receiver that answers at once to one that is down for hours.
const DELIVERIES: [f64; 12] =
    [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 10_800.0];

/// From one block to more than an epoch.
const DEPTHS: [f64; 8] = [1.0, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0, 64.0];

/// Takes an address for this process.
///
/// # Errors
/// [`Refusal::Usage`] where it is taken, or not of this machine.
pub(crate) async fn listen(at: SocketAddr) -> Result<TcpListener, Refusal> {
    TcpListener::bind(at).await.map_err(|error| {
        Refusal::Usage(format!("cannot listen at {at}: {error}; say where with --listen"))
    })
}

/// Keeps what is counted for `/metrics`. Once in a process.
///
/// # Errors
/// When there is one already.
pub(crate) fn recorder() -> eyre::Result<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for (name, buckets) in [
        ("fusebox_rpc_request_seconds", &SECONDS[..]),
        (Metric::StoreCommit.name(), &COMMITS),
        (Metric::AlertLatency.name(), &DELIVERIES),
        (Metric::ReorgDepth.name(), &DEPTHS),
    ] {
        builder = builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets)?;
    }
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    Ok(handle)
}
