//! This machine's clock, and what it must not bring about.

use super::{Watched, status};
use crate::sidecar::SLOT;
use fusebox_builder::{Cause, Clock, OnUnknown, Sleep, State, Status};
use fusebox_testkit::{Beacon, BeaconSettings, Clock as _, ManualClock};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

/// A clock that somebody sets back, or ahead.
#[derive(Clone, Debug)]
struct Set {
    clock: ManualClock,
    off_ms: Arc<AtomicI64>,
}

impl Clock for Set {
    fn unix_ms(&self) -> i64 {
        self.clock.now().as_millis() as i64 + self.off_ms.load(Ordering::SeqCst)
    }

    fn sleep(&self, time: Duration) -> Sleep {
        self.clock.sleep(time)
    }
}

async fn watched() -> (Watched, Set) {
    let beacon = Beacon::start(100, BeaconSettings::default()).await.unwrap();
    let clock = ManualClock::new(100 * SLOT + SLOT / 12);
    let set = Set { clock: clock.clone(), off_ms: Arc::default() };
    let time = Arc::new(set.clone());
    let mut watched = Watched::of(vec![beacon], clock, time, OnUnknown::Local, None, SLOT);
    watched.until("it is ready", |live| live.is_ready()).await;
    for _ in 0..3 {
        watched.next().await;
        watched.block().await;
    }
    (watched, set)
}

#[tokio::test]
async fn a_clock_that_is_set_back_un_ends_no_slot_and_trips_nothing() {
    let (watched, set) = watched().await;
    let now = || watched.live.with_machine(|machine| machine.now()).unwrap();
    assert_eq!(now(), 103);
    // Ten slots back; the chain goes on, its blocks seem to come before their time.
    set.off_ms.store(-120_000, Ordering::SeqCst);
    assert_eq!(watched.live.ask(93).cause, Cause::None, "decided about the slot that runs");
    watched.beacon.block(104);
    watched
        .until("that is noticed", |live| live.status()["nodes"][0]["gate"] == "clock-skew")
        .await;
    watched.clock.advance(SLOT);
    for slot in 105..=109 {
        watched.clock.advance(SLOT);
        watched.beacon.block(slot);
    }
    assert_eq!(now(), 103);
    let answer = watched.live.ask(100);
    assert_eq!((answer.forward, answer.cause), (false, Cause::ClockSkew));
    assert_eq!(watched.live.state(), State::Closed);
    assert!((101..=103).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
    assert_eq!(watched.live.status()["transitions"].as_array().unwrap().len(), 0);

    // It is set right again, the streams are opened anew, and a block in time says that all is well.
    set.off_ms.store(0, Ordering::SeqCst);
    let well = async {
        for slot in 110.. {
            watched.clock.advance(SLOT);
            watched.beacon.block(slot);
            if watched.live.is_ready() {
                return slot;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        unreachable!("slots do not end")
    };
    let slot = tokio::time::timeout(super::DEADLINE, well).await.unwrap();
    assert!((101..slot).all(|slot| status(&watched.live, slot) == Some(Status::Present)));
    assert_eq!((watched.live.ask(slot).forward, watched.live.state()), (true, State::Closed));
}

#[tokio::test]
async fn a_block_before_its_time_is_a_clock_that_is_wrong_until_one_is_in_time() {
    let (mut watched, _) = watched().await;
    watched.next().await;
    watched.beacon.block(watched.slot + 1);
    watched.until("it is noticed", |live| live.status()["nodes"][0]["gate"] == "clock-skew").await;
    let answer = watched.ask();
    assert_eq!((answer.forward, answer.cause), (false, Cause::ClockSkew));
    watched.next().await;
    watched.next().await;
    watched.beacon.block(watched.slot);
    watched.next().await;
    watched.until("it is over", |live| live.is_ready()).await;
    watched.next().await;
    assert_eq!((watched.ask().cause, watched.live.state()), (Cause::None, State::Closed));
}
