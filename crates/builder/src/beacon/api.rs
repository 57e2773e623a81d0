//! The beacon API, as far as it is asked. Answers are bounded in bytes and time, and errors name no URL: it may hold a key.

use super::{
    events::Events,
    message::{ForkChoice, HeaderData, Leaf, Syncing},
};
use crate::{
    clock::{ChainSpecError, SlotClock},
    live::Network,
    machine::Seen,
};
use reqwest::{Client, Response, StatusCode, redirect};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::{fmt, time::Duration};
use url::Url;

/// The largest answer: a fork choice without finality for days.
const LARGEST: usize = 32 << 20;
/// For all that is small.
const SMALL_TIME: Duration = Duration::from_secs(2);
/// For a whole tree.
pub(super) const BACKFILL_TIME: Duration = Duration::from_secs(10);
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// A beacon node's address cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a beacon node is a URL, as http://127.0.0.1:5052")]
pub struct NodeUrlError;

/// Why a node gave no answer that means anything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// It was not reached, or not in time.
    #[error("not reached: {0}")]
    Transport(String),
    /// Another status than 200.
    #[error("status {0}")]
    Status(u16),
    /// Larger than anything it could be.
    #[error("the answer is larger than {LARGEST} bytes")]
    TooLarge,
    /// Not what it must be.
    #[error("not an answer: {0}")]
    Json(#[from] serde_json::Error),
    /// It does not say how long a slot is.
    #[error(transparent)]
    Spec(#[from] ChainSpecError),
}

impl ApiError {
    /// The node does not have this, or does not let us: asking again is no use.
    pub(super) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Status(400 | 403 | 404 | 405 | 501))
    }
}

/// A node.
#[derive(Clone)]
pub struct Api {
    base: Url,
    client: Client,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Api {
    /// Takes a node's base URL.
    ///
    /// # Errors
    /// Where it is none, or TLS cannot be set up.
    pub fn new(url: &str) -> Result<Self, NodeUrlError> {
        let mut base: Url = url.parse().map_err(|_| NodeUrlError)?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(NodeUrlError);
        }
        // Else the last part would be taken for a file.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let client = Client::builder()
            .connect_timeout(CONNECT_TIME)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|_| NodeUrlError)?;
        Ok(Self { base, client })
    }

    /// The name under which it is shown: without user, password, path and query.
    #[must_use]
    pub fn name(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or(host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Its network.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn network(&self) -> Result<Network, ApiError> {
        let config: Map<String, Value> = self.data("eth/v1/config/spec", SMALL_TIME).await?;
        let genesis: Value = self.data("eth/v1/beacon/genesis", SMALL_TIME).await?;
        let genesis = genesis["genesis_time"].as_str().and_then(|time| time.parse().ok());
        let genesis = genesis.ok_or(ChainSpecError::Value {
            key: "genesis_time",
            value: "not a number".to_owned(),
        })?;
        let gloas = config.get("GLOAS_FORK_EPOCH").and_then(Value::as_str);
        let gloas = gloas.and_then(|epoch| epoch.parse().ok()).filter(|epoch| *epoch != u64::MAX);
        Ok(Network { clock: SlotClock::from_config(&config)?, genesis, gloas_epoch: gloas })
    }

    pub(super) async fn syncing(&self) -> Result<Syncing, ApiError> {
        self.data("eth/v1/node/syncing", SMALL_TIME).await
    }

    pub(super) async fn fork_choice(&self) -> Result<ForkChoice, ApiError> {
        let mut value: Value = self.get("eth/v1/debug/fork_choice", BACKFILL_TIME).await?;
        // Some put it into `data` all the same.
        if value.get("fork_choice_nodes").is_none() {
            value = value["data"].take();
        }
        Ok(serde_json::from_value(value)?)
    }

    /// The finalized epoch.
    pub(super) async fn finalized(&self) -> Result<u64, ApiError> {
        #[derive(serde::Deserialize)]
        struct Checkpoints {
            finalized: super::message::Checkpoint,
        }
        let path = "eth/v1/beacon/states/head/finality_checkpoints";
        let data: Checkpoints = self.data(path, SMALL_TIME).await?;
        Ok(data.finalized.epoch.0)
    }

    pub(super) async fn heads(&self) -> Result<Vec<Leaf>, ApiError> {
        self.data("eth/v2/debug/beacon/heads", BACKFILL_TIME).await
    }

    pub(super) async fn header(&self, id: &str) -> Result<HeaderData, ApiError> {
        self.data(&format!("eth/v1/beacon/headers/{id}"), SMALL_TIME).await
    }

    /// The block that a root, a slot or `head` stands for: by slot the canonical one. None where the node has none.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn block(&self, id: &str) -> Result<Option<Seen>, ApiError> {
        match self.header(id).await {
            Ok(header) => Ok(Some(header.seen())),
            Err(ApiError::Status(404)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the node is well: not syncing, its head verified, its execution client there.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn is_well(&self) -> Result<bool, ApiError> {
        let Syncing { is_syncing, is_optimistic, el_offline, .. } = self.syncing().await?;
        Ok(!is_syncing && !is_optimistic && !el_offline)
    }

    /// Whether the node still has any block of a slot, also one that is not canonical.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn has_header_at(&self, slot: u64) -> Result<bool, ApiError> {
        let path = format!("eth/v1/beacon/headers?slot={slot}");
        match self.data::<Vec<Value>>(&path, SMALL_TIME).await {
            Ok(headers) => Ok(!headers.is_empty()),
            Err(ApiError::Status(404)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens the stream of events.
    pub(super) async fn events(&self) -> Result<Events, ApiError> {
        // The comma form yields nothing on some nodes.
        let topics = "topics=block&topics=head&topics=chain_reorg&topics=finalized_checkpoint";
        let url = self.url(&format!("eth/v1/events?{topics}"))?;
        let request = self.client.get(url).header("accept", "text/event-stream");
        Events::open(request).await
    }

    fn url(&self, path: &str) -> Result<Url, ApiError> {
        self.base.join(path).map_err(|_| ApiError::Transport("no such URL".to_owned()))
    }

    async fn data<T: DeserializeOwned>(&self, path: &str, time: Duration) -> Result<T, ApiError> {
        let mut value: Value = self.get(path, time).await?;
        Ok(serde_json::from_value(value["data"].take())?)
    }

    async fn get(&self, path: &str, time: Duration) -> Result<Value, ApiError> {
        let request =
            self.client.get(self.url(path)?).header("accept", "application/json").timeout(time);
        let mut response = ok(request.send().await.map_err(transport)?)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(transport)? {
            if bytes.len() + chunk.len() > LARGEST {
                return Err(ApiError::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        let value: Value = serde_json::from_slice(&bytes)?;
        // Indexing anything else would panic later, and mean nothing.
        if value.is_object() { Ok(value) } else { Ok(Value::Object(Map::new())) }
    }
}

pub(super) fn ok(response: Response) -> Result<Response, ApiError> {
    match response.status() {
        StatusCode::OK => Ok(response),
        status => Err(ApiError::Status(status.as_u16())),
    }
}

/// Without the URL, and with what led to it.
pub(super) fn transport(error: reqwest::Error) -> ApiError {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    ApiError::Transport(text)
}
