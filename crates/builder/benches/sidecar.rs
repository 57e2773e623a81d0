//! What the sidecar costs: `cargo bench -p fusebox-builder --bench sidecar -- --check`.
//!
//! A relay that answers 1.8 kB, on the loopback. Direct and proxied requests alternate, each over one connection that is kept,
//! so that both meet the same machine. Then the same with an open breaker, and 32 uploads of 20 MiB at once.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)] // it measures, and says so

#[allow(dead_code)] // what other benches need
mod common;

use bytes::Bytes;
use common::{Bars, median, peak_memory};
use fusebox_builder::{
    Action, Live, LiveOptions, Network, Observation, OnUnknown, Paths, Sidecar, SidecarOptions,
    SlotClock, SlotsPerEpoch, Start, Upstream, WallClock,
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    convert::Infallible,
    net::SocketAddr,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

const WARM_UP: usize = 500;
const REQUESTS: usize = 5_000;
const ROUNDS: usize = 3;
const UPLOADS: usize = 32;

fn main() -> ExitCode {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(run())
}

async fn run() -> ExitCode {
    let relay = relay().await;
    let clock =
        SlotClock { slot_ms: 12_000.try_into().unwrap(), slots_per_epoch: SlotsPerEpoch::MAINNET };
    let options = LiveOptions {
        policy: "seed".parse().unwrap(),
        recovery: None,
        start: Start::Zero,
        on_unknown: OnUnknown::Forward,
    };
    let live = Live::new(options, Arc::new(WallClock), vec!["node".to_owned()], None);
    live.join(Network { clock, genesis: 0, gloas_epoch: None });
    live.observe(Observation::Stream { node: 0, up: true });
    let options = SidecarOptions {
        live: Arc::clone(&live),
        upstream: Some(Upstream::new(&format!("http://{relay}")).unwrap()),
        token: None,
        metrics: Box::new(String::new),
    };
    let sidecar = Sidecar::new(options, Paths::All);
    let proxied = serve(move |request| {
        let sidecar = sidecar.clone();
        async move { hyper::service::Service::call(&sidecar, request).await.unwrap() }
    })
    .await;
    let mut bars = Bars::default();
    let mut added = Vec::new();
    for _ in 0..ROUNDS {
        let [direct, through] = alternate([relay, proxied]).await;
        eprintln!("p99 direct {direct:?}, proxied {through:?}");
        added.push(through.saturating_sub(direct));
    }
    bars.at_most("closed: what the sidecar adds, p99", ms(median(added)), 0.15, "ms");
    live.admin(Action::ForceOpen, None);
    let mut open = Vec::new();
    for _ in 0..ROUNDS {
        let [time] = alternate([proxied]).await;
        open.push(time);
    }
    bars.at_most("open: 204, p99", ms(median(open)), 0.3, "ms");
    upload(proxied).await;
    if let Some(kib) = peak_memory() {
        bars.at_most(
            "sidecar: peak memory with 32 uploads of 20 MiB at once",
            kib as f64 / 1024.0,
            96.0,
            "MiB",
        );
    }
    bars.verdict()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The 99th percentile of each, request by request in turn.
async fn alternate<const N: usize>(to: [SocketAddr; N]) -> [Duration; N] {
    let mut streams = Vec::new();
    for address in to {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        streams.push((stream, Vec::new()));
    }
    for number in 0..WARM_UP + REQUESTS {
        for (stream, times) in &mut streams {
            let begun = Instant::now();
            ask(stream).await;
            if number >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
    }
    let mut p99 = streams.into_iter().map(|(_, mut times)| {
        times.sort_unstable();
        times[times.len() * 99 / 100]
    });
    std::array::from_fn(|_| p99.next().unwrap())
}

async fn ask(stream: &mut TcpStream) {
    const REQUEST: &str = "GET /eth/v1/builder/header/1/0xab/0xcd HTTP/1.1\r\nHost: a\r\n\r\n";
    stream.write_all(REQUEST.as_bytes()).await.unwrap();
    let mut got = Vec::with_capacity(4_096);
    loop {
        assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0);
        let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&got[..end]).unwrap();
        let length = head
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
        if got.len() == end + 4 + length {
            return;
        }
    }
}

async fn upload(to: SocketAddr) {
    let chunk: Bytes = vec![b'x'; 64 << 10].into();
    let mut uploads = JoinSet::new();
    for _ in 0..UPLOADS {
        let chunk = chunk.clone();
        uploads.spawn(async move {
            let mut stream = TcpStream::connect(to).await.unwrap();
            let head = format!(
                "POST /eth/v1/builder/validators HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                20 << 20
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            for _ in 0..(20 << 20) / chunk.len() {
                stream.write_all(&chunk).await.unwrap();
            }
            let mut status = [0; 12];
            stream.read_exact(&mut status).await.unwrap();
            assert_eq!(&status, b"HTTP/1.1 200");
        });
    }
    while let Some(done) = uploads.join_next().await {
        done.unwrap();
    }
}

/// Answers 1.8 kB, and keeps nothing of what comes.
async fn relay() -> SocketAddr {
    let bid: Bytes = vec![b'b'; 1_800].into();
    serve(move |request: Request<Incoming>| {
        let bid = bid.clone();
        async move {
            let mut body = request.into_body();
            while let Some(frame) = body.frame().await {
                frame.unwrap();
            }
            Response::new(Full::new(bid))
        }
    })
    .await
}

async fn serve<F, A, B>(answer: F) -> SocketAddr
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<B>> + Send + 'static,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let answer = answer.clone();
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            tokio::spawn(async move {
                let mut http = http1::Builder::new();
                http.auto_date_header(false).preserve_header_case(true);
                http.serve_connection(TokioIo::new(stream), service).await.ok();
            });
        }
    });
    address
}
