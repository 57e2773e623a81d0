//! The WebSocket of a provider, which only wakes.
//!
//! alloy's reconnects without a pause when a server accepts the socket and then fails (11,970 times in two seconds), and
//! sends pending requests again. So this connection carries nothing but one subscription, and a reconnect has to be
//! earned: only a connection that held and told something true makes the next pause short again.

use std::time::Duration;

use fusebox_breaker::{Category as Kind, Failure, Mode, Outcome};
use futures_util::{SinkExt, StreamExt};
use reqwest::header::HeaderMap;
use rustls_platform_verifier::BuilderVerifierExt;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
};

use super::attempt::Held;
use super::error::Name;
use super::event::PoolEvent;
use super::note::draw;
use super::servers::ServerBreaker;
use super::shared::Shared;
use super::wake::Head;
use crate::context::quantity;
use crate::endpoint::Endpoint;

/// The first pause before a reconnect; doubled for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause. The poll timer does the work meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The random part of a pause, in percent: a restarted gateway meets all its clients at once.
const JITTER_PERCENT: u64 = 20;

/// How long a connection must hold before it counts as good.
const PROVEN: Duration = Duration::from_secs(30);

/// No chain is silent for so long: the connection is dead and TCP has not noticed.
const SILENCE: Duration = Duration::from_secs(60);

/// So many frames in a row that cannot be read, and the other side speaks another language.
const MOST_UNREADABLE: u32 = 10;

/// A header has less than 2 KiB. What is larger is none.
const MAX_MESSAGE: usize = 1024 * 1024;

const CHAIN_ID: u64 = 1;
const SUBSCRIBE: u64 = 2;

/// A WebSocket endpoint of a pool.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: Name,
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: HeaderMap,
    /// Of the class head.
    pub(crate) breaker: Arc<ServerBreaker>,
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// It broke, or could not be made.
    Network,
    /// It serves another chain.
    WrongChain,
}

/// What is known of a connection.
#[derive(Debug, Default)]
struct Progress {
    /// Its chain is the configured one.
    right_chain: bool,
    /// It has told something that could be read.
    valid: bool,
    unreadable: u32,
}

#[derive(Deserialize)]
struct Frame<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

impl Shared {
    /// Listens to one endpoint, for ever.
    pub(crate) async fn listen(&self, line: &Line) {
        let mut failures = 0_u32;
        loop {
            if line.breaker.mode() == Mode::ForcedOpen {
                // Until an operator lets it go.
                self.time.sleep_until(self.time.now().after(MAX_PAUSE)).await;
                continue;
            }
            let started = self.time.now();
            let mut progress = Progress::default();
            let lost = self.connection(line, &mut progress).await;
            let held = self.time.now().since(started) >= PROVEN;
            failures = if held && progress.valid { 0 } else { failures.saturating_add(1) };
            if lost == Lost::WrongChain {
                line.breaker.set_mode(Mode::ForcedOpen);
                continue;
            }
            line.breaker.record_failure(Failure::new(Kind::NETWORK));
            self.metrics.ws_reconnect(&line.name);
            tracing::debug!(provider = &*line.name, failures, "websocket lost");
            self.time.sleep_until(self.time.now().after(pause(failures))).await;
        }
    }

