//! A policy with a defect, which only tests of this crate can name.

use super::*;
use crate::{Paths, Seen, Sidecar, SidecarOptions, SlotsPerEpoch, Upstream};
use fusebox_testkit::{HttpReply, Relay};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::{net::SocketAddr, sync::atomic::AtomicI64};
use tokio::{net::TcpListener, task::JoinSet};

#[derive(Debug, Default)]
struct Turned(AtomicI64);

impl Clock for Turned {
    fn unix_ms(&self) -> i64 {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}

async fn serve(sidecar: Sidecar) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), sidecar.clone());
            tokio::spawn(async move { connection.await.ok() });
        }
    });
    (address, tasks)
}

#[tokio::test]
async fn a_policy_that_panics_takes_neither_the_process_down_nor_a_signed_block() {
    let clock = Arc::new(Turned(AtomicI64::new(1_201_000)));
    let options = LiveOptions {
        policy: "any(panics,seed)".parse().unwrap(),
        recovery: None,
        start: Start::Zero,
        on_unknown: OnUnknown::Local,
    };
    let live = Live::new(options, Arc::clone(&clock) as _, vec!["node".to_owned()], None);
    let (slot_ms, slots_per_epoch) = (12_000.try_into().unwrap(), SlotsPerEpoch::MAINNET);
    let network =
        Network { clock: SlotClock { slot_ms, slots_per_epoch }, genesis: 0, gloas_epoch: None };
    assert!(live.join(network));
    live.observe(Observation::Stream { node: 0, up: true });
    let blocks = Vec::<Seen>::new();
    live.observe(Observation::Snapshot { node: 0, from: 100, blocks, whole_tree: true });
    let relay = Relay::start().await.unwrap();
    relay.answer("blinded_blocks", HttpReply::new(202));
    let options = SidecarOptions {
        live: Arc::clone(&live),
        upstream: Some(Upstream::new(&relay.url()).unwrap()),
        token: None,
        metrics: Box::new(String::new),
    };
    let (address, _tasks) = serve(Sidecar::new(options, Paths::All)).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = |path: &str| format!("http://{address}{path}");
    for slot in 101..=110 {
        clock.0.store(slot * 12_000 + 6_000, std::sync::atomic::Ordering::SeqCst);
        let header = url(&format!("/eth/v1/builder/header/{slot}/0xab/0xcd"));
        assert_eq!(client.get(header).send().await.unwrap().status(), 204);
        let submit = client.post(url("/eth/v2/builder/blinded_blocks")).body("signed");
        assert_eq!(submit.send().await.unwrap().status(), 202);
        let registered = client.post(url("/eth/v1/builder/validators")).body("[]");
        assert_eq!(registered.send().await.unwrap().status(), 200);
        let status: serde_json::Value =
            client.get(url("/status")).send().await.unwrap().json().await.unwrap();
        assert_eq!(status["decision"]["cause"], "internal");
        assert_eq!((&status["state"], &status["trip"]), (&"closed".into(), &().into()));
    }
    assert_eq!(relay.requests_for("blinded_blocks").len(), 10);
    assert!(relay.requests_for("header").is_empty());
}
