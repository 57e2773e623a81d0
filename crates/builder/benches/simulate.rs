//! 1,000 runs of 8,192 slots under eight policies, on one thread: `cargo bench -p fusebox-builder --bench simulate -- --check`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)] // it measures, and says so

mod common;

use common::{Bars, POLICIES, peak_memory, timed};
use fusebox_builder::{
    SlotsPerEpoch,
    simulate::{Common, Rows, Scenario, Withhold, simulate},
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let common = Common {
        runs: 1_000,
        slots: 8_192,
        policies: POLICIES.iter().map(|text| text.parse().unwrap()).collect(),
        recovery: None,
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        miss: 0.01,
        adoption: 1.0,
        seed: 0,
    };
    let scenario = Scenario::Withhold(Withhold { share: 0.8, repair: None });
    let (report, time) = timed(|| simulate(&common, &scenario).unwrap());
    let Rows::Withhold(rows) = report.policies else { return ExitCode::FAILURE };
    assert!(rows[0].theory.is_some_and(|theory| theory.agrees), "{:?}", rows[0]);
    let mut bars = Bars::default();
    let seconds = time.as_secs_f64();
    bars.at_most("1,000 runs × 8,192 slots × 8 policies", seconds, 5.0, "s");
    if let Some(kib) = peak_memory() {
        bars.at_most("simulate: peak memory", kib as f64 / 1024.0, 48.0, "MiB");
    }
    bars.verdict()
}
