//! Nodes that fail, lie or are others than they were.

use super::{Watched, status};
use crate::sidecar::SLOT;
use fusebox_builder::{Cause, Live, OnUnknown, Recorder, State, Status, WatchError, replay};
use fusebox_testkit::{BeaconSettings, Door};
use serde_json::json;
use std::{fs::File, io::BufReader, time::Duration};

#[tokio::test]
async fn case_17_slots_are_as_long_as_the_node_says() {
    for (spec, length) in [
        (json!({ "SECONDS_PER_SLOT": "5", "SLOTS_PER_EPOCH": "16" }), 5_000),
        (json!({ "SECONDS_PER_SLOT": "6", "SLOTS_PER_EPOCH": "8" }), 6_000),
        (json!({ "SLOT_DURATION_MS": "6000", "SLOTS_PER_EPOCH": 8 }), 6_000),
    ] {
        let mut settings = BeaconSettings::default();
        settings.spec = spec;
        let length = Duration::from_millis(length);
        let mut watched = Watched::new(settings, OnUnknown::Local, None, length).await;
        watched.until("it is ready", |live| live.is_ready()).await;
        watched.next().await;
        assert_eq!(watched.live.with_machine(|machine| machine.now()), Some(101));
    }
}

#[tokio::test]
async fn case_17_a_node_that_says_two_slot_lengths_ends_it() {
    let mut settings = BeaconSettings::default();
    settings.spec =
        json!({ "SECONDS_PER_SLOT": "12", "SLOT_DURATION_MS": "6000", "SLOTS_PER_EPOCH": "32" });
    let mut watched = Watched::new(settings, OnUnknown::Local, None, SLOT).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), &mut watched.task).await;
    assert!(matches!(ended.unwrap().unwrap(), Err(WatchError::Spec(..))));
}

#[tokio::test]
async fn a_node_that_is_down_at_the_start_is_waited_for() {
    let mut watched = Watched::start().await;
    watched.beacon.set_door(Door::Refused).await.unwrap();
    watched.until("the stream has ended", |live| !live.is_ready()).await;
    watched.next().await;
    watched.beacon.set_door(Door::Open).await.unwrap();
    watched.until("it is back", |live| live.is_ready()).await;
}

#[tokio::test]
async fn a_node_that_comes_back_on_another_chain_is_never_merged() {
    let watched = Watched::start().await;
    watched.beacon.set(|settings| settings.genesis = 1);
    watched.beacon.cut();
    watched.until("it is excluded", |live| live.status()["nodes"][0]["excluded"] == true).await;
    assert!(!watched.live.is_ready());
}

#[tokio::test]
async fn an_event_that_is_none_is_counted_and_the_node_asked_instead() {
    let mut watched = Watched::start().await;
    let before = watched.beacon.count("fork_choice");
    watched.beacon.event("block", "{not json");
    watched.beacon.raw(b"event: head\ndata: \xff\xfe\n\n");
    watched.beacon.silent_block(100);
    watched.next().await;
    watched.next().await;
    watched.beacon.asked("fork_choice", before + 1).await;
    assert_eq!(watched.live.status()["nodes"][0]["bad_events"], 2);
}

#[tokio::test]
async fn an_event_beyond_the_bound_drops_the_connection() {
    let watched = Watched::start().await;
    watched.beacon.raw(&[b"data: ".as_slice(), &vec![b'x'; 1 << 20]].concat());
    watched.beacon.asked("events", 2).await;
}

#[tokio::test]
async fn a_stream_that_is_silent_for_two_slots_is_opened_again() {
    let mut watched = Watched::start().await;
    watched.next_in_silence().await;
    watched.next_in_silence().await;
    watched.next_in_silence().await;
    watched.beacon.asked("events", 2).await;
}

/// Lodestar's stream: in an outage it would never be there.
#[tokio::test]
async fn a_stream_that_begins_with_its_first_event_is_relied_on_before_there_is_one() {
    let mut settings = BeaconSettings::default();
    settings.is_mute = true;
    let mut watched = Watched::with(settings, OnUnknown::Local, None).await;
    watched.next_in_silence().await;
    watched.next_in_silence().await;
    let is_missed = |live: &Live| status(live, 101) == Some(Status::Missed);
    watched.until("a slot without a block is missed", is_missed).await;
    watched.block().await;
}

