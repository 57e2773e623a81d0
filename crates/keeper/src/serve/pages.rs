//! The paths.

use crate::{
    fold::now_ms,
    report::{self, Query, Watches},
    store::Store,
};
use axum::{
    Json,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use std::sync::Arc;

/// What all paths share.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) store: Store,
    pub(super) watches: Watches,
    pub(super) metrics: PrometheusHandle,
}

type Shared = State<Arc<Server>>;

/// Whether the process works. It does not depend on any node: a keeper is not healed by being restarted.
pub(super) async fn health(State(server): Shared) -> Response {
    match server.store.stuck().await {
        None => Json(json!({ "status": "ok" })).into_response(),
        Some(why) => not("stuck", &[why]),
    }
}

/// Whether what it says can be relied upon.
pub(super) async fn ready(State(server): Shared) -> Response {
    let mut reasons = server.watches.reasons();
    reasons.extend(server.store.stuck().await);
    match reasons.is_empty() {
        true => Json(json!({ "status": "ready" })).into_response(),
        false => not("not ready", &reasons),
    }
}

fn not(status: &str, reasons: &[String]) -> Response {
    let body = json!({ "status": status, "reasons": reasons });
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}

/// Which breakers are asked for.
fn asked(raw: Option<&str>) -> Result<Query, &'static str> {
    const STATES: [&str; 4] = ["closed", "open", "half-open", "unknown"];
    let mut query = Query::default();
    for (name, value) in url::form_urlencoded::parse(raw.unwrap_or_default().as_bytes()) {
        match &*name {
            "state" if STATES.contains(&&*value) => query.state = Some(value.into_owned()),
            "state" => return Err("state is closed, open, half-open or unknown\n"),
            "q" => query.q = Some(value.into_owned()).filter(|q| !q.is_empty()),
            "limit" => query.limit = value.parse().map_err(|_| "limit is a number\n")?,
            "after" => query.after = Some(value.into_owned()).filter(|key| !key.is_empty()),
            _ => return Err("state, q, limit and after can be asked for\n"),
        }
    }
    Ok(query)
}

pub(super) async fn status(State(server): Shared, RawQuery(raw): RawQuery) -> Response {
    let query = match asked(raw.as_deref()) {
        Ok(query) => query,
        Err(why) => return (StatusCode::BAD_REQUEST, why).into_response(),
    };
    let live = server.watches.live();
    match report::document(&server.store, Some(&live), &query, now_ms()).await {
        Ok(document) => Json(document).into_response(),
        Err(error) => not("stuck", &[error.to_string()]),
    }
}

pub(super) async fn metrics(State(server): Shared) -> Response {
    if let Err(error) = super::gauges::refresh(&server.store).await {
        // The others are as good as they were.
        tracing::warn!("breakers are not counted: {error}");
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, server.metrics.render()).into_response()
}
