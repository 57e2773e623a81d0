//! `make bench-keeper`: how fast the keeper reads, tells and idles, on the terminal and as a page.
//!
//!     bench-keeper [PAGE]
//!
//! Takes seven minutes. Exits with 1 if it misses a bound. The keeper is the release build beside this program; its node is
//! one that is made up, so that what is measured is not a node.
#![expect(clippy::print_stdout, reason = "this is the output module")]

use std::{process::ExitCode, time::Duration};

use alloy::{
    primitives::{Address, B256, U256, keccak256},
    providers::{CanonicalEvent, Provider, ProviderBuilder, RootProvider},
    rpc::types::Filter,
};
use fusebox_bench::about::{Bound, load, machine, version};
use fusebox_bench::keeper::{Failure, Keeper, SECRET};
use fusebox_testkit::{Chain, Node, Sink, any, block};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep};

const HOST: Address = Address::repeat_byte(0x11);

/// Blocks of history, and every which of them has an event.
const BLOCKS: u64 = 240_000;
const EVENT_EVERY: u64 = 60;

/// alloy's stream is too slow for all of them.
const FEW_BLOCKS: u64 = 1_200;

/// What a node in the same data centre takes for an answer.
const NEAR: Duration = Duration::from_millis(5);

/// Blocks in one question, as the keeper begins.
const RANGE: u64 = 2_000;

const ROUNDS: usize = 5;
const EVENTS: usize = 200;
const IDLE_BLOCKS: u64 = 1_000;
const POLL: Duration = Duration::from_millis(250);

/// What takes longer than this does not end.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let load = load().map_or(String::new(), |load| format!(", load {load:.1} at the start"));
    let chain = history();
    let at_once = Backfill::measure(&chain, Duration::ZERO).await?;
    let backfill = Backfill::measure(&chain, NEAR).await?;
    let latency = latency().await?;
    let idle = idle().await?;
    let bounds = [
        Bound::at_most(
            "bare ranges against the keeper, blocks/s",
            backfill.bare / backfill.keeper,
            1.25,
            |ratio| format!("{ratio:.2} ×"),
        ),
        Bound::at_most(
            "alloy's stream against the keeper, blocks/s",
            backfill.stream / backfill.keeper,
            1.0 / 15.0,
            |ratio| format!("{ratio:.3} ×"),
        ),
        Bound::at_most(
            "block → webhook, p99",
            latency,
            POLL + Duration::from_millis(50),
            |time| format!("{time:.0?}"),
        ),
        Bound::at_most("calls a block", idle, 1.1, |calls| format!("{calls:.3}")),
    ];
    let rows = Bound::table(&bounds);
    let page = format!(
        "# The keeper, measured\n\nBy `make bench-keeper`, with alloy {} on {}{load}.\n\n\
         History of {BLOCKS} blocks with an event in every {EVENT_EVERY}th, medians of {ROUNDS}, in blocks/s. The made-up node answers \
         at once, where all that is measured is work, or after {NEAR:?}, as one in the same data centre; the bounds are about that.\n\n\
         | who reads | at once | after {NEAR:?} |\n|---|---:|---:|\n\
         | a loop of `eth_getLogs` over {RANGE} blocks | {:.0} | {:.0} |\n\
         | `keeper run`, from its start to the last event in its store | {:.0} | {:.0} |\n\
         | alloy's `watch_canonical_logs_from`, {FEW_BLOCKS} of the blocks | {:.0} | {:.0} |\n\n{rows}",
        version("alloy"),
        machine(),
        at_once.bare,
        backfill.bare,
        at_once.keeper,
        backfill.keeper,
        at_once.stream,
        backfill.stream,
    );
    println!("{page}");
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(&path, page).map_err(|error| format!("cannot write {path}: {error}"))?;
        println!("written to {path}");
    }
    let is_met = bounds.iter().all(Bound::is_met);
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Watches one contract from a block on, and tells the sink.
fn watching(node: &Node, start: u64, sink: Option<&Sink>) -> Result<Keeper, Failure> {
    let hook = sink.map_or(String::new(), |sink| {
        format!(
            "[channel.hook]\ntype = \"webhook\"\nurl = \"{}\"\nsecrets = [\"${{HOOK_SECRET}}\"]\n[[route]]\nchannels = [\"hook\"]\n",
            sink.url()
        )
    });
    Keeper::start(&format!(
        "[[profile.default.chain.31337.provider]]\nname = \"node\"\nhttp = \"{}\"\n\
         [chain.dev]\nid = 31337\npoll = \"{}ms\"\n\
         [[chain.dev.watch]]\naddress = \"{HOST}\"\nstart = {start}\nread_back = false\n{hook}",
        node.url(),
        POLL.as_millis(),
    ))
}

