//! `keeper builder replay`: policies over a history that is in a file.

use super::cli::{Before, ReplayArgs, ViewArg};
use crate::{Refusal, output};
use comfy_table::{Table, presets};
use fusebox_builder::{
    Status, View,
    replay::{
        BlocksCsv, EventLog, EventOptions, InputError, MissedCsv, Options, Range, ReplayError,
        Report, Source, Views, WARM_UP, replay_events,
    },
};
use std::{fs::File, io::BufReader, path::Path};

pub(crate) fn replay(args: &ReplayArgs) -> eyre::Result<()> {
    let trips = match (&args.input.missed, &args.input.blocks, &args.input.events) {
        (Some(path), _, _) => {
            let source = MissedCsv::new(open(path)?, &name(path), range(args));
            history(source, &name(path), args, WARM_UP)?
        }
        (_, Some(path), _) => {
            let before = match args.before {
                Before::Present => Status::Present,
                Before::Unknown => Status::Unknown,
            };
            let source = BlocksCsv::new(open(path)?, &name(path), range(args), before);
            history(source, &name(path), args, 0)?
        }
        (_, _, Some(path)) => events(path, args)?,
        // The command line asks for one of them.
        (None, None, None) => 0,
    };
    if args.fail_on_trip && trips > 0 {
        let times = output::count(usize::try_from(trips).unwrap_or(usize::MAX), "trip");
        return Err(Refusal::No(format!("{times} in this history")).into());
    }
    Ok(())
}

fn range(args: &ReplayArgs) -> Range {
    Range { from: args.from, to: args.to }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn open(path: &Path) -> Result<BufReader<File>, Refusal> {
    let file = File::open(path);
    let file = file.map_err(|error| Refusal::Configuration(format!("{}: {error}", name(path))))?;
    Ok(BufReader::new(file))
}

fn refused(error: &InputError) -> Refusal {
    Refusal::Configuration(error.to_string())
}

fn history(
    source: Result<impl Source, InputError>,
    file: &str,
    args: &ReplayArgs,
    warm_up: u64,
) -> eyre::Result<u64> {
    let mut source = source.map_err(|error| refused(&error))?;
    let options = Options {
        policies: args.policies.or_presets(),
        views: match args.view {
            ViewArg::Preset => Views::Preset,
            ViewArg::Tree => Views::Only(View::Tree),
            ViewArg::Canonical => Views::Only(View::Canonical),
            ViewArg::Both => Views::Both,
        },
        recovery: args.policies.recovery,
        slots_per_epoch: args.slots_per_epoch,
        finalized: args.finalized_epoch,
        warm_up: args.warmup.unwrap_or(warm_up),
        decide: args.decide.clone(),
        seed: args.policies.seed,
    };
    let report = fusebox_builder::replay::replay(&mut source, file, &options);
    let report = report.map_err(|error| match error {
        ReplayError::Input(error) => refused(&error),
        error => Refusal::Usage(format!("--decide: {error}")),
    })?;
    if args.json {
        output::document(&report)?;
    } else {
        print(&report)?;
    }
    Ok(report.policies.iter().map(|row| row.trips).sum())
}

/// Twice over the file: first whether it is one, so that a file that is not prints nothing.
fn events(path: &Path, args: &ReplayArgs) -> eyre::Result<u64> {
    let mut log = EventLog::new(open(path)?, &name(path)).map_err(|error| refused(&error))?;
    while log.next_event().map_err(|error| refused(&error))?.is_some() {}

    let mut log = EventLog::new(open(path)?, &name(path)).map_err(|error| refused(&error))?;
    let options = EventOptions {
        policies: args.policies.or(&["seed"]),
        recovery: args.policies.recovery,
        seed: args.policies.seed,
    };
    replay_events(&mut log, &options, |told| output::line(&serde_json::to_string(told)?))
}

fn print(report: &Report) -> eyre::Result<()> {
    let missed = report.missed;
    output::line(&format!(
        "{}: slots {} to {}; missed: {} canonical, {} in the tree",
        report.file, report.from, report.to, missed.canonical, missed.tree
    ))?;
    for ignored in &report.ignored {
        output::line(&format!(
            "left out of {}, for want of data: {}",
            ignored.policy, ignored.rule
        ))?;
    }
    output::line("")?;
    output::line(&rows(report).trim_fmt())?;
    if !report.decisions.is_empty() {
        output::line("")?;
        output::line(&decisions(report).trim_fmt())?;
    }
    Ok(())
}

fn rows(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "POLICY", "VIEW", "RECOVERY", "TRIPS", "REFUSED", "EPISODES", "FIRST", "LAST", "PEAK", "AT",
    ]);
    for row in &report.policies {
        table.add_row([
            row.policy.clone(),
            row.view.to_string(),
            row.recovery.to_string(),
            row.trips.to_string(),
            row.refused.to_string(),
            row.episodes.to_string(),
            slot(row.first),
            slot(row.last),
            row.peak.to_string(),
            slot(row.peak_slot),
        ]);
    }
    table
}

fn decisions(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "SLOT", "POLICY", "VIEW", "ANSWER", "STATE", "CAUSE", "VALUE", "LIMIT", "RUN",
    ]);
    for found in &report.decisions {
        let decision = &found.decision;
        table.add_row([
            decision.slot.to_string(),
            found.policy.clone(),
            found.view.to_string(),
            if decision.forward { "forward" } else { "refuse" }.to_owned(),
            decision.state.to_string(),
            decision.cause.name().to_owned(),
            slot(decision.value),
            slot(decision.limit),
            decision.run.to_string(),
        ]);
    }
    table
}

fn slot(number: Option<u64>) -> String {
    number.map_or_else(|| "–".to_owned(), |number| number.to_string())
}
