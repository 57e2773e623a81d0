//! Requests over a WebSocket: the same as over HTTP, a frame each way.
//!
//! There are no subscriptions. What a node tells while a connection is down is lost, and nobody is told that it is; a
//! proxy over several nodes would lose it at each failover as well.

use super::{answer::Answer, server::Server};
use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message, WebSocket, close_code},
};
use fusebox_rpc::Pool;
use futures_util::{SinkExt as _, StreamExt as _, stream::FuturesUnordered};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// How many frames of one client are answered at once. Full, it is not read from until one is done.
const MOST_AT_ONCE: usize = 64;

/// How often a client that asks nothing has to show that it is still there. One whose machine is gone never says goodbye.
const PING: Duration = Duration::from_secs(30);

/// Serves a client until it leaves, or the proxy stops and all it has asked is answered.
pub(super) async fn serve(server: Arc<Server>, pool: Pool, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let mut calls = FuturesUnordered::new();
    let mut is_open = true;
    let mut ping = interval_at(Instant::now() + PING, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_there = true;
    while is_open || !calls.is_empty() {
        tokio::select! {
            frame = stream.next(), if is_open && calls.len() < MOST_AT_ONCE => {
                is_there = true;
                match frame {
                    Some(Ok(Message::Text(text))) => calls.push(server.answer(&pool, text.into())),
                    Some(Ok(Message::Binary(bytes))) => calls.push(server.answer(&pool, bytes)),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    // Nobody is left to hear the answers; what is asked goes on by itself.
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                }
            }
            // While it is owed answers it may be that nothing is read.
            _ = ping.tick(), if is_open && calls.is_empty() => {
                let asked = sink.send(Message::Ping(Bytes::new())).await;
                if !std::mem::take(&mut is_there) || asked.is_err() {
                    return;
                }
            }
            Some(Answer { body, held: _held, .. }) = calls.next() => {
                let Some(body) = body else { continue };
                // Whoever takes none of it for too long loses the connection, which is below this.
                if sink.send(Message::text(body)).await.is_err() {
                    return;
                }
            }
            () = server.stopping(), if is_open => is_open = false,
        }
    }
    let bye = CloseFrame { code: close_code::AWAY, reason: "the proxy stops".into() };
    sink.send(Message::Close(Some(bye))).await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        http::{Door, connections},
        rpc::server::tests::server,
    };
    use tokio::{net::TcpListener, task::JoinHandle, time::sleep};
    use tokio_tungstenite::{connect_async, tungstenite};
    use tokio_util::sync::CancellationToken;

    /// A server, where it is, and its task.
    async fn started() -> (Arc<Server>, String, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let server = server("http://127.0.0.1:1");
        let router = Arc::clone(&server).router(Door::default());
        let serving = connections::serve(listener, router, CancellationToken::new());
        let serving = tokio::spawn(serving);
        (server, url, serving)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_no_answer_is_not_kept() {
        let (server, url, serving) = started().await;
        let mut stuck = connect_async(&url).await.unwrap().0;
        // The answer repeats the id: together more than all buffers on the way hold.
        let long =
            format!(r#"{{"jsonrpc":"2.0","method":7,"id":"{}"}}"#, "x".repeat(4 * 1024 * 1024));
        let began = Instant::now();
        for _ in 0..8 {
            // The connection may be lost while this waits for room.
            if stuck.send(tungstenite::Message::text(long.clone())).await.is_err() {
                break;
            }
        }
        while server.busy() > 0 {
            sleep(Duration::from_secs(1)).await;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        serving.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_shows_no_life_is_not_kept() {
        let (server, url, serving) = started().await;
        let mut lively = connect_async(&url).await.unwrap().0;
        // A socket answers a ping when it is read from.
        for _ in 0..5 {
            let said = lively.next().await.unwrap().unwrap();
            assert!(matches!(said, tungstenite::Message::Ping(_)), "{said}");
        }
        drop(lively);
        let (_silent, _) = connect_async(&url).await.unwrap();
        while server.busy() > 1 {
            sleep(PING).await;
        }
        assert_eq!(server.busy(), 1);
        sleep(PING * 2 + Duration::from_secs(1)).await;
        assert_eq!(server.busy(), 0);
        serving.abort();
    }
}
