//! Case 2: what policies would have done on mainnet, from October 2023 to April 2024.

use fusebox_builder::{
    PolicySpec, Recovery, SlotsPerEpoch, View,
    replay::{MissedCsv, Options, Range, Report, Row, Views, WARM_UP, replay},
};
use std::{env, fs, io::Write as _, path::PathBuf};

const FILE: &str = "mainnet_missed_slots_7509685_8822072.csv";
const MAINNET: Range = Range { from: Some(7_509_685), to: Some(8_822_072) };
const INCIDENT: Range = Range { from: Some(8_728_400), to: Some(8_728_700) };

pub(crate) fn options(policies: &[&str]) -> Options {
    Options {
        policies: policies.iter().map(|text| text.parse::<PolicySpec>().unwrap()).collect(),
        views: Views::Both,
        recovery: None,
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        finalized: None,
        warm_up: WARM_UP,
        decide: Vec::new(),
        seed: 0,
    }
}

fn run(text: &[u8], range: Range, options: &Options) -> Report {
    let mut source = MissedCsv::new(text, "history.csv", range).unwrap();
    replay(&mut source, "history.csv", options).unwrap()
}

#[allow(clippy::print_stderr)] // a test that did not run says so
/// The whole history, or none where this machine does not have it, which is said.
fn mainnet(test: &str) -> Option<Vec<u8>> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = env::var_os("FUSEBOX_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(FILE);
    match fs::read(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            let skip = format!("skipped: {test}: {}: {error}; set FUSEBOX_DATA", path.display());
            eprintln!("{skip}");
            if let Some(skips) = env::var_os("FUSEBOX_SKIPS") {
                let mut skips = fs::OpenOptions::new().append(true).open(skips).unwrap();
                writeln!(skips, "{skip}").unwrap();
            }
            None
        }
    }
}

fn row<'a>(report: &'a Report, policy: &str, view: View) -> &'a Row {
    report.policies.iter().find(|row| row.policy == policy && row.view == view).unwrap()
}

const POLICIES: [&str; 9] = [
    "seed",
    "seed(max=4)",
    "consecutive(max=3)",
    "lighthouse",
    "prysm",
    "teku",
    "lodestar",
    "nimbus",
    "grandine",
];

#[test]
fn case_02_seed_never_trips_on_mainnet_and_a_stricter_one_does_once() {
    let Some(text) = mainnet("case_02_mainnet") else { return };
    let report = run(&text, MAINNET, &options(&POLICIES));
    assert_eq!((report.missed.canonical, report.missed.tree), (12_388, 8_851));
    for view in [View::Tree, View::Canonical] {
        let seed = row(&report, "seed", view);
        assert_eq!((seed.trips, seed.refused, seed.peak), (0, 0, 5));
        assert_eq!(seed.peak_slot, Some(8_728_545));
        let stricter = row(&report, "seed(max=4)", view);
        assert_eq!((stricter.trips, stricter.refused), (1, 93_529));
        assert_eq!((stricter.first, stricter.last), (Some(8_728_545), Some(8_822_073)));
        let three = row(&report, "consecutive(max=3)", view);
        assert_eq!((three.trips, three.refused, three.episodes), (1, 2, 1));
        assert_eq!((three.first, three.last), (Some(8_728_544), Some(8_728_545)));
    }
    assert_eq!(row(&report, "lodestar", View::Tree).trips, 0);

    let mut recovering = options(&["seed(max=4)"]);
    recovering.recovery = Some(Recovery::None);
    let report = run(&text, MAINNET, &recovering);
    assert_eq!(row(&report, "seed(max=4)", View::Tree).refused, 1);
}

#[test]
fn the_incident_is_where_five_stops_and_four_trips() {
    let text = include_bytes!("../data/incident.csv");
    let mut options = options(&POLICIES);
    options.decide = vec![8_728_545];
    let report = run(text, INCIDENT, &options);
    assert_eq!(report.missed.canonical, 39);
    for view in [View::Tree, View::Canonical] {
        let of = |policy| row(&report, policy, view);
        assert_eq!(
            (of("seed").trips, of("seed").peak, of("seed").peak_slot),
            (0, 5, Some(8_728_545))
        );
        assert_eq!((of("seed(max=4)").trips, of("seed(max=4)").first), (1, Some(8_728_545)));
        assert_eq!((of("consecutive(max=3)").refused, of("consecutive(max=3)").episodes), (2, 1));
        assert_eq!(of("lodestar").trips, 0);
    }
    let decided = |policy: &str| {
        let found = report.decisions.iter().find(|decision| decision.policy == policy);
        found.unwrap().decision
    };
    let seed = decided("seed");
    assert_eq!((seed.forward, seed.run, seed.last_present), (true, 5, 8_728_539));
    assert_eq!(decided("seed(max=4)").cause.name(), "missed-run");
}

#[test]
fn finality_without_data_is_left_out_and_named() {
    let text = include_bytes!("../data/incident.csv");
    let mut options =
        options(&["finality(max=3)", "lighthouse", "any(seed,reorg-count(max=1,slots=9))"]);
    let report = run(text, INCIDENT, &options);
    let ignored: Vec<_> = report.ignored.iter().map(|left| left.rule).collect();
    assert_eq!(ignored, ["finality", "the finality of lighthouse", "reorg-count"]);
    assert_eq!(report.policies.len(), 4);
    // Epoch 272,766 and more are judged.
    options.finalized = Some(272_765);
    let report = run(text, INCIDENT, &options);
    assert_eq!(report.policies.len(), 6);
    let finality = row(&report, "finality(max=3)", View::Tree);
    assert_eq!((finality.trips, finality.first), (1, Some(272_769 * 32)));
}

#[test]
fn quiet_slots_are_passed_over_as_if_they_had_been_judged() {
    let text = include_bytes!("../data/incident.csv");
    let policies =
        [&POLICIES[..], &["prysm(consecutive=1)", "prysm(epoch=0)", "window(slots=64,max=0)"]]
            .concat();
    for recovery in ["none", "until-restart", "hysteresis(9)"] {
        let mut options = options(&policies);
        options.recovery = Some(recovery.parse().unwrap());
        let range = Range { from: Some(8_728_000), to: Some(8_729_000) };
        let passed = run(text, range, &options);
        // A decision that is asked for is taken.
        options.decide = (8_728_064..=8_729_001).collect();
        assert_eq!(passed.policies, run(text, range, &options).policies);
    }
}
