//! Requests over a WebSocket: the same as over HTTP, a frame each way.
//!
//! There are no subscriptions. What a node tells while a connection is down is lost, and nobody is told that it is; a
//! proxy over several nodes would lose it at each failover as well.

use super::{answer::Answer, server::Server};
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use fusebox_rpc::Pool;
use futures_util::{SinkExt as _, StreamExt as _, stream::FuturesUnordered};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// How many frames of one client are answered at once. Full, it is not read from until one is done.
const MOST_AT_ONCE: usize = 64;

/// How long a client may take to take an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a client until it leaves, or the proxy stops and all it has asked is answered.
pub(super) async fn serve(server: Arc<Server>, pool: Pool, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let mut calls = FuturesUnordered::new();
    let mut is_open = true;
    while is_open || !calls.is_empty() {
        tokio::select! {
            frame = stream.next(), if is_open && calls.len() < MOST_AT_ONCE => match frame {
                Some(Ok(Message::Text(text))) => calls.push(server.answer(&pool, text.into())),
                Some(Ok(Message::Binary(bytes))) => calls.push(server.answer(&pool, bytes)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                // Nobody is left to hear the answers; what is asked goes on by itself.
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            Some(Answer { body, .. }) = calls.next() => {
                let Some(body) = body else { continue };
                let sent = timeout(WRITE_TIMEOUT, sink.send(Message::text(body))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
            }
            () = server.stopping(), if is_open => is_open = false,
        }
    }
    let bye = CloseFrame { code: close_code::AWAY, reason: "the proxy stops".into() };
    timeout(WRITE_TIMEOUT, sink.send(Message::Close(Some(bye)))).await.ok();
}
