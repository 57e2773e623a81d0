//! `keeper simulate`: a scenario on an anvil of its own, watched with the same code as a real chain.

use crate::{
    Refusal,
    cli::SimulateArgs,
    fold::{Fold, Notice, What},
    node::Nodes,
    output, shutdown,
    watch::{Fact, OldWatch as Watch},
};
use comfy_table::{Table, presets};
use eyre::WrapErr as _;
use fusebox_bindings::State;
use fusebox_simulator::{
    Answerer, Difference, DriveError, ModelEvent, Observed, ObservedTransition, Observer,
    ObserverError, Progress, Row, Run, Scenario, drive,
    engine::{AnvilEngine, EngineError, Sealed},
};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::{Notify, mpsc};

pub(crate) async fn simulate(args: SimulateArgs) -> eyre::Result<()> {
    let scenario = scenario(&args)?;
    // Before the run: an answer that cannot be kept is not worth waiting for.
    let result = args.out.as_deref().map(create).transpose()?;
    let run = tokio::select! {
        signal = shutdown::requested() => return Err(Refusal::Interrupted(signal?).into()),
        run = play(&scenario) => run?,
    };

    if let Some((mut file, path)) = result {
        let text = serde_json::to_string_pretty(&run)?;
        file.write_all(text.as_bytes()).wrap_err_with(|| path.display().to_string())?;
    }
    match print(&run, &args) {
        // The verdict stands, whether or not somebody reads the rest.
        Err(error) if output::gone(&error) => {}
        printed => printed?,
    }
    verdict(&run)
}

fn create(out: &Path) -> Result<(File, PathBuf), Refusal> {
    let path = out.join("result.json");
    let file = fs::create_dir_all(out).and_then(|()| File::create(&path));
    let file =
        file.map_err(|error| Refusal::Configuration(format!("--out {}: {error}", path.display())))?;
    Ok((file, path))
}

fn print(run: &Run, args: &SimulateArgs) -> eyre::Result<()> {
    if args.json {
        return output::document(run);
    }
    output::line(&timeline(run).trim_fmt())?;
    output::line(&ribbon(run))?;
    output::line(&summary(run))?;
    match &args.out {
        Some(out) => output::line(&format!("\nresult: {}", out.join("result.json").display())),
        None => Ok(()),
    }
}

fn scenario(args: &SimulateArgs) -> Result<Scenario, Refusal> {
    let mut scenario = Scenario::builtin(&args.scenario).ok_or_else(|| {
        let names = Scenario::builtin_names().collect::<Vec<_>>().join(", ");
        Refusal::Usage(format!("there is no scenario `{}`; there are {names}", args.scenario))
    })?;
    for assignment in &args.policy {
        scenario
            .policy
            .set(assignment)
            .map_err(|error| Refusal::Usage(format!("--policy: {error}")))?;
    }
    Ok(scenario)
}

async fn play(scenario: &Scenario) -> eyre::Result<Run> {
    let mut engine = AnvilEngine::start().map_err(|error| match error {
        EngineError::NotFound(error) => Refusal::Unreachable(error.to_string()).into(),
        error => eyre::Report::from(error),
    })?;
    let mut observer = Watching::start(&engine)?;
    // Hidden by the library where standard error is no terminal.
    let bar = ProgressBar::new(0).with_style(ProgressStyle::default_bar());
    let progress = |Progress { done, blocks }| {
        bar.set_length(blocks as u64);
        bar.set_position(done as u64);
    };
    let run = drive(scenario, &mut engine, &mut observer, progress).await;
    bar.finish_and_clear();
    run.map_err(|error| match error {
        DriveError::Policy(error) => Refusal::Usage(format!("--policy: {error}")).into(),
        error => error.into(),
    })
}

/// Differences that are named. One leads to the next, so the first ones tell.
const NAMED: usize = 10;

fn verdict(run: &Run) -> eyre::Result<()> {
    if run.differences.is_empty() {
        return Ok(());
    }
    let mut message = match run.differences[0] {
        Difference::Expectation { .. } => {
            "with this policy the scenario's expectations do not hold:"
        }
        _ => "the chain differs from the model:",
    }
    .to_owned();
    for difference in run.differences.iter().take(NAMED) {
        message.push_str(&format!("\n  {difference}"));
    }
    if let Some(more @ 1..) = run.differences.len().checked_sub(NAMED) {
        message.push_str(&format!("\n  and {more} more"));
    }
    Err(Refusal::No(message).into())
}

/// The observer that the simulator is lent: watch and fold, as `run` has them.
struct Watching {
    facts: mpsc::Receiver<Fact>,
    hint: Arc<Notify>,
    fold: Fold,
}

/// anvil's default.
const CHAIN: u64 = 31_337;

