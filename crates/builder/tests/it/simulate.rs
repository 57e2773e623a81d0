//! Case 21, and what each scenario says.

use crate::history::options;
use fusebox_builder::{
    SlotsPerEpoch, View,
    simulate::{
        Behind, Cascade, Common, Reorg, Report, Rows, Scenario, SimulateError, Withhold, simulate,
    },
};

fn common(policies: &[&str], runs: u64, slots: u64) -> Common {
    Common {
        runs,
        slots,
        policies: options(policies).policies,
        recovery: None,
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        miss: 0.0,
        adoption: 1.0,
        seed: 7,
    }
}

fn withhold(common: &Common, share: f64, repair: Option<u64>) -> Report {
    simulate(common, &Scenario::Withhold(Withhold { share, repair })).unwrap()
}

#[test]
fn case_21_the_wait_for_a_trip_is_that_of_theory() {
    for (share, expected) in [(0.8, 14.07), (0.5, 126.0), (1.0, 6.0)] {
        let Rows::Withhold(rows) = withhold(&common(&["seed"], 400, 2_048), share, None).policies
        else {
            panic!("other rows")
        };
        let theory = rows[0].theory.unwrap();
        assert!((theory.expected - expected).abs() < 0.01, "{theory:?}");
        assert!(theory.agrees, "{rows:?}");
        assert_eq!(rows[0].never_tripped, 0.0);
    }
}

#[test]
fn case_21_the_same_seed_gives_the_same_bytes() {
    let scenarios = [
        Scenario::Withhold(Withhold { share: 0.8, repair: Some(40) }),
        Scenario::Reorg(Reorg { stake: 0.3, success: 0.5 }),
        Scenario::Behind(Behind { lag: 3, lose: 20 }),
        Scenario::Cascade(Cascade { relays: vec![0.5, 0.3, 0.1], capacity: 0.5, el_bug: 0.1 }),
    ];
    for scenario in scenarios {
        let mut common = common(&["seed", "lodestar(window=random)"], 5, 200);
        common.miss = 0.01;
        let bytes =
            |common: &Common| serde_json::to_string(&simulate(common, &scenario).unwrap()).unwrap();
        let first = bytes(&common);
        assert_eq!(first, bytes(&common));
        common.seed += 1;
        assert_ne!(first, bytes(&common));
    }
}

#[test]
fn a_breaker_misses_less_than_none_and_more_than_an_oracle() {
    let report = withhold(&common(&["seed", "prysm"], 100, 400), 0.8, Some(300));
    let Rows::Withhold(rows) = report.policies else { panic!("other rows") };
    for row in &rows {
        let missed = row.missed.unwrap().mean;
        assert!(missed < row.missed_without / 5.0 && missed > row.missed_oracle, "{row:?}");
        assert_eq!(row.theory, None);
    }
    // The latch refuses all 100 healthy slots after the repair, the rule that recovers next to none.
    assert_eq!(rows[0].refused_healthy.unwrap().mean, 100.0);
    assert!(rows[1].refused_healthy.unwrap().mean < 40.0);
}

#[test]
fn who_has_no_breaker_goes_on_missing() {
    let mut nobody = common(&["seed"], 50, 300);
    nobody.adoption = 0.0;
    let Rows::Withhold(rows) = withhold(&nobody, 0.8, None).policies else { panic!("other rows") };
    assert_eq!(rows[0].missed.unwrap().mean, rows[0].missed_without);
    assert_eq!(rows[0].missed_oracle, rows[0].missed_without);
}

#[test]
fn orphans_open_a_canonical_window_and_not_one_of_the_tree() {
    let policies = ["window(slots=32,max=6)", "seed"];
    let scenario = Scenario::Reorg(Reorg { stake: 0.25, success: 1.0 });
    let Rows::Reorg(rows) = simulate(&common(&policies, 100, 500), &scenario).unwrap().policies
    else {
        panic!("other rows")
    };
    let row = |policy: &str, view| {
        rows.iter().find(|row| row.policy == policy && row.view == view).unwrap()
    };
    // Each own proposal costs the honest one a slot in one view, and the adversary itself in the other.
    assert!(row(policies[0], View::Canonical).proposals_spent.is_some());
    assert!(row(policies[0], View::Tree).proposals_spent.is_some());
    // No run is longer than one where every orphan has a block behind it.
    assert_eq!(row("seed", View::Canonical).never_tripped, 1.0);
}

#[test]
fn a_node_that_is_behind_trips_nothing_unless_its_gates_are_taken_away() {
    for (lag, lose) in [(8, 0), (0, 20), (8, 100)] {
        let scenario = Scenario::Behind(Behind { lag, lose });
        let report = simulate(&common(&["seed", "lighthouse", "lodestar"], 3, 300), &scenario);
        let Rows::Behind(rows) = report.unwrap().policies else { panic!("other rows") };
        for row in rows.iter().filter(|row| row.gates) {
            assert_eq!(row.false_trips, 0.0, "{row:?}");
            assert!(row.refused.keys().all(|cause| ["syncing", "stream-gap"].contains(cause)));
        }
        let seed = rows.iter().find(|row| row.policy == "seed" && !row.gates).unwrap();
        assert_eq!((seed.false_trips, seed.runs_with_trip), (1.0, 1.0), "{lag} {lose}");
    }
}

#[test]
fn operators_with_their_own_thresholds_do_not_open_in_one_slot() {
    let scenario =
        Scenario::Cascade(Cascade { relays: vec![0.6, 0.4], capacity: 0.5, el_bug: 0.2 });
    let report = simulate(&common(&["consecutive(max=3)"], 20, 100), &scenario).unwrap();
    let Rows::Cascade(rows) = report.policies else { panic!("other rows") };
    let (fixed, randomized) = (&rows[0].fixed, &rows[0].randomized);
    // At twice its capacity the relay fails every slot: all open in slot 4, or some of them.
    assert_eq!((fixed.open[3], fixed.open[4]), (0.0, 1.0));
    assert!(randomized.open[4] > 0.1 && randomized.open[4] < 0.5, "{:?}", &randomized.open[..9]);
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let wrong = |scenario: Scenario, message: &str| {
        let error = simulate(&common(&["seed"], 1, 1), &scenario).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        wrong(Scenario::Withhold(Withhold { share, repair: None }), "--share");
    }
    wrong(Scenario::Behind(Behind { lag: 65, lose: 0 }), "--lag 65: it must be from 0 to 64");
    let cascade = |relays: &[f64]| {
        Scenario::Cascade(Cascade { relays: relays.to_vec(), capacity: 0.0, el_bug: 0.0 })
    };
    wrong(cascade(&[0.5]), "two relays");
    wrong(cascade(&[0.5, 0.6]), "which is more than 1");
    let scenario = Scenario::Behind(Behind { lag: 0, lose: 0 });
    let error = simulate(&common(&["seed"], 1 << 20, 1 << 20), &scenario).unwrap_err();
    assert!(matches!(error, SimulateError::TooLong { .. }));
    assert!(simulate(&common(&["seed"], 0, 5), &scenario).is_err());
}
