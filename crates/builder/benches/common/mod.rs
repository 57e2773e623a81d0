//! What the benches share: a clock, the process's peak memory, and bars that can be enforced (`-- --check`) or handed on to a
//! page (`-- --rows`: a figure a line, in tabs).

use std::{env, fs, process::ExitCode, time::Duration, time::Instant};

/// The policies of both benches.
pub(crate) const POLICIES: [&str; 8] =
    ["seed", "consecutive(max=3)", "lighthouse", "prysm", "teku", "lodestar", "nimbus", "grandine"];

/// Runs a thing, and says how long its only thread has worked: time in which others had the processor does not count, where
/// the system tells it apart.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let (start, work) = (Instant::now(), worked());
    let result = run();
    let time = start.elapsed();
    let work = worked().zip(work).map(|(after, before)| after.saturating_sub(before));
    (result, work.unwrap_or(time))
}

fn worked() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The median.
#[allow(dead_code)] // one bench runs once
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The most memory that this process ever had, in KiB; none where the system does not say.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Figures against their bars.
#[derive(Debug, Default)]
pub(crate) struct Bars {
    missed: bool,
}

impl Bars {
    /// A figure and the most that it may be.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, bar: f64, unit: &str) {
        let good = figure <= bar;
        self.missed |= !good;
        let verdict = if good { "ok" } else { "TOO MUCH" };
        match is_asked("--rows") {
            true => println!("{what}\t{figure}\t{bar}\t{unit}"),
            false => println!("{what}: {figure:.3} {unit}, at most {bar} {unit}: {verdict}"),
        }
    }

    /// Fails if bars are asked for, since a figure cannot be had.
    #[allow(dead_code)] // one bench needs what may not be there
    pub(crate) fn without(&mut self, why: &str) {
        self.missed = true;
        eprintln!("skipped: {why}");
    }

    /// Fails where a bar was missed, if bars are asked for with `-- --check`.
    pub(crate) fn verdict(self) -> ExitCode {
        if self.missed && is_asked("--check") { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn is_asked(option: &str) -> bool {
    env::args().any(|argument| argument == option)
}
