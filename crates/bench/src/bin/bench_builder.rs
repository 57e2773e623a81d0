//! `make bench-builder`: what the builder's sidecar, replay and simulation take, on the terminal and as a page.
//!
//!     bench-builder [PAGE]
//!
//! Takes a minute, and the time to build. Exits with 1 if it misses a bound. It measures nothing itself: the benches of
//! `fusebox-builder` do, as release builds, one after the other.
use fusebox_bench::about::{Bound, load, machine};
use fusebox_bench::page::publish;
use std::{
    env,
    error::Error,
    process::{Command, ExitCode, Stdio},
};

type Failure = Box<dyn Error>;

const BENCHES: [&str; 3] = ["replay", "simulate", "sidecar"];

fn main() -> Result<ExitCode, Failure> {
    let load = load().map_or(String::new(), |load| format!(", load {load:.1} at the start"));
    let mut bounds = Vec::new();
    for bench in BENCHES {
        for line in rows(bench)?.lines() {
            bounds.push(bound(line).ok_or_else(|| format!("{bench}: no figure: {line}"))?);
        }
    }
    let page = format!(
        "# The builder breaker, measured\n\nBy `make bench-builder`, on {}{load}.\n\n\
         Replay and simulation run on one thread, and what counts is the time that it has worked: eight policies over half a year of \
         mainnet, where that file is at hand, the CSV read each time; and 1,000 outages under the same eight. The sidecar stands \
         before a relay on the loopback that answers 1.8 kB; direct and proxied requests take turns, 5,000 each over one \
         connection, medians of three rounds.\n\n{}",
        machine(),
        Bound::table(&bounds),
    );
    publish(&page, env::args().nth(1), &bounds)
}

/// What a bench prints: a figure a line. What else it says goes to the terminal.
fn rows(bench: &str) -> Result<String, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["bench", "--locked", "--quiet", "--package", "fusebox-builder", "--bench", bench];
    let output =
        Command::new(cargo).args(args).args(["--", "--rows"]).stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("the bench {bench} failed: {}", output.status).into()),
    }
}

/// What, the figure, the most that it may be, and the unit.
fn bound(line: &str) -> Option<Bound> {
    let [what, seen, most, unit] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    let show = |figure: f64| match figure < 10.0 {
        true => format!("{figure:.2} {unit}"),
        false => format!("{figure:.0} {unit}"),
    };
    Some(Bound::at_most(what, seen.parse().ok()?, most.parse().ok()?, show))
}
