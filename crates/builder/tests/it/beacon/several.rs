//! Several nodes that are all well, of which one lies or lags; and nodes that take the place of others.

use super::{Watched, status};
use crate::sidecar::{Manual, SLOT};
use fusebox_builder::{Cause, OnUnknown, State, Status};
use fusebox_testkit::{Beacon, BeaconSettings, ManualClock};
use std::sync::Arc;

/// Two nodes at slot 100, both ready, at the beginning of a slot that both watch whole.
async fn pair() -> Watched {
    let mut beacons = Vec::new();
    for _ in 0..2 {
        beacons.push(Beacon::start(100, BeaconSettings::default()).await.unwrap());
    }
    let clock = ManualClock::new(100 * SLOT + SLOT / 12);
    let time = Arc::new(Manual(clock.clone()));
    let mut watched = Watched::of(beacons, clock, time, OnUnknown::Local, None, SLOT);
    let both = |live: &fusebox_builder::Live| {
        live.with_machine(|machine| machine.is_fit(0) && machine.is_fit(1)) == Some(true)
    };
    watched.until("both are ready", both).await;
    watched.next().await;
    watched.beacon.block(watched.slot);
    watched.others[0].block(watched.slot);
    watched.until("the block is seen", |live| status(live, 101) == Some(Status::Present)).await;
    watched
}

impl Watched {
    /// The next slot has a block, of which only the second node says anything.
    async fn next_of_second(&mut self) {
        self.next().await;
        self.others[0].block(self.slot);
        let slot = self.slot;
        self.until("the block is seen", |live| status(live, slot) == Some(Status::Present)).await;
    }
}

#[tokio::test]
async fn a_node_that_lags_or_withholds_blocks_opens_nothing_beside_one_that_has_them() {
    let mut watched = pair().await;
    for _ in 0..10 {
        watched.next_of_second().await;
    }
    watched.next().await;
    assert_eq!((watched.ask().forward, watched.ask().cause), (true, Cause::None));
    assert_eq!((watched.run(), watched.live.state()), (0, State::Closed));
}

#[tokio::test]
async fn a_node_that_makes_up_blocks_can_hold_it_closed_and_no_longer_than_it_is_there() {
    let mut watched = pair().await;
    for _ in 0..10 {
        watched.next_of_second().await;
    }
    // It is alone with what it says, and any node's word fills a slot. Then it is gone.
    watched.others[0].refuse("events", 503);
    watched.others[0].cut();
    watched
        .until("the second one is gone", |live| {
            live.with_machine(|machine| machine.is_fit(1)) == Some(false)
        })
        .await;
    for _ in 0..7 {
        watched.next().await;
    }
    assert_eq!((watched.ask().forward, watched.live.state()), (false, State::Open));
}

#[tokio::test]
async fn where_neither_has_blocks_it_opens_as_with_one() {
    let mut watched = pair().await;
    for slot in 102..=107 {
        watched.next().await;
        assert_eq!(watched.slot, slot);
        assert!(watched.ask().forward, "slot {slot}");
    }
    watched.next().await;
    assert_eq!((watched.ask().forward, watched.run()), (false, 6));
}

#[tokio::test]
async fn while_the_first_one_is_syncing_the_second_one_speaks() {
    let mut watched = pair().await;
    watched.beacon.set(|settings| settings.is_syncing = true);
    watched.next().await;
    watched.until("the gate is up", |live| live.status()["nodes"][0]["gate"] == "syncing").await;
    watched.others[0].block(watched.slot);
    for _ in 0..5 {
        watched.next_of_second().await;
        assert_eq!(watched.ask().cause, Cause::None);
    }
    for _ in 0..7 {
        watched.next().await;
    }
    assert_eq!((watched.ask().forward, watched.live.state()), (false, State::Open));
}

#[tokio::test]
async fn a_node_that_is_replaced_by_one_that_knows_less_takes_no_block_away() {
    let mut watched = Watched::start().await;
    for _ in 0..8 {
        watched.next().await;
        watched.block().await;
    }
    // The new one was begun from a checkpoint: it has the last two blocks only.
    let trees = watched.beacon.count("fork_choice");
    watched.beacon.rotate(107, u64::MAX);
    watched.beacon.asked("fork_choice", trees + 1).await;
    watched.until("it is ready", |live| live.is_ready()).await;
    assert!((101..=108).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
    watched.next().await;
    assert_eq!((watched.ask().forward, watched.run()), (true, 0));
}

#[tokio::test]
async fn a_node_that_is_replaced_by_one_that_lags_takes_no_block_away_either() {
    let mut watched = Watched::start().await;
    for _ in 0..8 {
        watched.next().await;
        watched.block().await;
    }
    let trees = watched.beacon.count("fork_choice");
    watched.beacon.rotate(0, 105);
    watched.beacon.asked("fork_choice", trees + 1).await;
    watched.until("it is ready", |live| live.is_ready()).await;
    assert!((101..=108).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
    watched.next().await;
    assert_eq!((watched.ask().forward, watched.live.state()), (true, State::Closed));
}

#[tokio::test]
async fn a_node_that_is_back_from_another_chain_is_one_of_ours_again() {
    let mut watched = Watched::start().await;
    watched.beacon.set(|settings| settings.genesis = 1);
    watched.beacon.cut();
    watched.until("it is excluded", |live| live.status()["nodes"][0]["excluded"] == true).await;
    for _ in 0..7 {
        watched.next().await;
    }
    assert_eq!((watched.ask().forward, watched.ask().cause), (false, Cause::NoNode));
    watched.beacon.set(|settings| settings.genesis = 0);
    watched.until("it is ready", |live| live.is_ready()).await;
    assert_eq!(watched.live.status()["nodes"][0]["excluded"], false);
    assert_eq!(watched.live.state(), State::Closed);
}
