//! `make bench-keeper`: how fast the keeper reads, tells and idles, on the terminal and as a page.
//!
//!     bench-keeper [PAGE]
//!
//! Takes ten minutes. Exits with 1 if it misses a bound. The keeper is the release build beside this program; its node is
//! one that is made up, so that what is measured is not a node.
use std::{process::ExitCode, time::Duration};

use fusebox_bench::about::{Bound, load, machine, version};
use fusebox_bench::keeper::backfill::{
    BLOCKS, Backfill, EVENT_EVERY, FEW_BLOCKS, RANGE, ROUNDS, history,
};
use fusebox_bench::keeper::latency::{idle, latency};
use fusebox_bench::keeper::many::{MANY, Many, SOME, Status};
use fusebox_bench::keeper::{Failure, POLL};
use fusebox_bench::page::publish;
use fusebox_bench::soak::memory::mib;

/// What a node in the same data centre takes for an answer.
const NEAR: Duration = Duration::from_millis(5);

/// And one of a provider.
const FAR: Duration = Duration::from_millis(50);

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let load = load().map_or(String::new(), |load| format!(", load {load:.1} at the start"));
    let many = Many::measure().await?;
    let status = Status::measure(FAR).await?;
    let chain = history();
    let at_once = Backfill::measure(&chain, Duration::ZERO).await?;
    let backfill = Backfill::measure(&chain, NEAR).await?;
    drop(chain);
    let (polled, hinted) = (latency(false).await?, latency(true).await?);
    let idle = idle().await?;
    let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
    let bounds = [
        Bound::at_most(
            "bare ranges against the keeper, blocks/s",
            backfill.bare / backfill.keeper,
            1.0 / 0.8,
            |ratio| format!("{ratio:.2} ×"),
        ),
        Bound::at_most(
            "alloy's stream against the keeper, blocks/s",
            backfill.stream / backfill.keeper,
            1.0 / 15.0,
            |ratio| format!("{ratio:.3} ×"),
        ),
        Bound::at_most(
            format!("block → webhook by polling every {POLL:?}, p99"),
            polled,
            POLL + Duration::from_millis(50),
            ms,
        ),
        Bound::at_most("block → webhook by hints, p99", hinted, Duration::from_millis(100), ms),
        Bound::at_most("calls a block without an event", idle, 1.1, |calls| format!("{calls:.3}")),
        Bound::at_most(format!("{MANY} breakers: resident memory"), many.memory, 300 << 10, mib),
        Bound::at_most(
            format!("{MANY} breakers: a page of /status, p99"),
            many.page,
            Duration::from_millis(50),
            ms,
        ),
        Bound::at_most(
            format!("{SOME} breakers: keeper status, of a store"),
            status.stored,
            Duration::from_secs(2),
            ms,
        ),
        Bound::at_most(
            format!("{SOME} breakers: keeper status, by a node {FAR:?} away"),
            status.chain,
            Duration::from_secs(2),
            ms,
        ),
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
    publish(&page, std::env::args().nth(1), &bounds)
}
