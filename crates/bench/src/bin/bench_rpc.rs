//! `make bench-rpc`: the pool beside alloy's own layers, on the terminal and as a page.
//!
//!     bench-rpc [PAGE]
//!
//! Takes a minute and a half. Exits with 1 if ours misses a bound.
#![expect(clippy::print_stderr, reason = "this is the output module")]

use std::error::Error;
use std::process::ExitCode;

use fusebox_bench::about::{Bound, load, machine, version};
use fusebox_bench::page::publish;
use fusebox_bench::rpc::alone::{self, Alone};
use fusebox_bench::rpc::nodes::Farm;
use fusebox_bench::rpc::outage::{self, Outage};
use fusebox_bench::rpc::refusal::{self, Refused};
use fusebox_bench::rpc::subjects::Kind;
use futures_util::future::try_join_all;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let farm = Farm::new()?;
    let run = Run {
        load: load(),
        alone: alone::play(&farm).await?,
        refused: refused(&farm).await?,
        outages: outages(&farm).await?,
    };
    for outage in &run.outages {
        for (why, count) in outage.reasons() {
            eprintln!("{}, {count} ×: {why}", outage.kind.name());
        }
    }
    let bounds = run.bounds();
    let page = run.page(&bounds);
    publish(&page, std::env::args().nth(1), &bounds)
}

async fn refused(farm: &Farm) -> Result<Vec<Refused>, Box<dyn Error>> {
    let mut all = Vec::new();
    for kind in [Kind::Pool, Kind::FallbackRetry, Kind::Fallback] {
        all.push(refusal::play(farm, kind).await?);
    }
    Ok(all)
}

/// All at once: what disturbs one disturbs all.
async fn outages(farm: &Farm) -> Result<Vec<Outage>, Box<dyn Error>> {
    Ok(try_join_all(Kind::ALL.map(|kind| outage::play(farm, kind))).await?)
}

struct Run {
    load: Option<f64>,
    alone: Alone,
    refused: Vec<Refused>,
    outages: Vec<Outage>,
}

impl Run {
    fn bounds(&self) -> Vec<Bound> {
        let ours = self.outages.iter().filter(|outage| outage.kind.is_ours());
        let mut bounds: Vec<Bound> = ours.flat_map(Outage::bounds).collect();
        bounds.extend(refusal::bounds(&self.refused[0]));
        bounds.extend(self.alone.bounds());
        bounds
    }

    fn page(&self, bounds: &[Bound]) -> String {
        let load = self.load.map_or(String::new(), |load| format!(", load {load:.1} at the start"));
        format!(
            include_str!("../rpc/page.md"),
            alloy = version("alloy"),
            reqwest = version("reqwest"),
            machine = machine(),
            load = load,
            bounds = Bound::table(bounds),
            outages = outage::table(&self.outages),
            rate = outage::RATE,
            refused = refusal::table(&self.refused),
            alone = self.alone.table(),
            capacity = self.alone.capacity(),
        )
    }
}
