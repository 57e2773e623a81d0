//! Who is measured: the pool, and what can be put together from alloy.
//!
//! Every one gets the same client settings and the same deadlines. What cannot be given to a peer: a retry layer of
//! alloy knows no deadline for a whole call (so each call is cut off from outside, ours too), and `FallbackLayer` has
//! neither cooldown nor probe.

use std::time::Duration;

use alloy::providers::{DynProvider, Provider, ProviderBuilder};
use alloy::rpc::client::RpcClient;
use alloy::transports::http::Http;
use alloy::transports::http::reqwest::Url;
use alloy::transports::layers::{FallbackLayer, RetryBackoffLayer};
use fusebox_rpc::{Pool, PoolBuilder, PoolEvent};
use fusebox_testkit::Node;
use serde_json::json;
use tokio::task::JoinHandle;
use tower::ServiceBuilder;

/// A tenth of the pool's defaults, here and below, so that a minute shows what takes ten.
pub const CONNECT: Duration = Duration::from_millis(300);
/// One attempt, of every class: peers have one time-out for all methods.
pub const ATTEMPT: Duration = Duration::from_millis(500);
/// A whole call.
pub const CALL: Duration = Duration::from_secs(2);
/// The first open.
pub const COOLDOWN: Duration = Duration::from_secs(6);
/// Between two background probes.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Timeouts in a row that open a class of an endpoint; the pool's default, not scaled.
pub const TIMEOUT_THRESHOLD: u32 = 2;

/// After the first attempt, as the pool has three.
const RETRIES: u32 = 2;
const BACKOFF_MS: u64 = 100;
/// So many that the layer never waits for its own budget.
const COMPUTE_UNITS: u64 = 1_000_000;
/// How often the pool's events are taken.
const DRAIN: Duration = Duration::from_millis(100);

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ours, in the order of the nodes.
    Pool,
    /// Ours, with calls spread over all nodes.
    Balanced,
    /// alloy's `FallbackLayer` over all nodes, inside its `RetryBackoffLayer`.
    FallbackRetry,
    /// `FallbackLayer` alone.
    Fallback,
    /// alloy's provider on the first node.
    Plain,
}

impl Kind {
    /// All of them, ours first.
    pub const ALL: [Self; 5] =
        [Self::Pool, Self::Balanced, Self::FallbackRetry, Self::Fallback, Self::Plain];

    /// Whether it is what is to meet the bounds.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Pool | Self::Balanced)
    }

    /// What a table calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pool => "`Pool`",
            Self::Balanced => "`Pool`, load-balanced",
            Self::FallbackRetry => "alloy `FallbackLayer` + `RetryBackoffLayer`",
            Self::Fallback => "alloy `FallbackLayer`",
            Self::Plain => "alloy provider on A alone",
        }
    }
}

/// A client, and what goes on behind it.
#[derive(Debug)]
pub struct Subject {
    /// Calls go through this.
    pub provider: DynProvider,
    /// Of the pool: what has happened to it so far.
    events: Option<JoinHandle<Vec<PoolEvent>>>,
    stop: tokio::sync::watch::Sender<bool>,
}

impl Subject {
    /// Over these nodes, which are called by the letters of the alphabet.
    ///
    /// # Panics
    ///
    /// Without a node.
    pub async fn new(kind: Kind, nodes: &[Node]) -> Self {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let urls: Vec<String> = nodes.iter().map(Node::url).collect();
        if kind.is_ours() {
            let strategy = if kind == Kind::Pool { "priority" } else { "load_balanced" };
            let pool = pool(&urls, COOLDOWN).set("strategy", strategy);
            let pool = pool.build().expect("the settings are valid");
            // Its background work, which alloy's layers have none of.
            let _ = pool.ready().await;
            let events = tokio::spawn(run(pool.clone(), stopped));
            let provider = ProviderBuilder::new().connect_client(pool.client()).erased();
            return Self { provider, events: Some(events), stop };
        }
        let transports: Vec<_> = urls.iter().map(|url| transport(url)).collect();
        let layer = FallbackLayer::default();
        let client = match kind {
            Kind::Plain => RpcClient::new(transports[0].clone(), false),
            Kind::Fallback => {
                RpcClient::new(ServiceBuilder::new().layer(layer).service(transports), false)
            }
            _ => RpcClient::builder()
                .layer(RetryBackoffLayer::new(RETRIES, BACKOFF_MS, COMPUTE_UNITS))
                .transport(ServiceBuilder::new().layer(layer).service(transports), false),
        };
        let provider = ProviderBuilder::new().connect_client(client).erased();
        Self { provider, events: None, stop }
    }

    /// Ends its background work and says what has happened to it.
    ///
    /// # Panics
    ///
    /// When the background work has.
    pub async fn end(self) -> Vec<PoolEvent> {
        // Peers have nobody who listens.
        let _ = self.stop.send(true);
        match self.events {
            Some(events) => events.await.expect("a pool's background work does not panic"),
            None => Vec::new(),
        }
    }
}

async fn run(pool: Pool, mut stopped: tokio::sync::watch::Receiver<bool>) -> Vec<PoolEvent> {
    let mut events = Vec::new();
    let stop = async move {
        // A sender that is gone wants the same.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let listen = async {
        loop {
            tokio::time::sleep(DRAIN).await;
            pool.drain(|event| events.push(event));
        }
    };
    tokio::select! {
        () = pool.run(stop) => {}
        () = listen => {}
    }
    pool.drain(|event| events.push(event));
    events
}

/// Over these URLs, which are called by the letters of the alphabet. No open is longer than ten times the first one.
pub fn pool(urls: &[String], cooldown: Duration) -> PoolBuilder {
    let text = |time: Duration| format!("{}ms", time.as_millis());
    let deadlines = json!({
        "connect": text(CONNECT), "attempt": text(ATTEMPT), "logs": text(ATTEMPT), "call": text(CALL),
    });
    let pool = Pool::builder(31_337)
        .set("deadlines", deadlines)
        .set("probe_interval", text(PROBE_INTERVAL))
        .set("max_inline_wait", text(CALL / 10))
        .breaker("cooldown", text(cooldown))
        .breaker("max_cooldown", text(cooldown * 10));
    let named = ('A'..).zip(urls);
    named.fold(pool, |pool, (name, url)| pool.provider(&name.to_string(), url))
}

/// The HTTP client of peers, set up as the pool sets up its own.
///
/// # Panics
///
/// If the machine's TLS set-up cannot be used.
#[must_use]
pub fn http() -> reqwest::Client {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(ATTEMPT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false);
    client.build().expect("the machine can speak TLS")
}

fn transport(url: &str) -> Http<reqwest::Client> {
    Http::with_client(http(), url.parse::<Url>().expect("a node's URL is one"))
}
