//! One HTTP request and all that comes back: status, headers and body stay together until they are judged. What comes
//! over a WebSocket takes the same form, without status and headers.
//!
//! alloy's own HTTP transport throws away the headers of an answer that has a JSON-RPC body, with them `Retry-After`,
//! and has no deadline. So this is a send of our own. It follows no redirect: a key would travel to wherever the
//! redirect points, and a POST would turn into a GET.

use std::borrow::Cow;
use std::error::Error as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use super::call::Call;
use crate::reply::{NoAnswer, Reply, ReplyHeaders};

/// The largest answer that is read, after decompression. A trace of a full block has tens of MiB; beyond, an endpoint
/// could fill the memory of its clients at will.
pub(crate) const MAX_BODY: usize = 64 * 1024 * 1024;

/// An HTTP response whose body arrived whole, or a WebSocket message.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    /// `None` for a WebSocket message.
    pub(crate) status: Option<u16>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Over a WebSocket: the id of the first call, instead of its own; those of the others follow.
    pub(crate) first_id: Option<u64>,
}

impl Raw {
    /// A WebSocket message.
    pub(crate) fn message(body: Bytes, first_id: u64) -> Self {
        Self { status: None, headers: HeaderMap::new(), body, first_id: Some(first_id) }
    }

    /// The id, as JSON text, under which the call at this place of its request was sent.
    pub(crate) fn id<'a>(&self, call: &'a Call, at: usize) -> Cow<'a, str> {
        match self.first_id {
            Some(first) => (first + at as u64).to_string().into(),
            None => call.id_text.as_str().into(),
        }
    }

    /// As the classifier wants it, for the body or a part of it.
    pub(crate) fn reply<'a>(&'a self, body: &'a [u8]) -> Reply<'a> {
        let Some(status) = self.status else { return Reply::Ws { body } };
        let texts = self
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        Reply::Http { status, headers: ReplyHeaders::pick(texts), body }
    }
}

/// What became of a request.
#[derive(Debug, Clone)]
pub(crate) enum Received {
    /// It was answered.
    Answer(Raw),
    /// The other side would have none: it said so when the connection was made, before anything was sent.
    Refused(Raw),
    /// It was answered at a length above [`MAX_BODY`].
    Oversized,
    /// It was not answered yet when its caller would wait no longer.
    CutShort,
    /// It was not.
    Nothing(NoAnswer),
}

/// The HTTP client that a pool's endpoints share.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    max_body: usize,
}

impl Http {
    /// `None` if the machine's TLS set-up cannot be used.
    pub(crate) fn new(connect: Duration) -> Option<Self> {
        let client = builder(connect).build().ok()?;
        Some(Self { client, max_body: MAX_BODY })
    }

