//! The sidecar: consensus client → sidecar → mev-boost.
//!
//! While the breaker is open a request for a header is answered with 204, which has the client build its own block. Everything
//! else passes, byte for byte: registrations and status, since clients stop asking for good where these fail, and above all
//! signed blocks. Having signed a blinded block a validator must not sign another one, so nothing may stop it.
//!
//! A listener serves it with `auto_date_header(false)` and `preserve_header_case(true)`, or bytes are added.

mod admin;
mod body;
mod headers;
mod route;
mod upstream;

pub use admin::{Token, TokenError};
pub use body::{BodyError, MAX_BODY, SidecarBody};
pub use upstream::{Upstream, UpstreamError};

use crate::{
    Live,
    live::{names, status::UpstreamAnswer},
};
use body::{Bounded, Passed};
use fusebox_breaker::State;
use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderValue},
};
use route::{HEADER_TIME, HEADROOM, OwnPath, Route};
use serde_json::Value;
use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::task::TaskTracker;
use upstream::SendError;

/// At once, besides signed blocks. One validator client has a handful.
const IN_FLIGHT: usize = 256;
/// How long a body is read that is not wanted, so that its sender gets to read the answer.
const DRAIN: Duration = Duration::from_secs(2);

/// Which paths a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// The builder API, and the sidecar's own paths.
    All,
    /// The builder API only: the sidecar's own are elsewhere.
    Builder,
    /// The sidecar's own only.
    Own,
}

/// What a sidecar needs.
pub struct SidecarOptions {
    /// Who decides.
    pub live: Arc<Live>,
    /// Where requests go. Without one only the sidecar's own paths are served.
    pub upstream: Option<Upstream>,
    /// What an admin has to know; without one nobody is.
    pub token: Option<Token>,
    /// Writes `/metrics`.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for SidecarOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SidecarOptions").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// The service. Clones are the same one.
#[derive(Clone)]
pub struct Sidecar {
    shared: Arc<Shared>,
    paths: Paths,
}

struct Shared {
    options: SidecarOptions,
    places: Arc<Semaphore>,
    submits: TaskTracker,
}

impl fmt::Debug for Sidecar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sidecar").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl hyper::service::Service<Request<Incoming>> for Sidecar {
    type Response = Response<SidecarBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let sidecar = self.clone();
        Box::pin(async move { Ok(sidecar.handle(request).await) })
    }
}

impl Sidecar {
    /// A sidecar that serves these paths.
    #[must_use]
    pub fn new(options: SidecarOptions, paths: Paths) -> Self {
        let shared = Shared {
            options,
            places: Arc::new(Semaphore::new(IN_FLIGHT)),
            submits: TaskTracker::new(),
        };
        Self { shared: Arc::new(shared), paths }
    }

    /// The same sidecar, for a listener with other paths.
    #[must_use]
    pub fn with_paths(&self, paths: Paths) -> Self {
        Self { shared: Arc::clone(&self.shared), paths }
    }

    /// How many signed blocks are under way.
    #[must_use]
    pub fn submits(&self) -> usize {
        self.shared.submits.len()
    }

    /// Ends when no signed block is under way. To be called once nothing new comes.
    pub async fn idle(&self) {
        self.shared.submits.close();
        self.shared.submits.wait().await;
    }

    async fn handle(&self, request: Request<Incoming>) -> Response<SidecarBody> {
        let begun = Instant::now();
        let path = request.uri().path();
        if self.paths != Paths::Builder
            && let Some(own) = OwnPath::of(path)
        {
            if request.method() != own.method() {
                return error(StatusCode::METHOD_NOT_ALLOWED, "another method is meant");
            }
            let SidecarOptions { live, token, metrics, .. } = &self.shared.options;
            let query = request.uri().query();
            return admin::answer(live, own, query, request.headers(), token.as_ref(), &**metrics);
        }
        let Some(upstream) =
            self.shared.options.upstream.as_ref().filter(|_| self.paths != Paths::Own)
        else {
            return error(StatusCode::NOT_FOUND, "there is no such path");
        };
        let route = Route::of(path);
        match route {
            Route::Header(slot) | Route::Bid(slot) => {
                let Some(slot) = slot else {
                    return error(StatusCode::BAD_REQUEST, "the slot in the path is not a number");
                };
                if !self.shared.options.live.ask(slot).forward {
                    drain(request).await;
                    overhead(route, begun);
                    return no_bid();
                }
            }
            Route::Submit => {
                if self.shared.options.live.state() != State::Closed {
                    metrics::counter!(names::SUBMIT_WHILE_OPEN).increment(1);
                }
            }
            Route::Status | Route::Registrations | Route::Other => {}
        }
        if request.body().size_hint().lower() > MAX_BODY {
            drain(request).await;
            return too_large();
        }
        if route == Route::Submit {
            return self.submit(request, upstream, begun).await;
        }
        let Ok(place) = Arc::clone(&self.shared.places).try_acquire_owned() else {
            return error(StatusCode::SERVICE_UNAVAILABLE, "too many requests are under way");
        };
        self.exchange(request, upstream.clone(), route, begun, Some(place)).await
    }

