//! What a keeper says of itself over HTTP: whether it is alive, whether it may be relied upon, and all that it knows.
//!
//! It changes nothing and holds no secret, so it has no password; who may read is a matter of where it listens.

mod gauges;
mod pages;

use crate::{
    Refusal,
    config::ServerSettings,
    http::{Door, connections, guard, listen, recorder},
    metrics::Metric,
    output::say,
    report::Watches,
    store::Store,
};
use axum::{Router, middleware, routing::get};
use metrics_exporter_prometheus::PrometheusHandle;
use pages::Server;
use std::{sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How often what was measured is put in order. Scraping does it, too, but perhaps nobody scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

/// An address that is taken, and what is counted from now on.
#[derive(Debug)]
pub(crate) struct Served {
    listener: TcpListener,
    metrics: PrometheusHandle,
    door: Door,
}

impl Served {
    /// Takes the address. Before anything is counted, so that all of it is.
    ///
    /// # Errors
    /// [`Refusal::Usage`] where the address is taken.
    pub(crate) async fn at(settings: &ServerSettings) -> eyre::Result<Self> {
        if !settings.listen.ip().is_loopback() && !settings.allow_remote {
            let listen = settings.listen;
            return Err(Refusal::Usage(format!(
                "--listen {listen} can be reached from other machines: add --allow-remote if that is meant"
            ))
            .into());
        }
        let listener = listen(settings.listen).await?;
        let door = Door { hosts: settings.hosts.clone(), origins: Vec::new(), is_read_only: true };
        let metrics = recorder()?;
        metrics::gauge!(Metric::BuildInfo.name(), "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        Ok(Self { listener, metrics, door })
    }

    /// Answers until it is stopped.
    pub(crate) async fn run(self, store: Store, watches: Watches, stop: CancellationToken) {
        let Self { listener, metrics, door } = self;
        if let Ok(address) = listener.local_addr() {
            say(&format!("serving /health, /ready, /status and /metrics at http://{address}"));
        }
        let upkeep = {
            let metrics = metrics.clone();
            async move {
                loop {
                    tokio::time::sleep(UPKEEP).await;
                    metrics.run_upkeep();
                }
            }
        };
        let router = router(Server { store, watches, metrics }, door);
        tokio::select! {
            () = connections::serve(listener, router, stop) => {}
            () = upkeep => {}
        }
    }
}

fn router(server: Server, door: Door) -> Router {
    Router::new()
        .route("/health", get(pages::health))
        .route("/ready", get(pages::ready))
        .route("/status", get(pages::status))
        .route("/metrics", get(pages::metrics))
        .with_state(Arc::new(server))
        .layer(middleware::from_fn_with_state(Arc::new(door), guard))
}
