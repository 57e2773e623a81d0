//! `make soak-rpc`: random faults in front of the pool for as long as is wanted, and what they leave behind.
//!
//! Exits with 1 if they leave anything: memory, a call without an end, a permit.
#![expect(clippy::print_stderr, reason = "this is the output module")]

use std::error::Error;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloy::providers::{DynProvider, Provider, ProviderBuilder};
use clap::Parser;
use fusebox_bench::about::{Bound, load, machine};
use fusebox_bench::page::publish;
use fusebox_bench::rpc::load::{ms, secs};
use fusebox_bench::rpc::subjects::{CALL, pool};
use fusebox_bench::soak::faults::{HEAL, NODES, serve};
use fusebox_bench::soak::memory::{self, mib};
use fusebox_bench::soak::tally::{End, Tally};
use fusebox_bench::soak::traffic;
use fusebox_breaker::State;
use fusebox_rpc::Pool;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Short, so that breakers open and close all the time.
const COOLDOWN: Duration = Duration::from_secs(1);

/// Memory is compared with what it was after this, or half of a shorter run.
const WARM_UP: Duration = Duration::from_secs(60);

/// By how much it may have grown.
const GROWTH: f64 = 1.1;

/// The same, where the warm-up was cut short: connections and queues are not as large yet as they will be.
const GROWTH_WHILE_WARMING: f64 = 1.5;

/// How long the pool has to come back once all nodes are well: the longest pause of its throttle, and as much again.
const RECOVERY: Duration = Duration::from_secs(60);

const SECOND: Duration = Duration::from_secs(1);

/// What has not ended by then never will: each call has a deadline, and a filter is three of them.
const PATIENCE: Duration = Duration::from_secs(3 * CALL.as_secs() + 1);

/// Random faults in front of the pool of fusebox-rpc.
#[derive(Parser)]
struct Args {
    /// How long.
    #[arg(long, env = "SOAK_SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(2..))]
    seconds: u64,
    /// Calls a second.
    #[arg(long, env = "SOAK_RATE", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// What chance follows from; printed, and another one each time unless given.
    #[arg(long, env = "SOAK_SEED")]
    seed: Option<u64>,
    /// Where to write what is printed, as a page.
    page: Option<PathBuf>,
    /// Be the nodes instead.
    #[arg(long, hide = true)]
    nodes: bool,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::parse();
    let seed = args.seed.unwrap_or_else(|| rand::rng().random());
    if args.nodes {
        serve(seed).await?;
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{} s at {} calls a second, SOAK_SEED={seed}", args.seconds, args.rate);
    let before = load();
    let (mut child, urls) = start_nodes(seed).await?;
    let run = soak(&args, seed, &urls, &mut child).await?;
    drop(child.stdin.take());
    child.wait().await?;

    let loads: Vec<String> =
        before.iter().chain(&load()).map(|load| format!("{load:.1}")).collect();
    let page = format!(
        include_str!("../soak/page.md"),
        seconds = args.seconds,
        rate = args.rate,
        seed = seed,
        nodes = NODES,
        machine = machine(),
        load = loads.join(" before, ") + " after",
        bounds = Bound::table(&run.bounds),
        ends = run.tally.table(),
        opened = run.opened,
        slowest = ms(run.tally.slowest()),
        memory = run.memory,
    );
    if let Some(example) = run.tally.example() {
        eprintln!("the first call without a reason: {example}");
    }
    publish(&page, args.page.as_ref(), &run.bounds)
}

async fn start_nodes(seed: u64) -> Result<(Child, Vec<String>), Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--nodes", "--seed", &seed.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = child.stdout.take().ok_or("the nodes have no output")?;
    let line = BufReader::new(stdout).lines().next_line().await?.ok_or("the nodes do not start")?;
    Ok((child, line.split(' ').map(str::to_owned).collect()))
}

/// What came of it.
struct Run {
    tally: Tally,
    opened: u64,
    memory: String,
    bounds: Vec<Bound>,
}