    /// In a task of its own: a client that leaves takes nothing back that it has signed.
    async fn submit(
        &self,
        request: Request<Incoming>,
        upstream: &Upstream,
        begun: Instant,
    ) -> Response<SidecarBody> {
        let (sidecar, upstream) = (self.clone(), upstream.clone());
        let sent = self.shared.submits.spawn(async move {
            sidecar.exchange(request, upstream, Route::Submit, begun, None).await
        });
        sent.await.unwrap_or_else(|_| bad_gateway("the exchange failed"))
    }

    async fn exchange(
        &self,
        request: Request<Incoming>,
        upstream: Upstream,
        route: Route,
        begun: Instant,
        place: Option<OwnedSemaphorePermit>,
    ) -> Response<SidecarBody> {
        let deadline = begun + time(route, request.headers());
        let (mut parts, body) = request.into_parts();
        headers::strip(&mut parts.headers);
        headers::strip_host(&mut parts.headers);
        let (body, exceeded) = Bounded::new(body);
        let request = Request::from_parts(parts, body);
        overhead(route, begun);
        let sent = async {
            match route {
                Route::Submit => upstream.send_alone(request).await,
                _ => upstream.send(request).await,
            }
        };
        let asked = Instant::now();
        let result = timeout_at(deadline, sent).await;
        let name = route.name();
        metrics::histogram!(names::UPSTREAM_SECONDS, "endpoint" => name)
            .record(asked.elapsed().as_secs_f64());
        let failed = match result {
            Ok(Ok(response)) => {
                self.count(name, UpstreamAnswer::Code(response.status().as_u16()));
                let submit = (route == Route::Submit).then(|| self.shared.submits.token());
                return pass(response, deadline, place, submit);
            }
            _ if exceeded.load(Ordering::Relaxed) => return too_large(),
            Ok(Err(failed)) => failed,
            Err(_) => {
                self.count(name, UpstreamAnswer::Failed("timeout"));
                tracing::warn!(endpoint = name, "the upstream did not answer in time");
                return self.without(route, "the upstream did not answer in time");
            }
        };
        self.count(name, UpstreamAnswer::Failed("error"));
        tracing::warn!(endpoint = name, error = %failed, "the upstream was not reached");
        self.without(
            route,
            match failed {
                SendError::Connect(_) => "the upstream cannot be reached",
                _ => "the upstream did not answer",
            },
        )
    }

    /// What is answered where the upstream has not: no bid, where that is an answer.
    fn without(&self, route: Route, why: &'static str) -> Response<SidecarBody> {
        match route {
            Route::Header(_) | Route::Bid(_) => no_bid(),
            _ => bad_gateway(why),
        }
    }

    fn count(&self, endpoint: &'static str, answer: UpstreamAnswer) {
        let code = match answer {
            UpstreamAnswer::Code(code) => code.to_string(),
            UpstreamAnswer::Failed(why) => why.to_owned(),
        };
        metrics::counter!(names::UPSTREAM_REQUESTS, "endpoint" => endpoint, "code" => code)
            .increment(1);
        self.shared.options.live.upstream(endpoint, answer);
    }
}

/// How long it may take; a client that says how long it waits gets its answer before that.
fn time(route: Route, headers: &HeaderMap) -> Duration {
    let own = route.time();
    if own != HEADER_TIME {
        return own;
    }
    let given =
        headers.get("x-timeout-ms").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    given.map_or(own, |ms| own.min(Duration::from_millis(ms).saturating_sub(HEADROOM)))
}

fn overhead(route: Route, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    metrics::histogram!(names::OVERHEAD_SECONDS, "endpoint" => route.name()).record(seconds);
}

fn pass(
    response: Response<Incoming>,
    deadline: Instant,
    place: Option<OwnedSemaphorePermit>,
    submit: Option<tokio_util::task::task_tracker::TaskTrackerToken>,
) -> Response<SidecarBody> {
    let (mut parts, inner) = response.into_parts();
    headers::strip(&mut parts.headers);
    let deadline = Box::pin(sleep_until(deadline));
    // The version is this connection's own.
    parts.version = hyper::Version::HTTP_11;
    Response::from_parts(
        parts,
        SidecarBody::passed(Passed { inner, deadline, _place: place, _submit: submit }),
    )
}

/// Reads what comes, to drop it: an answer to a client that still writes is lost with the connection.
async fn drain(request: Request<Incoming>) {
    // Who asks first is told, and sends nothing.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return;
    }
    let mut body = request.into_body();
    let mut left = 2 * MAX_BODY;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, bytes::Bytes::len) as u64;
            match left.checked_sub(length) {
                Some(less) => left = less,
                None => break,
            }
        }
    };
    timeout(DRAIN, rest).await.ok();
}

/// No bid: the client builds its own block.
fn no_bid() -> Response<SidecarBody> {
    let mut response = Response::new(SidecarBody::own(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn bad_gateway(why: &'static str) -> Response<SidecarBody> {
    error(StatusCode::BAD_GATEWAY, why)
}

fn too_large() -> Response<SidecarBody> {
    let mut response = error(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 20 MiB");
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// An error of the sidecar's own, as the builder API writes them.
fn error(status: StatusCode, message: &str) -> Response<SidecarBody> {
    json(status, &serde_json::json!({ "code": status.as_u16(), "message": message }))
}

fn json(status: StatusCode, value: &Value) -> Response<SidecarBody> {
    let mut response = Response::new(SidecarBody::own(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