#[tokio::test]
async fn a_head_of_which_the_stream_said_nothing_opens_it_again_and_fills_the_slot() {
    let mut watched = Watched::start().await;
    watched.next().await;
    watched.beacon.silent_block(101);
    watched.next().await;
    watched.until("the block is found", |live| status(live, 101) == Some(Status::Present)).await;
    watched.until("it is ready", |live| live.is_ready()).await;
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_leaves_unknown_slots_and_no_missed_ones() {
    let mut watched = Watched::start().await;
    watched.clock.advance(20 * SLOT);
    watched.slot += 20;
    let answer = watched.ask();
    assert_eq!((answer.forward, answer.cause), (false, Cause::NoNode));
    assert_eq!(watched.live.state(), State::Closed);
    watched.until("it is reconciled", |live| live.is_ready()).await;
    assert!(!watched.ask().forward, "the node says that there were none");
    assert_eq!(watched.live.state(), State::Open);
}

#[tokio::test]
async fn what_is_recorded_replays_to_the_same_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let recorder = Recorder::new(&path).unwrap();
    let mut watched =
        Watched::with(BeaconSettings::default(), OnUnknown::Local, Some(recorder)).await;
    watched.next().await;
    watched.block().await;
    let mut live = Vec::new();
    for _ in 0..8 {
        watched.next().await;
        live.push(watched.ask().forward);
    }
    let trips = u64::from(watched.live.state() == State::Open);
    watched.task.abort();
    (&mut watched.task).await.ok();
    watched.live.stop_recording();
    let mut log = replay::EventLog::new(BufReader::new(File::open(&path).unwrap()), "log").unwrap();
    let options =
        replay::EventOptions { policies: vec!["seed".parse().unwrap()], recovery: None, seed: 0 };
    let mut replayed = Vec::new();
    let told = replay::replay_events(&mut log, &options, |told| {
        replayed.extend(serde_json::to_value(told).unwrap()["forward"].as_bool());
        Ok::<_, replay::InputError>(())
    });
    assert_eq!(told.unwrap(), trips);
    assert_eq!(replayed, live);
    assert_eq!((live.first(), live.last()), (Some(&true), Some(&false)));
}

#[tokio::test]
async fn a_node_is_not_relied_upon_before_it_was_asked_and_the_record_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let recorder = Recorder::new(&path).unwrap();
    let mut settings = BeaconSettings::default();
    settings.refused.insert("fork_choice".to_owned(), 503);
    let mut watched = Watched::new(settings, OnUnknown::Local, Some(recorder), SLOT).await;
    watched.until("the network is known", |live| live.is_running()).await;
    let mut live = Vec::new();
    for _ in 0..9 {
        watched.next().await;
        let answer = watched.ask();
        live.push((answer.forward, answer.cause.name().to_owned()));
    }
    // Nine slots without a block, which nobody watched.
    assert_eq!(watched.live.state(), State::Closed);
    assert_eq!(live.last(), Some(&(false, "no-node".to_owned())));
    watched.task.abort();
    (&mut watched.task).await.ok();
    watched.live.stop_recording();
    let mut log = replay::EventLog::new(BufReader::new(File::open(&path).unwrap()), "log").unwrap();
    let options =
        replay::EventOptions { policies: vec!["seed".parse().unwrap()], recovery: None, seed: 0 };
    let mut replayed = Vec::new();
    let trips = replay::replay_events(&mut log, &options, |told| {
        let told = serde_json::to_value(told).unwrap();
        let cause = told["cause"].as_str().map(ToOwned::to_owned);
        replayed.extend(told["forward"].as_bool().zip(cause));
        Ok::<_, replay::InputError>(())
    });
    assert_eq!((trips.unwrap(), replayed), (0, live));
}

/// Payload events are not read yet: what an external builder owes is not known, so nothing trips and `on_unknown` answers.
#[tokio::test]
async fn from_gloas_on_slots_are_unknown_and_nothing_trips() {
    let mut settings = BeaconSettings::default();
    settings.spec["GLOAS_FORK_EPOCH"] = "0".into();
    let mut watched = Watched::with(settings, OnUnknown::Local, None).await;
    for _ in 0..8 {
        watched.next().await;
        watched.beacon.block(watched.slot);
        let slot = watched.slot;
        let is_known = |live: &fusebox_builder::Live| {
            live.with_machine(|machine| machine.tally().status(slot).is_some()) == Some(true)
        };
        watched.until("the block is known", is_known).await;
    }
    watched.next().await;
    let answer = watched.ask();
    assert_eq!((answer.forward, answer.cause), (false, Cause::StreamGap));
    assert_eq!(watched.live.state(), State::Closed);
}
