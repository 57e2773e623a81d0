//! Eight policies over half a year of mainnet, on one thread: `cargo bench -p fusebox-builder --bench replay -- --check`.
//!
//! The history is looked for in `$FUSEBOX_DATA`, then in `../shared/data` beside the repository.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)] // it measures, and says so

mod common;

use common::{Bars, POLICIES, median, peak_memory, timed};
use fusebox_builder::{
    SlotsPerEpoch,
    replay::{MissedCsv, Options, Range, Views, WARM_UP, replay},
};
use std::{env, fs::File, io::BufReader, path::PathBuf, process::ExitCode};

const FILE: &str = "mainnet_missed_slots_7509685_8822072.csv";
const RANGE: Range = Range { from: Some(7_509_685), to: Some(8_822_072) };
const RUNS: usize = 5;

fn main() -> ExitCode {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = env::var_os("FUSEBOX_DATA").map_or(beside, PathBuf::from).join(FILE);
    if let Err(error) = File::open(&path) {
        println!("{}: {error}; set FUSEBOX_DATA to the folder that has it", path.display());
        return ExitCode::FAILURE;
    }
    let options = Options {
        policies: POLICIES.iter().map(|text| text.parse().unwrap()).collect(),
        views: Views::Preset,
        recovery: None,
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        finalized: None,
        warm_up: WARM_UP,
        decide: Vec::new(),
        seed: 0,
    };
    let run = || {
        let file = BufReader::new(File::open(&path).unwrap());
        let mut source = MissedCsv::new(file, FILE, RANGE).unwrap();
        replay(&mut source, FILE, &options).unwrap()
    };
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let (report, time) = timed(run);
        assert_eq!(report.policies[0].peak, 5);
        times.push(time);
    }
    let mut bars = Bars::default();
    let time = median(times).as_secs_f64() * 1e3;
    bars.at_most("8 policies over 1,312,388 slots, median of 5", time, 150.0, "ms");
    if let Some(kib) = peak_memory() {
        bars.at_most("peak memory", kib as f64 / 1024.0, 48.0, "MiB");
    }
    bars.verdict()
}
