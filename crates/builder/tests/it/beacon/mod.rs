//! A breaker that watches a beacon node, from what the node writes to the decision.

mod cases;
mod clocks;
mod failures;
mod several;

use crate::sidecar::{Manual, SLOT};
use fusebox_builder::{
    Answer, Api, Live, LiveOptions, OnUnknown, Recorder, Start, Status, WatchError, watch,
};
use fusebox_testkit::{Beacon, BeaconSettings, ManualClock};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

const DEADLINE: Duration = Duration::from_secs(20);

/// A breaker, a node and the time; it begins in slot 100, in which the node has a block.
pub(crate) struct Watched {
    pub(crate) beacon: Beacon,
    /// What else is watched.
    pub(crate) others: Vec<Beacon>,
    pub(crate) live: Arc<Live>,
    pub(crate) clock: ManualClock,
    pub(crate) slot: u64,
    pub(crate) length: Duration,
    pub(crate) task: JoinHandle<Result<(), WatchError>>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watched {
    pub(crate) async fn start() -> Self {
        Self::with(BeaconSettings::default(), OnUnknown::Local, None).await
    }

    pub(crate) async fn with(
        settings: BeaconSettings,
        on_unknown: OnUnknown,
        recorder: Option<Recorder>,
    ) -> Self {
        let watched = Self::new(settings, on_unknown, recorder, SLOT).await;
        watched.until("it is ready", |live| live.is_ready()).await;
        watched
    }

    /// Does not wait until it is ready.
    pub(crate) async fn new(
        settings: BeaconSettings,
        on_unknown: OnUnknown,
        recorder: Option<Recorder>,
        length: Duration,
    ) -> Self {
        let beacon = Beacon::start(100, settings).await.unwrap();
        let clock = ManualClock::new(100 * length + length / 12);
        let time = Arc::new(Manual(clock.clone()));
        Self::of(vec![beacon], clock, time, on_unknown, recorder, length)
    }

    /// One that watches these nodes by this time, which the clock turns.
    pub(crate) fn of(
        mut beacons: Vec<Beacon>,
        clock: ManualClock,
        time: Arc<dyn fusebox_builder::Clock>,
        on_unknown: OnUnknown,
        recorder: Option<Recorder>,
        length: Duration,
    ) -> Self {
        let options = LiveOptions {
            policy: "seed".parse().unwrap(),
            recovery: None,
            start: Start::Zero,
            on_unknown,
        };
        let names = beacons.iter().map(|_| "node".to_owned()).collect();
        let live = Live::new(options, time, names, recorder);
        let apis = beacons.iter().map(|beacon| Api::new(&beacon.url()).unwrap()).collect();
        let task = tokio::spawn(watch(Arc::clone(&live), apis));
        let beacon = beacons.remove(0);
        Self { beacon, others: beacons, live, clock, slot: 100, length, task }
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Live) -> bool) {
        let mut changes = self.live.changes();
        let wait = async {
            while !is_so(&self.live) {
                changes.changed().await.unwrap();
            }
        };
        let status = || self.live.status();
        assert!(
            timeout(DEADLINE, wait).await.is_ok(),
            "not within {DEADLINE:?}: {what}; {}",
            status()
        );
    }

    /// The next slot begins: the node has kept its stream alive and was polled, if it was connected.
    pub(crate) async fn next(&mut self) {
        for beacon in self.beacons() {
            beacon.raw(b":\n\n");
        }
        self.next_in_silence().await;
    }

    pub(crate) async fn next_in_silence(&mut self) {
        let status = self.live.status();
        // Either is known from an answer on this stream, so the next poll is due by this clock.
        let is_polled = |(index, _): &(usize, &Beacon)| {
            let node = &status["nodes"][*index];
            node["eligible"] == true || node["gate"] != Value::Null
        };
        let polled = self.beacons().enumerate().filter(is_polled);
        let polled: Vec<_> =
            polled.map(|(_, beacon)| (beacon, beacon.count("node/syncing") + 1)).collect();
        self.clock.advance(self.length / 12 * 3);
        for (beacon, polls) in polled {
            beacon.asked("node/syncing", polls).await;
        }
        self.clock.advance(self.length / 12 * 4);
        self.clock.advance(self.length - self.length / 12 * 7);
        self.slot += 1;
        let slot = self.slot;
        let is_so = |live: &Live| live.with_machine(|machine| machine.now()) == Some(slot);
        tokio::time::timeout(DEADLINE, async {
            while !is_so(&self.live) {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
    }

    fn beacons(&self) -> impl Iterator<Item = &Beacon> {
        std::iter::once(&self.beacon).chain(&self.others)
    }

    /// The current slot gets its block, and it is seen.
    pub(crate) async fn block(&self) {
        self.beacon.block(self.slot);
        let slot = self.slot;
        self.until("the block is seen", |live| status(live, slot) == Some(Status::Present)).await;
    }

    /// Asks for the current slot.
    pub(crate) fn ask(&self) -> Answer {
        self.live.ask(self.slot)
    }

    pub(crate) fn run(&self) -> u64 {
        self.live.status()["decision"]["run"].as_u64().unwrap()
    }
}

/// What is known of a slot in the tree.
pub(crate) fn status(live: &Live, slot: u64) -> Option<Status> {
    live.with_machine(|machine| machine.tally().status(slot)).flatten().map(|facts| facts.tree)
}
