//! The HTTP server: which path means what.

use super::{answer::Answer, chains::Chains, relay::relay, report::Report, socket};
use crate::http::{Door, guard};
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, State, WebSocketUpgrade, ws::rejection::WebSocketUpgradeRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use fusebox_rpc::Pool;
use futures_util::StreamExt as _;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// What geth takes at most, and the pool sends at most.
const MAX_BODY: usize = 5 * 1024 * 1024;

/// How much of a body that is too long is read and thrown away.
const MAX_DISCARDED: usize = 4 * MAX_BODY;

/// How long a client may take to send a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of requests and answers is held at once, in KiB: 256 MiB.
const MOST_HELD: u32 = 256 * 1024;

/// What each takes up beside its body, in KiB.
const OVERHEAD: u32 = 8;

/// What all paths share.
#[derive(Debug)]
pub(super) struct Server {
    chains: Chains,
    metrics: PrometheusHandle,
    held: Arc<Semaphore>,
    calls: TaskTracker,
    stop: CancellationToken,
}

impl Server {
    pub(super) fn new(chains: Chains, metrics: PrometheusHandle, stop: CancellationToken) -> Self {
        let held = Arc::new(Semaphore::new(MOST_HELD as usize));
        Self { chains, metrics, held, calls: TaskTracker::new(), stop }
    }

    /// All paths, behind the door.
    pub(super) fn router(self: Arc<Self>, door: Door) -> Router {
        Router::new()
            .route("/", get(upgrade_default).post(post_default))
            .route("/{chain}", get(upgrade).post(post))
            .route("/health", get(health))
            .route("/status", get(status))
            .route("/metrics", get(metrics))
            .with_state(self)
            .layer(middleware::from_fn_with_state(Arc::new(door), guard))
    }

    /// Answers a body.
    ///
    /// In a task of its own, which outlives a client that hangs up: a call that is dropped counts as failed for its
    /// endpoint, and a transaction that is under way must be followed to its end. The pool's deadlines end it.
    pub(super) async fn answer(&self, pool: &Pool, body: Bytes) -> Answer {
        let Some(held) = hold(&self.held, body.len()) else { return Answer::busy() };
        self.answer_held(pool, body, held).await
    }

    async fn answer_held(&self, pool: &Pool, body: Bytes, held: OwnedSemaphorePermit) -> Answer {
        let (pool, room) = (pool.clone(), Arc::clone(&self.held));
        let call = self.calls.spawn(async move {
            let answer = relay(&pool, &body).await;
            drop(body);
            // It stays until its reader has taken it, who may be slow.
            match hold_instead(held, &room, answer.body.as_ref().map_or(0, String::len)) {
                Some(held) => Answer { held: Some(held), ..answer },
                None => Answer::busy(),
            }
        });
        call.await.unwrap_or_else(|_| Answer::broken())
    }

    /// Ends when the proxy is asked to stop.
    pub(super) async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Ends when all calls and WebSockets have, and no new ones come.
    pub(super) async fn idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// How many calls and WebSockets there are.
    pub(super) fn busy(&self) -> usize {
        self.calls.len()
    }

    fn pool(&self, chain: Option<&str>) -> Result<Pool, Answer> {
        let Some(asked) = chain else {
            let default = self.chains.default().and_then(|chain| self.chains.get(chain));
            return default.cloned().ok_or_else(|| {
                let why = format!(
                    "there are several chains here: ask at /{{chain id}} ({}), or start the proxy with --chain",
                    self.chains.list()
                );
                Answer::bad_request(StatusCode::NOT_FOUND, &why)
            });
        };
        let found = asked.parse().ok().and_then(|chain| self.chains.get(chain));
        found.cloned().ok_or_else(|| {
            let why = format!("this chain is not served here; these are: {}", self.chains.list());
            Answer::bad_request(StatusCode::NOT_FOUND, &why)
        })
    }
}

/// How much room so many bytes take up.
fn size(bytes: usize) -> u32 {
    u32::try_from(bytes / 1024).unwrap_or(MOST_HELD).saturating_add(OVERHEAD)
}

fn hold(room: &Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    Arc::clone(room).try_acquire_many_owned(size(bytes)).ok()
}

/// Room for an answer instead of its request. What is no larger always fits: of a transaction that is sent the sender must
/// hear.
fn hold_instead(
    mut held: OwnedSemaphorePermit,
    room: &Arc<Semaphore>,
    bytes: usize,
) -> Option<OwnedSemaphorePermit> {
    let (has, wants) = (held.num_permits(), size(bytes));
    match wants.checked_sub(u32::try_from(has).unwrap_or(MOST_HELD)) {
        Some(more) => held.merge(Arc::clone(room).try_acquire_many_owned(more).ok()?),
        None => drop(held.split(has - wants as usize)),
    }
    Some(held)
}

type Shared = State<Arc<Server>>;

async fn post_default(server: Shared, headers: HeaderMap, body: Body) -> Answer {
    post_to(&server, None, &headers, body).await
}

