//! Connections to the sidecar.
//!
//! Written as they come: no date is added, and names of headers keep their case.

use fusebox_builder::Sidecar;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Half of the 1,024 descriptors that a process has in most places: the other half is for the upstream.
const MOST: usize = 512;
/// Clients keep a connection from one slot to the next, and between epochs.
const HEADER_TIMEOUT: Duration = Duration::from_secs(600);
/// After a failure, which is mostly that of a machine without descriptors, which may get some back.
const PAUSE: Duration = Duration::from_millis(50);
/// How long signed blocks have at the end: the longest that one may take.
const DRAIN: Duration = Duration::from_secs(20);
/// How long clients have to take their answers when those are there.
const LEAVE: Duration = Duration::from_secs(1);

/// Serves until it is stopped and all that was asked is answered.
pub(super) async fn serve(listener: TcpListener, sidecar: Sidecar, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MOST));
    let connections = TaskTracker::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .auto_date_header(false)
        .preserve_header_case(true);
    loop {
        let next = async {
            // Only `Semaphore::close` makes this fail, and nobody calls it.
            let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        // Answers are small and waited for.
        stream.set_nodelay(true).ok();
        let connection = http.serve_connection(TokioIo::new(stream), sidecar.clone());
        let stop = stop.clone();
        connections.spawn(async move {
            let _place = place;
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
    timeout(DRAIN, sidecar.idle()).await.ok();
    timeout(LEAVE, connections.wait()).await.ok();
}
