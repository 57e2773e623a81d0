//! The primary is down for 200 s: what must come of it, and that a difference is found wherever it is put.

use crate::support::{Blind, Logs, play_tampered};
use alloy::sol_types::SolValue;
use fusebox_bindings::{Resilient, State, Word};
use fusebox_simulator::{
    Answerer, Difference, ModelEvent, Progress, Run, Scenario, drive,
    engine::{AnvilEngine, Engine, START},
};

fn scenario() -> Scenario {
    Scenario::builtin("outage-and-recovery").unwrap()
}

async fn play(scenario: &Scenario) -> Run {
    let mut engine = AnvilEngine::start().unwrap();
    let mut observer = Logs::of(&engine);
    drive(scenario, &mut engine, &mut observer, |_| {}).await.unwrap()
}

fn events(run: &Run) -> Vec<(u64, ModelEvent)> {
    run.timeline.iter().filter_map(|row| Some((row.time, row.event?))).collect()
}

#[tokio::test]
async fn it_opens_at_120_and_220_closes_at_320_and_no_call_fails() {
    let scenario = scenario();
    let mut engine = AnvilEngine::start().unwrap();
    let mut observer = Logs::of(&engine);
    let mut progress = Vec::new();
    let run =
        drive(&scenario, &mut engine, &mut observer, |done| progress.push(done)).await.unwrap();

    assert_eq!(run.differences, []);
    assert_eq!(
        events(&run),
        [
            (120, ModelEvent::Opened { retry_at: 220 }),
            (220, ModelEvent::Opened { retry_at: 320 }),
            (320, ModelEvent::Closed),
        ]
    );
    let sum = &run.summary;
    assert_eq!((sum.calls, sum.by_primary, sum.by_backup(), sum.failed), (60, 38, 22, 0));
    assert_eq!((sum.by_backup_open, sum.by_backup_attempt), (18, 4));
    assert_eq!((sum.probes, sum.probes_failed), (2, 1));
    assert_eq!((sum.detection, sum.recovery, sum.time_open), (Some(20), Some(20), 200));
    assert_eq!(progress.last(), Some(&Progress { done: 60, blocks: 60 }));

    // Gas is that of the call alone, also where a fault switch shares the block.
    let gas_at = |time| {
        let mut calls =
            run.timeline.iter().filter(|row| row.time == time && row.answerer.is_some());
        calls.next().unwrap().gas
    };
    assert_eq!(gas_at(300), gas_at(290));
    assert_eq!(
        sum.gas,
        run.timeline.iter().filter(|row| row.answerer.is_some()).map(|row| row.gas).sum::<u64>()
    );

    // Closed again, with nothing left of it but when it left closed.
    let word = Word(engine.storage(run.host, run.breaker).await.unwrap());
    assert_eq!(word.state(0), Ok(State::Closed));
    assert_eq!((word.failure_count(), word.retry_at(), word.reopen_count()), (0, 0, 0));
    assert_eq!(word.last_failure_at(), START + 120);
}

#[tokio::test]
async fn another_policy_gives_another_course_and_the_model_follows() {
    let mut scenario = scenario();
    scenario.policy.set("cooldown=50").unwrap();
    let run = play(&scenario).await;
    assert_eq!(
        events(&run),
        [
            (120, ModelEvent::Opened { retry_at: 170 }),
            (170, ModelEvent::Opened { retry_at: 220 }),
            (220, ModelEvent::Opened { retry_at: 270 }),
            (270, ModelEvent::Opened { retry_at: 320 }),
            (320, ModelEvent::Closed),
        ]
    );
    // The chain agrees with the model; what the scenario expects is not met.
    let keys: Vec<_> = run
        .differences
        .iter()
        .map(|difference| match difference {
            Difference::Expectation { key, expected, found } => (*key, *expected, *found),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(keys, [("opened", 2, 4)]);
}

#[tokio::test]
async fn a_host_with_another_cooldown_than_the_policy_is_found() {
    let flip = |creation: alloy::primitives::Bytes| {
        if !creation.starts_with(&Resilient::BYTECODE) {
            return creation;
        }
        // The last constructor argument is the cooldown: 100 becomes 101.
        let mut creation = creation.to_vec();
        *creation.last_mut().unwrap() += 1;
        creation.into()
    };
    let run = play_tampered(flip, |_| {}).await;
    let Some(Difference::Word { time: 10, expected, found, .. }) = run.differences.first() else {
        panic!("{:?}", run.differences.first())
    };
    assert_eq!((expected.cooldown(), found.cooldown()), (100, 101));
    let later = |difference: &Difference| match difference {
        Difference::Answerer { time, .. } => Some(*time),
        _ => None,
    };
    let first = run.differences.iter().find_map(later);
    assert_eq!(first, Some(320), "the primary is well again, and still left alone until 331");
}

#[tokio::test]
async fn an_answer_by_the_wrong_one_is_found() {
    let run = play_tampered(
        |creation| creation,
        |sealed| {
            // The first call of all, at 10, while the primary is well.
            if let [result] = &mut sealed.results[..]
                && result.output == "Sup.".to_owned().abi_encode()
            {
                result.output = "Huzzah!".to_owned().abi_encode().into();
            }
        },
    )
    .await;
    let expected = Difference::Answerer {
        block: 4,
        time: 10,
        expected: Answerer::Primary,
        found: Answerer::Backup,
    };
    assert_eq!(run.differences.first(), Some(&expected));
}

#[tokio::test]
async fn an_observer_that_misses_an_event_is_found() {
    let mut engine = AnvilEngine::start().unwrap();
    let run = drive(&scenario(), &mut engine, &mut Blind, |_| {}).await.unwrap();
    let times: Vec<_> = run
        .differences
        .iter()
        .map(|difference| match difference {
            Difference::Events { time, expected, found, .. } => {
                assert_eq!((expected.len(), found.len()), (1, 0));
                *time
            }
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(times, [120, 220, 320]);
}

#[tokio::test]
async fn a_reverted_creation_is_an_error_and_not_an_address() {
    let mut engine = AnvilEngine::start().unwrap();
    // PUSH0 PUSH0 REVERT
    let error = engine.deploy([0x5f, 0x5f, 0xfd].into()).await.unwrap_err();
    assert!(error.to_string().contains("could not be deployed"), "{error}");
    // The engine is usable afterwards: STOP creates an account without code.
    let address = engine.deploy([0x00].into()).await.unwrap();
    let word = Word(engine.storage(address, alloy::primitives::B256::ZERO).await.unwrap());
    assert!(word.state(0).is_err());
}
