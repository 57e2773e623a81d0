//! The sidecar's own paths: what it knows, and what an admin tells it.

use super::{body::SidecarBody, error, json, route::OwnPath};
use crate::{Live, machine::Action};
use hyper::{
    HeaderMap, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use std::fmt;
use subtle::ConstantTimeEq as _;

/// Guessing one takes longer than there is time.
const SHORTEST: usize = 16;

/// What an admin has to know.
#[derive(Clone)]
pub struct Token(Vec<u8>);

/// Not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the admin token must have {SHORTEST} bytes or more, and be printable")]
pub struct TokenError;

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Token {
    /// Takes it, without the spaces and line ends around it that files have.
    ///
    /// # Errors
    /// Where it is too short, or cannot be sent.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        let token = Self(text.as_bytes().to_vec());
        (text.len() >= SHORTEST && is_sendable).then_some(token).ok_or(TokenError)
    }

    /// In the same time, however much of it is right.
    fn is(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return false };
        let bearer = value.as_bytes().split_at_checked(7);
        bearer.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(self.0.ct_eq(token))
        })
    }
}

/// Answers a request for one of these paths.
pub(super) fn answer(
    live: &Live,
    path: OwnPath<'_>,
    query: Option<&str>,
    headers: &HeaderMap,
    token: Option<&Token>,
    render: &(dyn Fn() -> String + Send + Sync),
) -> Response<SidecarBody> {
    match path {
        OwnPath::Health => json(StatusCode::OK, &serde_json::json!({ "status": "alive" })),
        OwnPath::Ready if live.is_ready() => {
            json(StatusCode::OK, &serde_json::json!({ "status": "ready" }))
        }
        OwnPath::Ready => error(StatusCode::SERVICE_UNAVAILABLE, "no beacon node can be asked"),
        OwnPath::Status => json(StatusCode::OK, &live.status()),
        OwnPath::Metrics => {
            let mut response = Response::new(SidecarBody::own(render()));
            let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, text);
            response
        }
        OwnPath::Admin(action) => admin(live, action, query, headers, token),
    }
}

fn admin(
    live: &Live,
    action: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    token: Option<&Token>,
) -> Response<SidecarBody> {
    let Some(token) = token else {
        return error(StatusCode::FORBIDDEN, "no admin token is configured");
    };
    if !token.is(headers) {
        return error(StatusCode::UNAUTHORIZED, "the admin token is wrong or missing");
    }
    let action = match action {
        "reset" => Action::Reset,
        "force-open" => Action::ForceOpen,
        "force-closed" => Action::ForceClosed,
        "clear" => Action::Clear,
        _ => {
            return error(
                StatusCode::NOT_FOUND,
                "the actions are reset, force-open, force-closed and clear",
            );
        }
    };
    let ttl = match query {
        None | Some("") => None,
        Some(query) => match query.strip_prefix("ttl=").and_then(|ttl| ttl.parse().ok()) {
            Some(ttl) if ttl > 0 => Some(ttl),
            _ => return error(StatusCode::BAD_REQUEST, "the only parameter is ttl=SECONDS"),
        },
    };
    live.admin(action, ttl);
    json(StatusCode::OK, &live.status())
}