async fn post(server: Shared, Path(chain): Path<String>, headers: HeaderMap, body: Body) -> Answer {
    post_to(&server, Some(&chain), &headers, body).await
}

async fn post_to(server: &Server, chain: Option<&str>, headers: &HeaderMap, body: Body) -> Answer {
    let too_large = || {
        let why = format!("a request has {MAX_BODY} bytes at most; send several");
        Answer::bad_request(StatusCode::PAYLOAD_TOO_LARGE, &why)
    };
    let pool = match server.pool(chain) {
        Ok(pool) => pool,
        Err(answer) => return answer,
    };
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length = length.unwrap_or(MAX_BODY);
    let Some(held) = hold(&server.held, length.min(MAX_BODY)) else { return Answer::busy() };
    match timeout(READ_TIMEOUT, read(body)).await {
        Ok(Some(body)) => server.answer_held(&pool, body, held).await,
        Ok(None) => too_large(),
        Err(_) => Answer::bad_request(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
    }
}

/// The body, if it is not too long. One that is a bit too long is read all the same: a client that is still writing when
/// the connection closes does not get to read why.
async fn read(body: Body) -> Option<Bytes> {
    let mut pieces = body.into_data_stream();
    let (mut read, mut length) = (Vec::new(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.ok()?;
        length += piece.len();
        if length <= MAX_BODY {
            read.extend_from_slice(&piece);
        } else if length > MAX_DISCARDED {
            break;
        }
    }
    (length <= MAX_BODY).then(|| read.into())
}

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

async fn upgrade_default(server: Shared, socket: Upgrade) -> Response {
    upgrade_to(server, None, socket)
}

async fn upgrade(server: Shared, Path(chain): Path<String>, socket: Upgrade) -> Response {
    upgrade_to(server, Some(&chain), socket)
}

fn upgrade_to(State(server): Shared, chain: Option<&str>, socket: Upgrade) -> Response {
    let Ok(socket) = socket else {
        let why = "JSON-RPC: send a POST, or open a WebSocket; there is also GET /health, /status and /metrics\n";
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")], why).into_response();
    };
    match server.pool(chain) {
        Ok(pool) => {
            let calls = server.calls.clone();
            socket
                .max_message_size(MAX_BODY)
                .max_frame_size(MAX_BODY)
                .on_upgrade(move |socket| calls.track_future(socket::serve(server, pool, socket)))
        }
        Err(answer) => answer.into_response(),
    }
}

/// Whether the process works. Whether its endpoints do is in the status: a proxy is not healed by being restarted.
async fn health() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

async fn status(State(server): Shared) -> Json<Report> {
    Json(Report::of(&server.chains))
}

async fn metrics(State(server): Shared) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, server.metrics.render()).into_response()
}

/// A text that gives its room back when the last of it is written.
struct Held {
    text: String,
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let Self { status, retry_after, body, held } = self;
        let body = Bytes::from_owner(Held { text: body.unwrap_or_default(), _room: held });
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = retry_after {
            // Whole seconds, and never too early.
            let seconds = wait.as_millis().div_ceil(1_000).max(1);
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX)),
            );
        }
        response
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use axum::body::to_bytes;
    use fusebox_rpc::{RpcConfig, Rules};
    use fusebox_testkit::{Chain, Node, on};
    use metrics_exporter_prometheus::PrometheusBuilder;

    /// A server before one node.
    pub(in crate::rpc) fn server(url: &str) -> Arc<Server> {
        let config = json!({ "profile": { "default": { "chain": { "31337": {
            "provider": [{ "name": "a", "http": url }],
        } } } } });
        let config = RpcConfig::from_value(config).unwrap();
        let chains = Chains::new(&config, "default", Rules::shipped()).unwrap();
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        Arc::new(Server::new(chains, metrics, CancellationToken::new()))
    }

    #[tokio::test]
    async fn an_answer_takes_up_room_until_it_is_written() {
        let large = "x".repeat(1024 * 1024);
        let node = Node::scripted(Chain::new()).rule(on("eth_call").answer(large));
        let node = node.start().await.unwrap();
        let server = server(&node.url());
        let pool = server.chains.get(31_337).unwrap();
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{}, "latest"]}"#;
        let answer = server.answer(pool, call.into()).await;
        let left = || server.held.available_permits();
        let used = MOST_HELD as usize - 1024 - OVERHEAD as usize;
        assert_eq!(left(), used);
        let body = to_bytes(answer.into_response().into_body(), usize::MAX).await.unwrap();
        assert_eq!(left(), used, "{}", body.len());
        drop(body);
        assert_eq!(left(), MOST_HELD as usize);

        let _all = Arc::clone(&server.held).try_acquire_many_owned(MOST_HELD - OVERHEAD).unwrap();
        assert_eq!(server.answer(pool, call.into()).await.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(left(), OVERHEAD as usize);
        let small = call.replace("eth_call", "eth_chainId");
        assert_eq!(server.answer(pool, small.into()).await.status, StatusCode::OK);
    }
}
