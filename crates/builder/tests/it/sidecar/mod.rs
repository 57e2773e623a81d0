//! The sidecar between a client that writes bytes and a relay that keeps them.

mod admin;
mod client;
mod pass;
mod refuse;

use client::Client;
use fusebox_builder::{
    Clock, Live, LiveOptions, Network, Observation, OnUnknown, Paths, Sidecar, SidecarOptions,
    Sleep, SlotClock, SlotsPerEpoch, Start, Token, Upstream,
};
use fusebox_testkit::{Clock as _, ManualClock, Relay};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinSet};

pub(crate) const TOKEN: &str = "0123456789abcdef";
pub(crate) const SLOT: Duration = Duration::from_secs(12);

/// The testkit's clock as the breaker's.
#[derive(Clone, Debug)]
pub(crate) struct Manual(pub(crate) ManualClock);

impl Clock for Manual {
    fn unix_ms(&self) -> i64 {
        self.0.now().as_millis() as i64
    }

    fn sleep(&self, time: Duration) -> Sleep {
        self.0.sleep(time)
    }
}

/// A sidecar at slot 100 of a chain whose genesis is the epoch, with a node that is up and said nothing more.
pub(crate) struct Setup {
    pub(crate) relay: Relay,
    pub(crate) live: Arc<Live>,
    pub(crate) clock: ManualClock,
    pub(crate) address: SocketAddr,
    pub(crate) sidecar: Sidecar,
    _tasks: JoinSet<()>,
}

impl Setup {
    pub(crate) async fn start() -> Self {
        let setup = Self::unknown(OnUnknown::Local).await;
        setup.join();
        setup
    }

    /// Before any node has said anything.
    pub(crate) async fn unknown(on_unknown: OnUnknown) -> Self {
        let relay = Relay::start().await.unwrap();
        let clock = ManualClock::new(100 * SLOT + Duration::from_secs(1));
        let options = LiveOptions {
            policy: "seed".parse().unwrap(),
            recovery: None,
            start: Start::Zero,
            on_unknown,
        };
        let live =
            Live::new(options, Arc::new(Manual(clock.clone())), vec!["node".to_owned()], None);
        let options = SidecarOptions {
            live: Arc::clone(&live),
            upstream: Some(Upstream::new(&relay.url()).unwrap()),
            token: Some(Token::new(TOKEN).unwrap()),
            metrics: Box::new(String::new),
        };
        let sidecar = Sidecar::new(options, Paths::All);
        let (address, tasks) = serve(sidecar.clone()).await;
        Self { relay, live, clock, address, sidecar, _tasks: tasks }
    }

    pub(crate) fn join(&self) {
        let clock = SlotClock {
            slot_ms: 12_000.try_into().unwrap(),
            slots_per_epoch: SlotsPerEpoch::MAINNET,
        };
        assert!(self.live.join(Network { clock, genesis: 0, gloas_epoch: None }));
        self.live.observe(Observation::Stream { node: 0, up: true });
        let blocks = Vec::new();
        self.live.observe(Observation::Snapshot { node: 0, from: 100, blocks, whole_tree: true });
    }

    /// Slots pass without a block, up to 107, in which it trips.
    pub(crate) async fn trip(&self) {
        for slot in 101..=107 {
            self.clock.advance(SLOT / 2);
            self.live.observe(sync(slot));
            self.clock.advance(SLOT / 2);
            self.live.observe(sync(slot));
        }
        assert_eq!(self.client().await.get(&header(107)).await.status, 204);
        assert_eq!(self.live.state(), fusebox_builder::State::Open);
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }
}

/// A node that is well, and has had no block since the start.
fn sync(_slot: u64) -> Observation {
    Observation::Sync {
        node: 0,
        head_slot: 99,
        is_syncing: false,
        is_optimistic: false,
        el_offline: false,
    }
}

pub(crate) fn header(slot: u64) -> String {
    format!("/eth/v1/builder/header/{slot}/0x{}/0x{}", "ab".repeat(32), "cd".repeat(48))
}

pub(crate) async fn serve(sidecar: Sidecar) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).auto_date_header(false).preserve_header_case(true);
            let connection = http.serve_connection(TokioIo::new(stream), sidecar.clone());
            connections.spawn(async move { connection.await.ok() });
        }
    });
    (address, tasks)
}
