//! `keeper simulate`: a scenario on an anvil of its own, watched with the same code as a real chain.

use crate::{
    Refusal,
    cli::SimulateArgs,
    config::Verify,
    fold::{Anywhere, ChainName, Ledger, Watched},
    node::Nodes,
    output, shutdown,
    store::Store,
    watch::{self, Kind, Plan, Sighting, Tapped, Watch, decode},
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
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{sync::Notify, task::JoinHandle};

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
    let mut observer = Watching::start(&engine).await?;
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

/// The observer that the simulator is lent: the watch, as `run` has it, on a store in memory.
struct Watching {
    health: watch::Handle,
    hint: Arc<Notify>,
    /// What was stored since the last block that was asked for.
    sightings: Arc<Mutex<Vec<Sighting>>>,
    task: JoinHandle<Result<(), watch::WatchError>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// anvil's default.
const CHAIN: u64 = 31_337;

impl Watching {
    async fn start(engine: &AnvilEngine) -> eyre::Result<Self> {
        let nodes = Nodes::lone(CHAIN, engine.url())?;
        let genesis = nodes.genesis().await?.ok_or_else(|| eyre::eyre!("anvil has no block"))?;
        let plan = Plan {
            // A node of our own hides nothing.
            verify: Verify::Off,
            ..Plan::quick(CHAIN.to_string())
        };
        let name = ChainName {
            id: CHAIN,
            name: plan.name.clone(),
            tx_link: None,
            reorg_window: plan.reorg_window,
        };
        let anywhere = Some(Anywhere { start: 0, max_contracts: u64::MAX, alert: false });
        let watched = Watched { anywhere, tells_history: true, ..Watched::default() };
        let store = Store::in_memory().await?;
        let ledger = Ledger::open(store, name, genesis, watched, Arc::new(|_| Vec::new())).await?;

        let sightings = Arc::<Mutex<Vec<Sighting>>>::default();
        let stored = Arc::clone(&sightings);
        let book = Tapped::new(ledger, move |batch| {
            let mut stored = stored.lock().unwrap_or_else(PoisonError::into_inner);
            stored.extend(batch.sightings.iter().cloned());
            Ok(())
        });
        let (watch, health) = Watch::new(nodes, book, plan);
        let hint = watch.hint();
        Ok(Self { health, hint, sightings, task: tokio::spawn(watch.run()) })
    }
}

impl Observer for Watching {
    async fn observe(&mut self, sealed: &Sealed) -> Result<Vec<Observed>, ObserverError> {
        let fail = |reason: String| ObserverError { reason };
        self.hint.notify_one();
        let health = self.health.wait_for(|health| {
            health.seen.is_some_and(|seen| seen.number >= sealed.number)
                || health.halted.is_some()
                || !health.degraded.is_empty()
        });
        let health = health.await.map_err(|_| fail("the watch ended".to_owned()))?;
        if let Some(reason) = health.halted.as_ref().or(health.degraded.values().next()) {
            return Err(fail(reason.clone()));
        }
        drop(health);
        let sightings =
            std::mem::take(&mut *self.sightings.lock().unwrap_or_else(PoisonError::into_inner));
        let mut observed = Vec::new();
        for sighting in sightings {
            let Some((breaker, kind)) = decode(&sighting.topics, &sighting.data) else {
                let (contract, block) = (sighting.contract, sighting.block.number);
                return Err(fail(format!(
                    "{contract} emitted a breaker's event of an unknown shape in block {block}"
                )));
            };
            let transition = match kind {
                Kind::Opened { retry_at, cause: Some(cause) } => {
                    ObservedTransition::Opened { retry_at, cause }
                }
                Kind::Closed => ObservedTransition::Closed,
                // No contract here is marked as legacy, so that each opening has its cause.
                Kind::Opened { cause: None, .. } | Kind::Configured(_) => continue,
            };
            let contract = sighting.contract;
            observed.push(Observed { contract, breaker, transition });
        }
        Ok(observed)
    }
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
