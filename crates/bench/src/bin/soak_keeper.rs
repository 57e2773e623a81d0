//! Part of `make soak`: random faults around a keeper for as long as is wanted, and what they leave behind.
//!
//! Exits with 1 if they leave anything: memory, a lag, an event that is not told or does not stand.
#![expect(clippy::print_stderr, reason = "this is the output module")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy::primitives::{B256, U256};
use alloy::sol_types::SolEvent;
use clap::Parser;
use fusebox_bench::about::{Bound, load, machine};
use fusebox_bench::keeper::{Failure, HOST, Keeper, POLL, SECRET};
use fusebox_bench::page::publish;
use fusebox_bench::rpc::load::secs;
use fusebox_bench::soak::faults::{NODES, heal, spoil};
use fusebox_bench::soak::memory::{self, mib};
use fusebox_bindings::events::{Closed, Opened};
use fusebox_testkit::{BlockId, BlockPlan, Chain, Heard, Node, Sink, block};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::time::{Instant, sleep};

const BREAKERS: u8 = 20;

const BLOCK_TIME: Duration = Duration::from_millis(500);
const EVENTS: f64 = 1.0 / 3.0;
const REORGS: f64 = 1.0 / 20.0;
/// As the keeper is told.
const CONFIRMATIONS: u64 = 8;
/// Below the confirmations.
const DEEPEST: usize = 3;

/// Memory is compared with what it was after this, or half of a shorter run.
const WARM_UP: Duration = Duration::from_secs(360);

/// By how much it may have grown.
const GROWTH: f64 = 1.1;

/// The same, where the warm-up was cut short: connections and caches are not as large yet as they will be.
const GROWTH_WHILE_WARMING: f64 = 1.5;

/// How long the keeper has to be at the head once all is well: the longest pause of the pool, and as much again.
const RECOVERY: Duration = Duration::from_secs(60);

/// How long it has to have told everything: a delivery whose connection was closed comes again after 30 s.
const TOLD: Duration = Duration::from_secs(120);

/// Connections that are cut in an hour, at the least; in a shorter run fewer.
const CUT: f64 = 1_000.0;

/// `/health` is asked as often.
const HEALTH: Duration = Duration::from_secs(5);

/// Random faults around a keeper.
#[derive(Parser)]
struct Args {
    /// How long.
    #[arg(long, env = "SOAK_SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(u64).range(10..))]
    seconds: u64,
    /// What chance follows from; printed, and another one each time unless given.
    #[arg(long, env = "SOAK_SEED")]
    seed: Option<u64>,
    /// Where to write what is printed, as a page.
    page: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let args = Args::parse();
    let seed = args.seed.unwrap_or_else(|| rand::rng().random());
    eprintln!("{} s, SOAK_SEED={seed}", args.seconds);
    let before = load();
    let run = soak(Duration::from_secs(args.seconds), seed).await?;
    let loads: Vec<String> =
        before.iter().chain(&load()).map(|load| format!("{load:.1}")).collect();
    let page = format!(
        include_str!("../soak/keeper.md"),
        seconds = args.seconds,
        seed = seed,
        nodes = NODES,
        machine = machine(),
        load = loads.join(" before, ") + " after",
        bounds = Bound::table(&run.bounds),
        blocks = run.made,
        gone = run.gone,
        standing = run.standing,
        deliveries = run.deliveries,
        memory = run.memory,
    );
    publish(&page, args.page.as_ref(), &run.bounds)
}

/// What came of it.
struct Run {
    made: u64,
    gone: u64,
    standing: usize,
    deliveries: usize,
    memory: String,
    bounds: Vec<Bound>,
}

