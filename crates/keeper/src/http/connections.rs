//! Connections: how many there are, and how long one may keep its place without using it.
//!
//! Each holds a descriptor, and without one no node can be reached either. So whoever comes when there is no place left
//! waits for one. A client that stops half way, in its question or in taking the answer, loses its place.

use axum::{Router, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Half of the 1,024 descriptors that a process has in most places: the other half is for nodes.
const MOST: usize = 512;

/// How long a client may take from one request to the end of the next one's headers, as with geth. Clients close what they
/// do not use themselves before that (reqwest after 90 s), and do not run into a server that does.
const HEADER_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a client may take none of an answer, as a WebSocket too.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves whoever connects, until it is stopped and all that was asked is answered.
pub(crate) async fn serve(mut listener: TcpListener, router: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MOST));
    let connections = TaskTracker::new();
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    loop {
        let next = async {
            // Only `Semaphore::close` makes this fail, and nobody calls it.
            let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
            let (stream, _) = Listener::accept(&mut listener).await;
            Line { stream, stalled: None, _place: place }
        };
        let line = tokio::select! {
            line = next => line,
            () = stop.cancelled() => break,
        };
        let connection = http.serve_connection(TokioIo::new(line), service.clone()).with_upgrades();
        let stop = stop.clone();
        connections.spawn(async move {
            let mut connection = pin!(connection);
            // How it ends is its client's business.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await.ok();
                }
            }
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// A connection, also when it has become a WebSocket.
struct Line {
    stream: TcpStream,
    /// Since when nothing could be written.
    stalled: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Line {
    /// Writes, and fails where that is not possible for too long.
    fn write<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |stream, context| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::timeout,
    };

    /// More than all buffers on the way hold.
    const LARGE: usize = 64 * 1024 * 1024;

    /// What a client gets that writes this and then waits for the end. Time passes as soon as all wait.
    async fn told(written: &str, patience: Duration) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || vec![0_u8; LARGE]));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router, stop.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(written.as_bytes()).await.unwrap();
        sleep(patience).await;
        if patience > Duration::ZERO {
            // What the system has on its way is nothing to wait for, so time would pass while this reads.
            tokio::time::resume();
        }
        let mut got = Vec::new();
        let end = timeout(2 * HEADER_TIMEOUT, client.read_to_end(&mut got));
        end.await.expect("it ends").ok();
        stop.cancel();
        serving.await.unwrap();
        got.len()
    }

    const WHOLE: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn half_a_question_is_not_waited_for() {
        assert_eq!(told(&WHOLE[..30], Duration::ZERO).await, 0);
        assert_eq!(told("", Duration::ZERO).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_an_answer_late_gets_all_of_it() {
        assert!(told(WHOLE, WRITE_TIMEOUT - Duration::from_secs(1)).await > LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_none_of_an_answer_does_not_get_the_rest() {
        assert!(told(WHOLE, WRITE_TIMEOUT + Duration::from_secs(1)).await < LARGE);
    }
}