    /// One connection, to its end.
    async fn connection(&self, line: &Line, progress: &mut Progress) -> Lost {
        let connect = self.time.now().after(self.cfg.deadlines.connect);
        let socket = tokio::select! {
            socket = open(line) => socket,
            () = self.time.sleep_until(connect) => None,
        };
        let Some(mut socket) = socket else { return Lost::Network };
        let calls = [
            json!({ "jsonrpc": "2.0", "id": CHAIN_ID, "method": "eth_chainId", "params": [] }),
            json!({ "jsonrpc": "2.0", "id": SUBSCRIBE, "method": "eth_subscribe", "params": ["newHeads"] }),
        ];
        for call in calls {
            let send = socket.send(Message::text(call.to_string()));
            let sent = tokio::select! {
                sent = send => sent.is_ok(),
                () = self.time.sleep_until(connect) => false,
            };
            if !sent {
                return Lost::Network;
            }
        }
        let mut proven = Some(self.time.sleep_until(self.time.now().after(PROVEN)));
        loop {
            let silence = self.time.sleep_until(self.time.now().after(SILENCE));
            let message = tokio::select! {
                message = socket.next() => message,
                () = silence => return Lost::Network,
                () = wait(&mut proven) => {
                    proven = None;
                    if progress.valid
                        && let Some(held) = Held::acquire(&line.breaker)
                    {
                        // A connection that proved good ends a streak of lost ones.
                        held.settle(Outcome::Success);
                    }
                    continue;
                }
            };
            match message {
                Some(Ok(Message::Text(text))) => {
                    if let Some(lost) = self.frame(line, text.as_str(), progress) {
                        return lost;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Frame(_))) => {
                    if progress.is_too_unreadable() {
                        return Lost::Network;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Lost::Network,
            }
        }
    }

    fn frame(&self, line: &Line, text: &str, progress: &mut Progress) -> Option<Lost> {
        let frame = serde_json::from_str::<Frame<'_>>(text).ok();
        let head = |params: &Params<'_>| serde_json::from_str::<Head>(params.result.get()).ok();
        match frame {
            Some(Frame { id: Some(CHAIN_ID), result: Some(id), .. }) => {
                let found = serde_json::from_str::<String>(id.get()).unwrap_or_default();
                if quantity(&found) != Some(self.chain) {
                    let found = self.scrubber.scrub(&found);
                    let expected = format!("{:#x}", self.chain);
                    self.tell(PoolEvent::WrongChain {
                        provider: line.name.clone(),
                        found,
                        expected,
                    });
                    return Some(Lost::WrongChain);
                }
                progress.right_chain = true;
            }
            Some(Frame { id: Some(SUBSCRIBE), result: Some(_), .. }) => {}
            // Without a subscription the connection is of no use.
            Some(Frame { id: Some(SUBSCRIBE), result: None, .. }) => return Some(Lost::Network),
            Some(Frame { params: Some(params), .. }) if progress.right_chain => {
                match head(&params).and_then(|head| head.wake()) {
                    Some(wake) => self.wakes.tell(wake),
                    None => return progress.is_too_unreadable().then_some(Lost::Network),
                }
            }
            Some(_) => {}
            None => return progress.is_too_unreadable().then_some(Lost::Network),
        }
        progress.valid = true;
        progress.unreadable = 0;
        None
    }
}

impl Progress {
    /// One more frame could not be read.
    fn is_too_unreadable(&mut self) -> bool {
        self.unreadable += 1;
        self.unreadable >= MOST_UNREADABLE
    }
}

async fn wait(sleep: &mut Option<super::time::Sleep>) {
    match sleep {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}

fn pause(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE * 2_u32.pow(failures.saturating_sub(1).min(6));
    let pause = doubled.min(MAX_PAUSE);
    pause + pause / 100 * (draw() % (JITTER_PERCENT + 1)) as u32
}

/// Errors are not kept: they quote the URL.
async fn open(line: &Line) -> Option<WebSocketStream<MaybeTlsStream<TcpStream>>> {
    let mut request = line.endpoint.expose_url().as_str().into_client_request().ok()?;
    request.headers_mut().extend(line.headers.clone());
    let connector = match line.endpoint.expose_url().scheme() {
        "wss" => Connector::Rustls(Arc::new(tls()?)),
        _ => Connector::Plain,
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    let opened = connect_async_tls_with_config(request, Some(config), true, Some(connector));
    Some(opened.await.ok()?.0)
}

/// With the provider named: the process may have none, or two to choose from, and rustls panics on either.
fn tls() -> Option<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    Some(builder.with_platform_verifier().ok()?.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute_and_a_fifth() {
        for (failures, want) in
            [(1, 500), (2, 1_000), (3, 2_000), (6, 16_000), (7, 30_000), (99, 30_000)]
        {
            let pause = pause(failures).as_millis();
            assert!((want..=want * 12 / 10).contains(&pause), "{failures}: {pause}");
        }
    }

    #[test]
    fn a_tls_client_can_be_made_here() {
        assert!(tls().is_some());
    }
}
