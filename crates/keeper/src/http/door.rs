//! Who is let in.
//!
//! What listens on loopback has no password, and its user's browser is on loopback, too. A page of any site can send requests
//! there; what it may read of the answers is the browser's business, but a transaction is sent without being read. Two
//! headers that no page can change tell such requests apart:
//!
//! - `Origin` says whose page it is. A page of ours does not exist, so there must be none, or one that was allowed by
//!   name. Browsers leave it out only of plain navigation and of what `<img>` and `<script>` fetch: those are GETs, and a
//!   GET reads the state and changes nothing. Clients that are no browsers send none, or that of the address they ask.
//! - `Host` says which name led here. A site whose name suddenly resolves to 127.0.0.1 (DNS rebinding) has the right
//!   origin, but its own name there. An address needs no name, and the names of this machine belong to nobody else.
//!
//! Beyond that a POST must call itself JSON, which a page cannot do without asking first (a CORS preflight), and only an
//! allowed origin gets a yes.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{net::IpAddr, sync::Arc};

/// How long a browser may remember that it was let in.
const PREFLIGHT_SECONDS: &str = "600";

/// What geth takes for JSON-RPC.
const JSON: [&str; 3] = ["application/json", "application/json-rpc", "application/jsonrequest"];

/// Names and origins that are let in besides the usual ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Door {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    /// Whether there is something to read only: nothing is posted, and no page reads it.
    pub(crate) is_read_only: bool,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shut {
    Host,
    Origin,
}

impl Shut {
    fn why(self, is_read_only: bool) -> &'static str {
        match self {
            Self::Host if is_read_only => {
                "this name is not one of the keeper's: use its address or localhost, or add the name to hosts in [server]\n"
            }
            Self::Origin if is_read_only => "pages and extensions may not read this\n",
            Self::Host => {
                "this name is not one of the proxy's: use its address or localhost, or start it with --allow-host NAME\n"
            }
            Self::Origin => {
                "pages and extensions may not use this proxy: to let one in, start it with --allow-origin ORIGIN\n"
            }
        }
    }
}

impl Door {
    /// The origin that has to be told that it is let in, if it is one.
    fn check<'h>(&self, headers: &'h HeaderMap) -> Result<Option<&'h HeaderValue>, Shut> {
        let host = only(headers, &header::HOST).ok().flatten().ok_or(Shut::Host)?;
        let host = Authority::try_from(host.as_bytes()).map_err(|_| Shut::Host)?;
        if !self.is_ours(host.host()) {
            return Err(Shut::Host);
        }
        let Some(origin) = only(headers, &header::ORIGIN)? else { return Ok(None) };
        let is_same = origin.as_bytes().strip_prefix(b"http://") == Some(host.as_str().as_bytes());
        let is_allowed = self.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
        if is_same || is_allowed { Ok(Some(origin)) } else { Err(Shut::Origin) }
    }

    fn is_ours(&self, host: &str) -> bool {
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let host = host.to_ascii_lowercase();
        is_address
            || host == "localhost"
            || host.ends_with(".localhost")
            || self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(&host))
    }
}

/// The value of a header that must not be there twice: nobody could tell which one counts.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h HeaderValue>, Shut> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(Shut::Origin),
    }
}

/// Stands before every path.
pub(crate) async fn guard(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let origin = match door.check(request.headers()) {
        Ok(origin) => origin.cloned(),
        Err(shut) => return (StatusCode::FORBIDDEN, shut.why(door.is_read_only)).into_response(),
    };
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = match *request.method() {
        _ if door.is_read_only && !is_read => {
            let why = "there is nothing to write here: GET and HEAD only\n";
            (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")], why).into_response()
        }
        Method::OPTIONS => preflight(request.headers()),
        Method::POST if !is_json(request.headers()) => {
            let why = "send JSON, with the header content-type: application/json\n";
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, why).into_response()
        }
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

fn preflight(headers: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let private = HeaderName::from_static("access-control-request-private-network");
    let mut answer =
        |name, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
    answer(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
    answer(header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type");
    answer(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
    if headers.contains_key(private) {
        answer(HeaderName::from_static("access-control-allow-private-network"), "true");
    }
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let media = given.and_then(|given| given.split(';').next()).unwrap_or_default().trim();
    JSON.iter().any(|json| json.eq_ignore_ascii_case(media))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)]) -> Result<bool, Shut> {
        let door = Door {
            hosts: vec!["keeper.internal".to_owned()],
            origins: vec!["http://localhost:3000".to_owned()],
            is_read_only: false,
        };
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        let headers: Vec<_> = headers.collect();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        door.check(&map).map(|origin| origin.is_some())
    }

    #[test]
    fn an_address_and_the_names_of_this_machine_are_ours_and_no_other() {
        for host in [
            "127.0.0.1:9545",
            "127.0.0.1",
            "[::1]:9545",
            "10.0.0.7:80",
            "localhost:9545",
            "LOCALHOST",
            "a.localhost:1",
            "keeper.internal:9545",
            "Keeper.Internal",
        ] {
            assert_eq!(check(&[("host", host)]), Ok(false), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9545",
            "localhost.evil.example",
            "evillocalhost",
            "localhost.",
            "127.0.0.1.evil.example",
            "2130706433",
            "keeper.internal.evil.example",
            "",
            "a b",
        ] {
            assert_eq!(check(&[("host", host)]), Err(Shut::Host), "{host}");
        }
        assert_eq!(check(&[]), Err(Shut::Host));
        assert_eq!(check(&[("host", "localhost"), ("host", "localhost")]), Err(Shut::Host));
    }

    #[test]
    fn of_pages_only_an_allowed_one_is_let_in() {
        let from = |origin: &str| check(&[("host", "127.0.0.1:9545"), ("origin", origin)]);
        for origin in ["http://localhost:3000", "http://127.0.0.1:9545"] {
            assert_eq!(from(origin), Ok(true), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://localhost:3001",
            "https://localhost:3000",
            "http://localhost:3000.evil.example",
            "http://127.0.0.1:8080",
            "https://127.0.0.1:9545",
            "chrome-extension://abc",
            "http://127.0.0.1:95450",
        ] {
            assert_eq!(from(origin), Err(Shut::Origin), "{origin}");
        }
        let twice =
            [("host", "localhost"), ("origin", "http://localhost:3000"), ("origin", "null")];
        assert_eq!(check(&twice), Err(Shut::Origin));
        // A rebound name has the right origin and the wrong host.
        let rebound = [("host", "evil.example:9545"), ("origin", "http://evil.example:9545")];
        assert_eq!(check(&rebound), Err(Shut::Host));
    }

    #[test]
    fn json_is_what_calls_itself_so() {
        for (given, want) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("Application/JSON", true),
            ("application/json-rpc", true),
            ("text/plain", false),
            ("text/plain; application/json", false),
            ("application/x-www-form-urlencoded", false),
            ("application/jsonx", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(given));
            assert_eq!(is_json(&headers), want, "{given}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