impl Watching {
    fn start(engine: &AnvilEngine) -> Result<Self, Refusal> {
        let watch = Watch::new(Nodes::lone(CHAIN, engine.url())?, None, 0);
        let hint = watch.hint();
        let (sender, facts) = mpsc::channel(64);
        // It ends when the receiver is dropped; should it end before, the channel tells.
        tokio::spawn(watch.run(sender));
        Ok(Self { facts, hint, fold: Fold::new(CHAIN) })
    }
}

impl Observer for Watching {
    async fn observe(&mut self, sealed: &Sealed) -> Result<Vec<Observed>, ObserverError> {
        let fail = |reason: String| ObserverError { reason };
        self.hint.notify_one();
        let mut seen = Vec::new();
        loop {
            let fact = self.facts.recv().await;
            let fact = fact.ok_or_else(|| fail("the watch ended".to_owned()))?;
            seen.extend(self.fold.apply(&fact).iter().filter_map(observed));
            match fact {
                Fact::Block { block, .. } if block.number == sealed.number => return Ok(seen),
                Fact::Unreachable { reason } => return Err(fail(reason)),
                Fact::Undecodable(log) => return Err(fail(output::undecodable(&log, CHAIN))),
                _ => {}
            }
        }
    }
}

fn observed(notice: &Notice) -> Option<Observed> {
    let transition = match notice.what {
        What::Opened { retry_at, cause } => ObservedTransition::Opened { retry_at, cause },
        What::Closed => ObservedTransition::Closed,
        What::HalfOpen { .. } | What::Configured(_) => return None,
    };
    Some(Observed { contract: notice.key.contract, breaker: notice.key.breaker, transition })
}

fn timeline(run: &Run) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["BLOCK", "TIME", "WHO", "CALLED", "ANSWERED BY", "GAS", "BREAKER", "EVENT"]);
    for row in &run.timeline {
        table.add_row([
            row.block.to_string(),
            row.time.to_string(),
            row.sender.clone(),
            row.call.clone(),
            row.answerer.map_or_else(|| "–".to_owned(), |answerer| answerer.to_string()),
            row.gas.to_string(),
            if row.before == row.after {
                row.after.to_string()
            } else {
                format!("{} → {}", row.before, row.after)
            },
            row.event.map(|event| event.to_string()).unwrap_or_default(),
        ]);
    }
    table
}

/// The run in three lines, a column a call.
fn ribbon(run: &Run) -> String {
    let calls: Vec<&Row> = run.timeline.iter().filter(|row| row.answerer.is_some()).collect();
    let draw = |mark: fn(&Row) -> char| calls.iter().map(|row| mark(row)).collect::<String>();
    let breaker = draw(|row| match row.before {
        State::Open => '█',
        State::HalfOpen => '▒',
        _ => '─',
    });
    let answers = draw(|row| match row.answerer {
        Some(Answerer::Primary) => 'P',
        Some(Answerer::Backup) => 'b',
        _ => '!',
    });
    let events = draw(|row| match row.event {
        Some(ModelEvent::Opened { .. }) => 'O',
        Some(ModelEvent::Closed) => 'C',
        _ => ' ',
    });
    let axis = axis(&calls);
    format!(
        "
  seconds   {axis}
  breaker   {breaker}   ─ closed  █ open  ▒ half-open
  answered  {answers}   P primary  b backup  ! nobody
  events    {events}   O Opened  C Closed
"
    )
}

/// The time of every tenth call, where it happened.
fn axis(calls: &[&Row]) -> String {
    const EVERY: usize = 10;
    let mut axis = String::new();
    for (column, row) in calls.iter().enumerate().skip(EVERY - 1).step_by(EVERY) {
        // The number ends in the column it is for.
        let width = column + 1 - axis.len();
        axis.push_str(&format!("{:>width$}", row.time));
    }
    format!("{axis:<width$}", width = calls.len())
}

fn summary(run: &Run) -> String {
    let sum = &run.summary;
    let seconds =
        |value: Option<u64>| value.map_or("never".to_owned(), |value| format!("{value} s"));
    let Scenario { name, about, policy, .. } = &run.scenario;
    format!(
        "{name}: {about}
  policy    failure threshold {}, cooldown {} s
  calls     {}: {} by the primary, {} by the backup ({} while open, {} after a failed attempt), {} failed
  breaker   {} Opened, {} Closed, open for {} s, {} probes of which {} failed
  times     detected after {}, recovered after {}
  gas       {} in all calls",
        policy.failure_threshold,
        policy.cooldown,
        sum.calls,
        sum.by_primary,
        sum.by_backup(),
        sum.by_backup_open,
        sum.by_backup_attempt,
        sum.failed,
        sum.opened,
        sum.closed,
        sum.time_open,
        sum.probes,
        sum.probes_failed,
        seconds(sum.detection),
        seconds(sum.recovery),
        sum.gas
    )
}
