//! One attempt to say something over HTTP. Nothing that comes of it holds the URL, which is a key.

use super::schedule::retry_after;
use crate::clock::Clock;
use fusebox_rpc::SecretUrl;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use std::{error::Error, fmt, time::Duration};
use url::{Host, Url};

/// From the first byte sent to the last one needed.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How much of an answer is read. What chats say about an error is shorter.
const ANSWER: usize = 4 << 10;

/// A request. Its `Debug` shows no part of it.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

impl Request {
    /// What most of them take.
    pub(crate) fn json(url: Url, body: Vec<u8>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            method: Method::POST,
            url,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Answer { status: u16, retry_after: Option<Duration>, body: Vec<u8> },
    Nothing(Nothing),
}

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Nothing {
    #[error("its name was not resolved")]
    Unresolved,
    #[error("it refused the connection")]
    Refused,
    #[error("there was no answer within 15 s")]
    Late,
    #[error("its certificate was not accepted")]
    Certificate,
    #[error("the connection broke")]
    Broken,
}

impl Nothing {
    /// Whether it may have arrived all the same. Only these two are sure.
    pub(crate) fn may_have_arrived(self) -> bool {
        !matches!(self, Self::Unresolved | Self::Refused)
    }
}

/// A URL to which nothing may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlError {
    #[error("is no URL of a host")]
    NoUrl,
    #[error("is neither https nor on the loopback")]
    Open,
}

/// The URL, if what is sent there is nobody else's to read.
pub(crate) fn checked(url: &SecretUrl) -> Result<Url, UrlError> {
    let url = url.parse().ok_or(UrlError::NoUrl)?;
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return Err(UrlError::NoUrl),
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        _ => Err(UrlError::Open),
    }
}

/// How long a connection is kept for the next message. Many servers close theirs after five seconds, and what is sent just
/// then breaks, and is sent again later than it need be.
const IDLE: Duration = Duration::from_secs(4);

/// The clients that all channels share.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    /// Through the machine's proxy, if it has one: of https it sees the host only.
    sealed: reqwest::Client,
    /// To the loopback, past any proxy: that one would read the URL.
    here: reqwest::Client,
}

/// The machine's TLS set-up cannot be used.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the machine's certificates cannot be read, so nothing can be sent over https")]
pub(crate) struct NoTls;

impl Http {
    /// # Errors
    /// [`NoTls`].
    pub(crate) fn new() -> Result<Self, NoTls> {
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("fusebox-keeper/", env!("CARGO_PKG_VERSION")))
                .pool_idle_timeout(IDLE)
                // Where it would lead is not what was configured, and the secret would go there.
                .redirect(reqwest::redirect::Policy::none())
                // Each attempt is written down before it is made.
                .retry(reqwest::retry::never())
                .referer(false)
        };
        let client = |builder: reqwest::ClientBuilder| builder.build().map_err(|_| NoTls);
        Ok(Self { sealed: client(builder())?, here: client(builder().no_proxy())? })
    }

    /// Sends it once.
    pub(crate) async fn send(&self, request: Request, clock: &dyn Clock) -> Heard {
        self.send_for(request, clock, ANSWER).await
    }

    /// Sends it once, for an answer of which so many bytes are read.
    pub(crate) async fn send_for(&self, request: Request, clock: &dyn Clock, most: usize) -> Heard {
        let Request { method, url, headers, body } = request;
        let client = if url.scheme() == "https" { &self.sealed } else { &self.here };
        let request = client.request(method, url).headers(headers).body(body);
        let mut late = clock.sleep(TIMEOUT);
        let mut response = tokio::select! {
            response = request.send() => match response {
                Ok(response) => response,
                Err(error) => return Heard::Nothing(why(&error)),
            },
            () = &mut late => return Heard::Nothing(Nothing::Late),
        };
        let now = Duration::from_millis(clock.now_ms());
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|header| retry_after(header, now));
        let mut body = Vec::new();
        // The status has said what matters: a body that does not come changes nothing.
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
                if body.len() == most {
                    break;
                }
            }
        };
        tokio::select! {
            () = read => {}
            () = late => {}
        }
        Heard::Answer { status: response.status().as_u16(), retry_after, body }
    }
}

/// The error itself is not kept: it quotes the URL.
fn why(error: &reqwest::Error) -> Nothing {
    if !error.is_connect() {
        return Nothing::Broken;
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        // hyper wraps the resolver's error in a private type, and rustls its own: only the text can be seen.
        let text = inner.to_string();
        if text.starts_with("dns error") {
            return Nothing::Unresolved;
        }
        if text.contains("certificate") {
            return Nothing::Certificate;
        }
        let io = inner.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused) {
            return Nothing::Refused;
        }
        cause = inner.source();
    }
    Nothing::Broken
}
