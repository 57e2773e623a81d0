//! What holds for all histories.

use crate::script::policy;
use fusebox_builder::{
    Evidence, Finding, Latch, Policy as _, Recovery, SlotFacts, State, Status, TripCause, Verdict,
    View,
};
use proptest::{collection::vec, prelude::*};

/// All whose verdict more misses can only turn to open. Nimbus is none of them: a block is what it opens on.
const MONOTONE: [&str; 10] = [
    "seed",
    "seed(max=0)",
    "window(slots=64,max=9)",
    "window(slots=5,max=2,view=canonical)",
    "grandine",
    "prysm",
    "teku",
    "lodestar",
    "any(seed,window(slots=8,max=3))",
    "all(consecutive(max=1),window(slots=16,max=4))",
];

fn statuses() -> impl Strategy<Value = Vec<Status>> {
    let status = prop_oneof![
        6 => Just(Status::Present),
        3 => Just(Status::Missed),
        1 => Just(Status::Unknown),
    ];
    // Runs as well as noise.
    vec((status, 1..9usize), 0..24)
        .prop_map(|runs| runs.into_iter().flat_map(|(status, n)| vec![status; n]).collect())
}

fn evidence(statuses: &[Status]) -> Evidence {
    let mut evidence = Evidence::filled(1_000);
    for status in statuses {
        let blocks = u8::from(*status == Status::Present);
        evidence.push(SlotFacts { tree: *status, canonical: *status, blocks });
    }
    evidence
}

proptest! {
    #[test]
    fn a_verdict_that_is_known_holds_whatever_the_unknown_slots_were(
        statuses in statuses(),
        truth in vec(any::<bool>(), 200),
    ) {
        let told = evidence(&statuses);
        let real: Vec<_> = statuses
            .iter()
            .zip(truth)
            .map(|(status, present)| match status {
                Status::Unknown if present => Status::Present,
                Status::Unknown => Status::Missed,
                known => *known,
            })
            .collect();
        let real = evidence(&real);
        for text in MONOTONE {
            let policy = policy(text);
            match policy.judge(&told) {
                Verdict::Unknown => {}
                verdict => prop_assert_eq!(verdict.name(), policy.judge(&real).name(), "{}", text),
            }
        }
    }

    #[test]
    fn masks_count_what_counting_counts(statuses in statuses()) {
        let evidence = evidence(&statuses);
        let missed = |slots: usize| {
            let last = statuses.iter().rev().take(slots);
            last.filter(|status| **status == Status::Missed).count() as u64
        };
        // With unknown slots as present, which is what an open verdict's value is.
        for slots in [1, 8, 32, 64] {
            let policy = policy(&format!("window(slots={slots},max=0)"));
            let value = match policy.judge(&evidence) {
                Verdict::Open(finding) => finding.value,
                _ => 0,
            };
            prop_assert_eq!(value, missed(slots));
        }
        let run = statuses.iter().rev().take_while(|status| **status == Status::Missed);
        prop_assert_eq!(evidence.run(View::Tree), run.count() as u64);
    }

    #[test]
    fn only_an_open_verdict_trips_and_each_recovery_keeps_its_word(
        statuses in statuses(),
        verdicts in vec(0..3u8, 200),
        slots in 1..9u64,
    ) {
        let finding = Finding { cause: TripCause::MissedRun, value: 6, limit: 5 };
        let hysteresis: Recovery = format!("hysteresis({slots})").parse().unwrap();
        for recovery in [Recovery::UntilRestart, Recovery::None, hysteresis] {
            let mut latch = Latch::new(recovery);
            let mut evidence = evidence(&[]);
            for (status, verdict) in statuses.iter().zip(&verdicts) {
                let blocks = u8::from(*status == Status::Present);
                evidence.push(SlotFacts { tree: *status, canonical: *status, blocks });
                let verdict = match verdict {
                    0 => Verdict::Closed,
                    1 => Verdict::Unknown,
                    _ => Verdict::Open(finding),
                };
                let before = latch;
                latch = latch.step(verdict, &evidence, View::Tree);
                let tripped = before.state() == State::Closed && latch.state() != State::Closed;
                prop_assert!(!tripped || matches!(verdict, Verdict::Open(_)));
                prop_assert_eq!(latch.trip().is_some(), latch.state() != State::Closed);
                let closed = before.state() != State::Closed && latch.state() == State::Closed;
                match recovery {
                    Recovery::UntilRestart => prop_assert!(!closed),
                    Recovery::None => prop_assert!(!closed || verdict == Verdict::Closed),
                    Recovery::Hysteresis(slots) => {
                        let trip = before.trip().map_or(0, |trip| trip.slot);
                        let enough = evidence.present_run(View::Tree) >= slots.get()
                            && evidence.slot() - slots.get() >= trip;
                        prop_assert!(!closed || (verdict == Verdict::Closed && enough));
                    }
                }
                if let Verdict::Open(_) = verdict {
                    prop_assert_eq!(latch.state(), State::Open);
                }
                if verdict == Verdict::Unknown && recovery == Recovery::None {
                    prop_assert_eq!(latch, before);
                }
            }
        }
    }
}
