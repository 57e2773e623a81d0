//! Cases of the specification, through the network.

use super::{Watched, status};
use fusebox_builder::{Cause, OnUnknown, State, Status};
use fusebox_testkit::BeaconSettings;
use std::time::Duration;

/// Blocks to 100 and none after: the sixth missed slot trips it.
async fn case_1(settings: BeaconSettings) {
    let mut watched = Watched::with(settings, OnUnknown::Local, None).await;
    // One that is watched from its beginning.
    watched.next().await;
    watched.block().await;
    for _ in 0..6 {
        watched.next().await;
    }
    assert_eq!((watched.slot, watched.run_after_ask()), (107, 5));
    assert_eq!(watched.ask().cause, Cause::None);
    watched.next().await;
    assert!(!watched.ask().forward);
    assert_eq!((watched.live.state(), watched.run()), (State::Open, 6));
    watched.block().await;
    watched.next().await;
    assert_eq!((watched.ask().forward, watched.ask().cause), (false, Cause::Latched));
}

impl Watched {
    fn run_after_ask(&self) -> u64 {
        self.ask();
        self.run()
    }
}

#[tokio::test]
async fn case_1_trips_over_the_network_as_it_does_in_replay() {
    case_1(BeaconSettings::default()).await;
}

#[tokio::test]
async fn case_12_however_the_stream_is_written_the_decisions_are_the_same() {
    let mut settings = BeaconSettings::default();
    settings.split = Some(1);
    settings.line_end = "\r\n";
    settings.head_first = true;
    settings.has_noise = true;
    case_1(settings).await;
}

/// The stream ends after 100 and the chain goes on; it is back in 112.
async fn case_10(refused: &[&str], settings: BeaconSettings) -> Watched {
    let mut watched = Watched::with(settings, OnUnknown::Local, None).await;
    for path in refused {
        watched.beacon.refuse(path, 404);
    }
    watched.beacon.refuse("events", 503);
    watched.beacon.cut();
    watched.until("the stream has ended", |live| !live.is_ready()).await;
    for slot in 101..=112 {
        watched.next().await;
        if slot == 106 {
            assert!(watched.ask().forward, "five unknown slots are no six missed ones");
        }
        if slot == 107 {
            assert_eq!((watched.ask().forward, watched.ask().cause), (false, Cause::NoNode));
        }
        if slot < 112 {
            watched.beacon.silent_block(slot);
        }
    }
    assert_eq!(watched.live.state(), State::Closed);
    watched.beacon.allow("events");
    watched
}

#[tokio::test]
async fn case_10_a_gap_is_filled_from_the_fork_choice_and_is_no_run() {
    let watched = case_10(&[], BeaconSettings::default()).await;
    watched.until("it is reconciled", |live| live.is_ready()).await;
    assert_eq!((watched.ask().forward, watched.ask().cause), (true, Cause::None));
    assert_eq!(watched.run(), 0);
    assert_eq!(watched.live.state(), State::Closed);
}

#[tokio::test]
async fn case_10_a_gap_is_filled_by_walking_from_the_heads_where_that_is_all_there_is() {
    let watched = case_10(&["fork_choice"], BeaconSettings::default()).await;
    watched.until("it is reconciled", |live| live.is_ready()).await;
    assert!(watched.ask().forward);
    assert_eq!(watched.run(), 0);
    assert!((101..=111).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
}

#[tokio::test]
async fn case_10_a_walk_from_the_head_proves_presence_and_nothing_else() {
    let mut watched =
        case_10(&["fork_choice", "debug/beacon/heads"], BeaconSettings::default()).await;
    watched.until("it is reconciled", |live| live.is_ready()).await;
    assert!((101..=111).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
    watched.next().await;
    assert!(watched.ask().forward);
}

#[tokio::test]
async fn case_10_without_a_way_to_ask_it_is_unknown_until_a_block_comes() {
    let mut watched = case_10(
        &["fork_choice", "debug/beacon/heads", "beacon/headers"],
        BeaconSettings::default(),
    )
    .await;
    watched.beacon.asked("events", 2).await;
    tokio::time::timeout(Duration::from_secs(20), async {
        while watched.live.status()["nodes"][0]["connected"] != true {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(watched.ask().cause, Cause::StreamGap);
    watched.block().await;
    watched.next().await;
    assert!(watched.ask().forward);
    assert_eq!(watched.live.state(), State::Closed);
}

/// From 101 to 140 a gate is up, and the stream says nothing of what comes.
async fn case_13(gate: fn(&mut BeaconSettings, bool), name: &str, during: (bool, Cause)) {
    let mut watched = Watched::start().await;
    watched.beacon.set(|settings| gate(settings, true));
    for slot in 101..=140 {
        watched.next().await;
        if slot == 101 {
            watched.until("the gate is up", |live| live.status()["nodes"][0]["gate"] == name).await;
        }
        if slot > 102 {
            let answer = watched.ask();
            assert_eq!((answer.forward, answer.cause), during, "slot {slot}");
        }
    }
    for slot in 101..=139 {
        watched.beacon.silent_block(slot);
    }
    watched.beacon.set(|settings| gate(settings, false));
    watched.next().await;
    watched.next().await;
    watched.until("it is reconciled", |live| live.is_ready()).await;
    assert!((101..=139).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
    assert_eq!(watched.live.state(), State::Closed);
    assert!(watched.ask().forward);
}

#[tokio::test]
async fn case_13_while_a_node_is_syncing_no_slot_is_missed() {
    case_13(|settings, is| settings.is_syncing = is, "syncing", (false, Cause::Syncing)).await;
}

#[tokio::test]
async fn case_13_while_the_local_builder_is_broken_requests_go_on() {
    case_13(|settings, is| settings.el_offline = is, "el-offline", (true, Cause::ElOffline)).await;
}
