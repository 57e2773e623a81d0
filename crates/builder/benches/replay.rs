//! Eight policies over half a year of mainnet, on one thread, and one decision: `cargo bench -p fusebox-builder --bench replay -- --check`.
//!
//! The history is looked for in `$FUSEBOX_DATA`, then in `../shared/data` beside the repository.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)] // it measures, and says so

mod common;

use common::{Bars, POLICIES, median, peak_memory, timed};
use fusebox_builder::{
    Machine, Observation, OnUnknown, PolicySpec, Recovery, Root, Seen, SlotsPerEpoch, Spec, Start,
    replay::{MissedCsv, Options, Range, Views, WARM_UP, replay},
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::{
    env,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    process::ExitCode,
};

const FILE: &str = "mainnet_missed_slots_7509685_8822072.csv";
const RANGE: Range = Range { from: Some(7_509_685), to: Some(8_822_072) };
const RUNS: usize = 5;

fn main() -> ExitCode {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = env::var_os("FUSEBOX_DATA").map_or(beside, PathBuf::from).join(FILE);
    let mut bars = Bars::default();
    match File::open(&path) {
        Ok(_) => history(&path, &mut bars),
        Err(error) => bars.without(&format!("{}: {error}; set FUSEBOX_DATA", path.display())),
    }
    for policy in ["seed", "nimbus", "lodestar"] {
        bars.at_most(&format!("a decision of {policy}"), decision(policy), 5.0, "µs");
    }
    if let Some(kib) = peak_memory() {
        bars.at_most("replay: peak memory", kib as f64 / 1024.0, 48.0, "MiB");
    }
    bars.verdict()
}

fn history(path: &Path, bars: &mut Bars) {
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
        let file = BufReader::new(File::open(path).unwrap());
        let mut source = MissedCsv::new(file, FILE, RANGE).unwrap();
        replay(&mut source, FILE, &options).unwrap()
    };
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let (report, time) = timed(run);
        assert_eq!(report.policies[0].peak, 5);
        times.push(time);
    }
    let time = median(times).as_secs_f64() * 1e3;
    bars.at_most("8 policies over 1,312,388 slots, median of 5", time, 150.0, "ms");
}

/// Microseconds of the answer to a header request, with a block in every slot but the last three.
fn decision(policy: &str) -> f64 {
    const SLOTS: u64 = 300;
    const TIMES: u32 = 20_000;
    let spec = Spec {
        slot_ms: 12_000.try_into().unwrap(),
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        start: Start::Zero,
        on_unknown: OnUnknown::Local,
        trusts: true,
        gloas_epoch: None,
    };
    let policy: PolicySpec = policy.parse().unwrap();
    let policy = policy.compile(spec.slots_per_epoch, &mut ChaCha8Rng::seed_from_u64(0));
    let mut machine = Machine::new(&spec, policy, Recovery::None, 0);
    let mut out = Vec::new();
    let root = |slot: u64| Root(std::array::from_fn(|byte| slot.to_be_bytes()[byte % 8]));
    let start = |slot: u64| i64::try_from(slot * 12_000).unwrap();
    for slot in 1..SLOTS - 3 {
        let block = Seen::new(slot, root(slot), Some(root(slot - 1)));
        machine.observe(start(slot) + 1_000, &Observation::Block { node: 0, block }, &mut out);
        let head = Observation::Head { node: 0, slot, root: block.root };
        machine.observe(start(slot) + 1_000, &head, &mut out);
    }
    let ((), time) = timed(|| {
        for _ in 0..TIMES {
            out.clear();
            machine.observe(start(SLOTS), &Observation::Header { slot: SLOTS }, &mut out);
        }
    });
    time.as_secs_f64() * 1e6 / f64::from(TIMES)
}