    /// The same, for connections that become WebSockets. They are used for nothing else, and HTTP/2 has no way to become
    /// one, so that none must be negotiated.
    pub(crate) fn for_websockets(connect: Duration) -> Option<Self> {
        let client = builder(connect).http1_only().pool_max_idle_per_host(0).build().ok()?;
        Some(Self { client, max_body: MAX_BODY })
    }

    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Sends one body. Ends by itself only when the other side does something: the caller sets the deadline.
    pub(crate) async fn send(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Received {
        let request = self
            .client
            .post(url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .headers(headers)
            .body(body);
        match request.send().await {
            Ok(response) => self.receive(response).await,
            Err(error) => Received::Nothing(why(&error)),
        }
    }

    /// Reads an answer to its end.
    pub(crate) async fn receive(&self, mut response: reqwest::Response) -> Received {
        let status = Some(response.status().as_u16());
        let headers = std::mem::take(response.headers_mut());
        let mut body = BytesMut::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.max_body => {
                    return Received::Oversized;
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(_) => return Received::Nothing(NoAnswer::CutBody),
            }
        }
        Received::Answer(Raw { status, headers, body: body.freeze(), first_id: None })
    }

    #[cfg(test)]
    pub(crate) fn with_max_body(mut self, max_body: usize) -> Self {
        self.max_body = max_body;
        self
    }
}

fn builder(connect: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        // What is sent again, and where, is decided above.
        .retry(reqwest::retry::never())
        .referer(false)
}

/// The error itself is not kept: it quotes the URL.
pub(crate) fn why(error: &reqwest::Error) -> NoAnswer {
    if !error.is_connect() {
        return NoAnswer::Reset;
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        // hyper wraps the resolver's error in a private type, of which only the text can be seen.
        if inner.to_string().starts_with("dns error") {
            return NoAnswer::Dns;
        }
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && io
                .get_ref()
                .is_some_and(|tls| tls.to_string().starts_with("invalid peer certificate"))
        {
            return NoAnswer::Certificate;
        }
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && io.get_ref().is_some_and(|tls| tls.to_string().contains("TLS") || is_tls(tls))
        {
            return NoAnswer::Tls;
        }
        cause = inner.source();
    }
    NoAnswer::Connect
}

/// rustls reports through `std::io::Error` with one of these kinds of text; the type is not ours to name.
fn is_tls(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let text = error.to_string();
    ["certificate", "handshake", "corrupt message", "received fatal alert", "peer "]
        .iter()
        .any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use fusebox_testkit::{Chain, HttpReply, Node, on};
    use serde_json::json;

    use super::*;

    /// What becomes of an answer whose body has so many bytes, where 100 are read.
    async fn received(reply: HttpReply) -> Received {
        let rule = on("eth_call").http(reply);
        let node = Node::scripted(Chain::new()).rule(rule).start().await.unwrap();
        let http = Http::new(Duration::from_secs(5)).unwrap().with_max_body(100);
        let body = json!({ "id": 1, "method": "eth_call", "params": [] }).to_string();
        http.send(&node.url().parse().unwrap(), HeaderMap::new(), body.into()).await
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_cap() {
        for (bytes, fits) in [(99, true), (100, true), (101, false), (1_000_000, false)] {
            let got = received(HttpReply::new(200).body("x".repeat(bytes))).await;
            match got {
                Received::Answer(raw) => assert!(fits && raw.body.len() == bytes, "{bytes}"),
                Received::Oversized => assert!(!fits, "{bytes}"),
                other => panic!("{bytes}: {other:?}"),
            }
        }
    }

    /// 100 and 101 times "x", packed by gzip into 24 bytes each.
    const PACKED: [&str; 2] = [
        "1f8b0800000000000203aba8a03d00008f5d0e5e64000000",
        "1f8b0800000000000203aba8a00300006f8685f165000000",
    ];

    #[tokio::test]
    async fn the_cap_counts_what_was_unpacked() {
        for (packed, fits) in PACKED.into_iter().zip([true, false]) {
            let packed = alloy::primitives::hex::decode(packed).unwrap();
            let reply = HttpReply::new(200).header("content-encoding", "gzip").body(packed);
            match received(reply).await {
                Received::Answer(raw) => assert!(fits && raw.body == "x".repeat(100), "{raw:?}"),
                got => assert!(!fits && matches!(got, Received::Oversized), "{got:?}"),
            }
        }
    }

    #[tokio::test]
    async fn status_headers_and_body_stay_together() {
        let reply = HttpReply::new(429).header("retry-after", "7").body("{\"error\":\"x\"}");
        let Received::Answer(raw) = received(reply).await else { panic!("no answer") };
        let Reply::Http { status, headers, body } = raw.reply(&raw.body) else {
            panic!("not HTTP")
        };
        assert_eq!(
            (status, headers.retry_after, body),
            (429, Some("7"), &b"{\"error\":\"x\"}"[..])
        );
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_not_followed() {
        let reply = HttpReply::new(307).header("location", "http://127.0.0.1:1/");
        let Received::Answer(raw) = received(reply).await else { panic!("followed") };
        assert_eq!(raw.status, Some(307));
    }

    #[tokio::test]
    async fn what_kind_of_connection_failed_is_told_apart() {
        let http = Http::new(Duration::from_secs(5)).unwrap();
        let node = Node::scripted(Chain::new()).start().await.unwrap();
        node.door(fusebox_testkit::Door::TlsGarbage).await;
        for (url, want) in [
            (node.https_url(), NoAnswer::Tls),
            ("http://no-such-host.invalid/".to_owned(), NoAnswer::Dns),
            ("http://127.0.0.1:1/".to_owned(), NoAnswer::Connect),
        ] {
            let got = http.send(&url.parse().unwrap(), HeaderMap::new(), Bytes::new()).await;
            assert!(matches!(got, Received::Nothing(got) if got == want), "{url}: {got:?}");
        }
    }
}