/// Opens for ever, so that nothing becomes half-open meanwhile.
fn opening(chain: &Chain) -> u64 {
    let data = [U256::MAX, U256::from(1)].map(|word| word.to_be_bytes::<32>()).concat();
    chain.mine(block().log(HOST, [opened(), B256::ZERO], data)).number
}

fn opened() -> B256 {
    keccak256("Opened(bytes32,uint256,uint8)")
}

fn history() -> Chain {
    let chain = Chain::new();
    for number in 1..=BLOCKS {
        match number % EVENT_EVERY {
            0 => drop(opening(&chain)),
            _ => drop(chain.mine_empty(1)),
        }
    }
    chain
}

/// Blocks a second.
struct Backfill {
    bare: f64,
    keeper: f64,
    stream: f64,
}

impl Backfill {
    async fn measure(chain: &Chain, latency: Duration) -> Result<Self, Failure> {
        let slow = any().delay(latency);
        let node = Node::scripted(chain.clone()).rule(slow).start().await?;
        let provider: RootProvider = ProviderBuilder::default().connect_http(node.url().parse()?);
        let filter = Filter::new().address(HOST).event_signature(opened());
        let (mut bare, mut keeper, mut stream) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let mut found = 0;
            for from in (1..=BLOCKS).step_by(RANGE as usize) {
                let range =
                    filter.clone().from_block(from).to_block((from + RANGE - 1).min(BLOCKS));
                found += provider.get_logs(&range).await?.len() as u64;
            }
            assert_eq!(found, BLOCKS / EVENT_EVERY);
            bare.push(BLOCKS as f64 / start.elapsed().as_secs_f64());

            let start = Instant::now();
            watching(&node, 1, None)?.sees(BLOCKS, PATIENCE).await?;
            keeper.push(BLOCKS as f64 / start.elapsed().as_secs_f64());

            let start = Instant::now();
            let want = FEW_BLOCKS / EVENT_EVERY;
            let mut logs = provider.watch_canonical_logs_from(1, &filter).into_stream();
            let mut found = 0;
            while found < want {
                if let CanonicalEvent::Added(block) = logs.next().await.ok_or("it has ended")?? {
                    found += block.logs.len() as u64;
                }
            }
            stream.push(FEW_BLOCKS as f64 / start.elapsed().as_secs_f64());
        }
        Ok(Self { bare: median(bare), keeper: median(keeper), stream: median(stream) })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// From a block with an event to its webhook, of a hundred the slowest but one.
async fn latency() -> Result<Duration, Failure> {
    let chain = Chain::new();
    chain.mine_empty(100);
    let node = Node::scripted(chain.clone()).start().await?;
    let sink = Sink::builder().secret(SECRET).start().await?;
    let keeper = watching(&node, 101, Some(&sink))?;
    keeper.sees(100, PATIENCE).await?;
    let before = sink.deliveries().len();
    let mut times = Vec::new();
    for event in 0..EVENTS {
        // Off the beat of the poll.
        sleep(Duration::from_millis(300 + (event as u64 * 37) % 250)).await;
        let start = Instant::now();
        opening(&chain);
        sink.received(before + event + 1).await;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() * 99 / 100 - 1])
}

/// Calls for each block without an event.
async fn idle() -> Result<f64, Failure> {
    let chain = Chain::new();
    chain.mine_empty(100);
    let node = Node::scripted(chain.clone()).start().await?;
    let keeper = watching(&node, 101, None)?;
    keeper.sees(100, PATIENCE).await?;
    let before = node.all_calls().len();
    for _ in 0..IDLE_BLOCKS {
        chain.mine_empty(1);
        sleep(POLL).await;
    }
    Ok((node.all_calls().len() - before) as f64 / IDLE_BLOCKS as f64)
}
