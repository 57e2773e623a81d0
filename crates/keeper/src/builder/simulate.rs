//! `keeper builder simulate`: what policies would do in outages that have not happened.

use super::cli::{CommonArgs, ScenarioArgs, SimulateArgs};
use crate::{Refusal, output};
use comfy_table::{Table, presets};
use fusebox_builder::simulate::{
    Behind, Cascade, Common, Operators, Reorg, Report, Rows, Scenario, Summary, Withhold,
};

pub(crate) fn simulate(args: &SimulateArgs) -> eyre::Result<()> {
    let (scenario, common) = scenario(&args.scenario);
    let asked = Common {
        runs: common.runs,
        slots: common.slots,
        policies: common.policies.or_presets(),
        recovery: common.policies.recovery,
        slots_per_epoch: common.slots_per_epoch,
        miss: common.miss,
        adoption: common.adoption,
        seed: common.policies.seed,
    };
    let report = fusebox_builder::simulate::simulate(&asked, &scenario)
        .map_err(|error| Refusal::Usage(error.to_string()))?;
    if common.json { output::document(&report) } else { print(&report) }
}

fn scenario(args: &ScenarioArgs) -> (Scenario, &CommonArgs) {
    match args {
        &ScenarioArgs::Withhold { share, repair, ref common } => {
            (Scenario::Withhold(Withhold { share, repair }), common)
        }
        &ScenarioArgs::Reorg { stake, success, ref common } => {
            (Scenario::Reorg(Reorg { stake, success }), common)
        }
        &ScenarioArgs::Behind { lag, lose, ref common } => {
            (Scenario::Behind(Behind { lag, lose }), common)
        }
        ScenarioArgs::Cascade { relays, capacity, el_bug, common } => {
            let (capacity, el_bug) = (*capacity, *el_bug);
            (Scenario::Cascade(Cascade { relays: relays.clone(), capacity, el_bug }), common)
        }
    }
}

fn print(report: &Report) -> eyre::Result<()> {
    output::line(&format!(
        "{} runs of {} slots, {} of them missed anyway, adoption {}, seed {}",
        report.runs,
        report.slots,
        percent(report.miss),
        percent(report.adoption),
        report.seed
    ))?;
    for ignored in &report.ignored {
        output::line(&format!(
            "left out of {}, for want of data: {}",
            ignored.policy, ignored.rule
        ))?;
    }
    output::line("")?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    fill(&mut table, &report.policies);
    output::line(&table.trim_fmt())
}

fn fill(table: &mut Table, rows: &Rows) {
    match rows {
        Rows::Withhold(rows) => {
            table.set_header([
                "POLICY",
                "SLOTS TO TRIP",
                "MEDIAN",
                "P5",
                "P95",
                "THEORY",
                "NEVER",
                "MISSED",
                "WITHOUT",
                "ORACLE",
                "REFUSED AFTER",
            ]);
            for row in rows {
                let trip = row.slots_to_trip.as_ref();
                let theory = row.theory.map_or_else(none, |theory| {
                    let verdict = if theory.agrees { "agrees" } else { "DIFFERS" };
                    format!("{:.2} {verdict}", theory.expected)
                });
                table.add_row([
                    row.policy.clone(),
                    mean(trip),
                    figure(trip, |trip| trip.median),
                    figure(trip, |trip| trip.p5),
                    figure(trip, |trip| trip.p95),
                    theory,
                    percent(row.never_tripped),
                    mean(row.missed.as_ref()),
                    format!("{:.1}", row.missed_without),
                    format!("{:.1}", row.missed_oracle),
                    mean(row.refused_healthy.as_ref()),
                ]);
            }
        }
        Rows::Reorg(rows) => {
            table.set_header([
                "POLICY",
                "VIEW",
                "PROPOSALS SPENT",
                "SLOTS TO TRIP",
                "MEDIAN",
                "P5",
                "P95",
                "NEVER",
            ]);
            for row in rows {
                let trip = row.slots_to_trip.as_ref();
                table.add_row([
                    row.policy.clone(),
                    row.view.to_string(),
                    mean(row.proposals_spent.as_ref()),
                    mean(trip),
                    figure(trip, |trip| trip.median),
                    figure(trip, |trip| trip.p5),
                    figure(trip, |trip| trip.p95),
                    percent(row.never_tripped),
                ]);
            }
        }
        Rows::Behind(rows) => {
            table.set_header([
                "POLICY",
                "GATES",
                "FALSE TRIPS",
                "RUNS WITH ONE",
                "REFUSED, BY CAUSE",
            ]);
            for row in rows {
                let causes = row.refused.iter().map(|(cause, mean)| format!("{cause} {mean:.1}"));
                table.add_row([
                    row.policy.clone(),
                    if row.gates { "on" } else { "off" }.to_owned(),
                    format!("{:.2}", row.false_trips),
                    percent(row.runs_with_trip),
                    causes.collect::<Vec<_>>().join(", "),
                ]);
            }
        }
        Rows::Cascade(rows) => {
            table.set_header([
                "POLICY",
                "THRESHOLDS",
                "MISSED",
                "NEVER OPEN",
                "OPEN AFTER 4, 8, 16, 32, 64 SLOTS",
            ]);
            for row in rows {
                for (kind, operators) in [("fixed", &row.fixed), ("randomized", &row.randomized)] {
                    table.add_row([
                        row.policy.clone(),
                        kind.to_owned(),
                        mean(operators.missed.as_ref()),
                        percent(operators.never_tripped),
                        open(operators),
                    ]);
                }
            }
        }
        _ => {}
    }
}

fn open(operators: &Operators) -> String {
    let shares = [4, 8, 16, 32, 64].map(|slot| operators.open.get(slot).copied());
    shares.map(|share| share.map_or_else(none, percent)).join("  ")
}

/// The mean, and how far it may be off in 19 of 20 cases.
fn mean(summary: Option<&Summary>) -> String {
    summary.map_or_else(none, |summary| {
        format!("{:.2} ± {:.2}", summary.mean, summary.interval[1] - summary.mean)
    })
}

fn figure(summary: Option<&Summary>, pick: impl Fn(&Summary) -> f64) -> String {
    summary.map_or_else(none, |summary| format!("{:.0}", pick(summary)))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn none() -> String {
    "–".to_owned()
}