async fn soak(time: Duration, seed: u64) -> Result<Run, Failure> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut history = History::new();
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(Node::scripted(&history.chain).seed(random.random()).start().await?);
    }
    let is_calm = Arc::new(AtomicBool::new(false));
    let sink = Sink::builder().secret(SECRET).unreliable_until(&is_calm).start().await?;
    let mut keeper = Keeper::start(&file(&nodes, &sink, history.head().number + 1))?;
    keeper.sees(history.head().number, RECOVERY).await?;

    let memory = tokio::spawn(memory::watch(keeper.process(), time, WARM_UP.min(time / 2)));
    let mut unwell = 0;
    let spoil_seed = random.random();
    tokio::select! {
        () = spoil(&nodes, spoil_seed) => {}
        () = history.goes_on(&mut random) => {}
        () = is_unwell(&keeper, &mut unwell) => {}
        () = sleep(time) => {}
    }
    let (first, last) =
        memory.await?.ok_or("the keeper is gone, or this system does not say what it uses")?;

    heal(&nodes).await;
    is_calm.store(true, Ordering::Relaxed);
    let start = Instant::now();
    let caught_up = keeper.sees(history.head().number, RECOVERY).await.map(|()| start.elapsed());
    // What two nodes withheld at once is found when its block is final.
    for _ in 0..2 * CONFIRMATIONS {
        history.add(None);
        sleep(BLOCK_TIME).await;
    }
    let canonical = history.facts();
    let told = loop {
        let heard = Heard::of(&sink.deliveries());
        if heard.standing() == canonical || start.elapsed() > TOLD {
            break start.elapsed();
        }
        sleep(BLOCK_TIME).await;
    };
    let deliveries = sink.deliveries();
    let heard = Heard::of(&deliveries);
    let standing = heard.standing();
    // Each node has one of HTTP and one WebSocket at the end.
    let accepted: u64 = nodes.iter().map(|node| node.connections("main")).sum();
    let cut = accepted.saturating_sub(2 * nodes.len() as u64);
    let unsigned = deliveries.iter().filter(|delivery| delivery.verified.is_err()).count();
    let bounds = vec![
        Bound::at_most(
            "memory at the end, × that after the warm-up",
            last as f64 / first as f64,
            if time < 2 * WARM_UP { GROWTH_WHILE_WARMING } else { GROWTH },
            |growth| format!("{growth:.3}"),
        ),
        Bound::at_most(
            "all is well: until the keeper is at the head",
            caught_up.unwrap_or(Duration::MAX),
            RECOVERY,
            secs,
        ),
        Bound::at_most("all is well: until everything is told", told, TOLD, secs),
        Bound::at_least(
            "connections that were cut",
            cut,
            (CUT * time.as_secs_f64() / 3_600.0) as u64,
        ),
        Bound::exactly(
            "events on the chain that are not told",
            canonical.difference(&standing).count(),
            0,
        ),
        Bound::exactly(
            "events told that are not on the chain",
            standing.difference(&canonical).count(),
            0,
        ),
        Bound::exactly("ids under which two things were said", heard.contradictions().len(), 0),
        Bound::exactly("webhooks without a good signature", unsigned, 0),
        Bound::exactly("times at which `/health` was not well", unwell, 0),
    ];
    if !bounds.iter().all(Bound::is_met) {
        let missing: Vec<_> = canonical.difference(&standing).collect();
        let surplus: Vec<_> = standing.difference(&canonical).collect();
        let folder = keeper.keep_folder().display().to_string();
        eprintln!("not told: {missing:#?}, told and gone: {surplus:#?}; see {folder}");
    }
    Ok(Run {
        made: history.made,
        gone: history.gone,
        standing: standing.len(),
        deliveries: deliveries.len(),
        memory: format!("{} after the warm-up, {} at the end", mib(first), mib(last)),
        bounds,
    })
}

fn file(nodes: &[Node], sink: &Sink, start: u64) -> String {
    let providers: String = nodes
        .iter()
        .enumerate()
        .map(|(i, node)| {
            let (http, ws) = (node.url(), node.ws_url());
            format!(
                "[[profile.default.chain.31337.provider]]\nname = \"node-{i}\"\nhttp = \"{http}\"\nws = \"{ws}\"\n"
            )
        })
        .collect();
    format!(
        r#"{providers}
[chain.dev]
id = 31337
poll = "{POLL:?}"
confirmations = {CONFIRMATIONS}
[[chain.dev.watch]]
address = "{HOST}"
start = {start}
read_back = false
[channel.hook]
type = "webhook"
url = "{sink}"
secrets = ["${{HOOK_SECRET}}"]
[[route]]
channels = ["hook"]
"#,
        sink = sink.url(),
    )
}

/// Never ends.
async fn is_unwell(keeper: &Keeper, times: &mut u64) {
    loop {
        if !matches!(keeper.get("/health").await, Ok((200, _))) {
            *times += 1;
        }
        sleep(HEALTH).await;
    }
}

/// A chain, and what is on it.
struct History {
    chain: Chain,
    /// Its blocks from the first one on, and whether there is an event.
    blocks: Vec<(BlockId, bool)>,
    made: u64,
    gone: u64,
}

impl History {
    /// Long enough for a reorg, and without an event.
    fn new() -> Self {
        let mut history = Self { chain: Chain::new(), blocks: Vec::new(), made: 0, gone: 0 };
        for _ in 0..20 {
            history.add(None);
        }
        history
    }

    fn head(&self) -> BlockId {
        self.chain.head()
    }

    fn add(&mut self, event: Option<BlockPlan>) {
        let has_event = event.is_some();
        let id = self.chain.mine(event.unwrap_or_else(block));
        self.blocks.push((id, has_event));
        self.made += 1;
    }

    fn lose(&mut self, count: usize) {
        self.chain.reorg(count, []);
        self.blocks.truncate(self.blocks.len() - count);
        self.gone += count as u64;
    }

    /// Block after block. Never ends.
    async fn goes_on(&mut self, random: &mut StdRng) {
        loop {
            sleep(BLOCK_TIME).await;
            let lost =
                if random.random_bool(REORGS) { random.random_range(1..=DEEPEST) } else { 0 };
            self.lose(lost);
            // The other branch is never shorter.
            for _ in 0..=lost {
                let event = random.random_bool(EVENTS).then(|| event(random));
                self.add(event);
            }
        }
    }

    /// The events that are on the chain, as the keeper names them.
    fn facts(&self) -> BTreeSet<String> {
        let with_event = self.blocks.iter().filter(|(_, has_event)| *has_event);
        with_event.map(|(block, _)| format!("31337:{}:0", block.hash)).collect()
    }
}

/// A breaker opens for as long as this lasts, or closes.
fn event(random: &mut StdRng) -> BlockPlan {
    let breaker = B256::with_last_byte(random.random_range(1..=BREAKERS));
    if random.random_bool(0.6) {
        let data = [U256::MAX, U256::from(1)].map(|word| word.to_be_bytes::<32>()).concat();
        block().log(HOST, [Opened::SIGNATURE_HASH, breaker], data)
    } else {
        block().log(HOST, [Closed::SIGNATURE_HASH, breaker], [])
    }
}