async fn soak(
    args: &Args,
    seed: u64,
    urls: &[String],
    nodes: &mut Child,
) -> Result<Run, Box<dyn Error>> {
    let pool = pool(urls, COOLDOWN).build()?;
    let background = Background::start(&pool);
    let provider = ProviderBuilder::new().connect_client(pool.client()).erased();

    let time = Duration::from_secs(args.seconds);
    let mut random = StdRng::seed_from_u64(seed);
    let calls = Arc::new(Calls::default());
    let memory = tokio::spawn(memory::watch(std::process::id(), time, WARM_UP.min(time / 2)));
    let count = args.seconds * args.rate;
    let start = Instant::now();
    for i in 0..count {
        sleep_until(start + Duration::from_secs_f64(i as f64 / args.rate as f64)).await;
        calls.start(&provider, random.random());
    }
    let (first, last) =
        memory.await?.ok_or("this system does not say how much memory is in use")?;
    let patience = Instant::now() + PATIENCE;
    while calls.under_way() > 0 && Instant::now() < patience {
        sleep(SECOND / 100).await;
    }
    let tally = calls.tally();
    // Nobody calls any more, and nobody probes: before a lease ends, so that it cannot hide what was lost.
    let mut opened = background.end().await?;
    let held: u64 = breakers(&pool, |view| u64::from(view.in_flight)).into_iter().sum();

    let stdin = nodes.stdin.as_mut().ok_or("the nodes have no input")?;
    stdin.write_all(HEAL.as_bytes()).await?;
    let background = Background::start(&pool);
    let recovered = recover(&pool, &provider).await;
    opened += background.end().await?;

    let bounds = vec![
        Bound::at_most(
            "memory at the end, × that after the warm-up",
            last as f64 / first as f64,
            if time < 2 * WARM_UP { GROWTH_WHILE_WARMING } else { GROWTH },
            |growth| format!("{growth:.3}"),
        ),
        Bound::exactly("calls without an end", count - tally.total(), 0),
        Bound::exactly("calls that ended without a reason", tally.count(End::Unexplained), 0),
        Bound::exactly("answers to another question", tally.count(End::Wrong), 0),
        Bound::exactly("permits still held", held, 0),
        Bound::at_most(
            "all nodes well: until every breaker is closed",
            recovered.unwrap_or(Duration::MAX),
            RECOVERY,
            secs,
        ),
    ];
    let memory = format!("{} after the warm-up, {} at the end", mib(first), mib(last));
    Ok(Run { tally, opened, memory, bounds })
}

/// What owners of a pool do in the background.
struct Background {
    stop: watch::Sender<bool>,
    task: JoinHandle<u64>,
}

impl Background {
    fn start(pool: &Pool) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self { stop, task: tokio::spawn(run(pool.clone(), stopped)) }
    }

    /// How often a breaker opened.
    async fn end(self) -> Result<u64, JoinError> {
        self.stop.send_replace(true);
        self.task.await
    }
}

async fn run(pool: Pool, mut stopped: watch::Receiver<bool>) -> u64 {
    let opened = AtomicU64::new(0);
    let drain = || {
        pool.drain(|event| {
            if let fusebox_rpc::PoolEvent::Breaker { event, .. } = event
                && matches!(event.kind, fusebox_breaker::EventKind::Opened { .. })
            {
                opened.fetch_add(1, Ordering::Relaxed);
            }
        });
    };
    let stop = async move {
        // A sender that is gone wants the same.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let listen = async {
        loop {
            sleep(SECOND).await;
            drain();
        }
    };
    tokio::select! {
        () = pool.run(stop) => {}
        () = listen => {}
    }
    drain();
    opened.into_inner()
}

/// Calls under way, and how the others ended.
#[derive(Default)]
struct Calls {
    under_way: AtomicU64,
    tally: Mutex<Tally>,
}

impl Calls {
    fn start(self: &Arc<Self>, provider: &DynProvider, draw: u64) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let (calls, provider, start) = (Arc::clone(self), provider.clone(), Instant::now());
        tokio::spawn(async move {
            let ended = traffic::one(&provider, draw).await;
            calls.lock().add(ended.end, start.elapsed(), || ended.text);
            calls.under_way.fetch_sub(1, Ordering::Relaxed);
        });
    }

    fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    fn tally(&self) -> Tally {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tally> {
        // A count is whole, whoever panicked.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long until every breaker is closed. Classes that no probe exercises need calls for it.
async fn recover(pool: &Pool, provider: &DynProvider) -> Option<Duration> {
    let start = Instant::now();
    while start.elapsed() < RECOVERY {
        for draw in 0..100 {
            // One that never ends is an open breaker, or was counted before.
            let _ = timeout(PATIENCE, traffic::one(provider, draw)).await;
        }
        if breakers(pool, |view| view.state).into_iter().all(|state| state == State::Closed) {
            return Some(start.elapsed());
        }
        sleep(SECOND / 10).await;
    }
    None
}

fn breakers<T>(pool: &Pool, look: impl Fn(&fusebox_breaker::View) -> T) -> Vec<T> {
    let status = pool.status();
    status.iter().flat_map(|endpoint| &endpoint.classes).map(|class| look(&class.breaker)).collect()
}
