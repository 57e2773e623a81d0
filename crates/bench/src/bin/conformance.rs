//! `make conformance`: the matrix and the times, on the terminal and as a page.
//!
//!     conformance [PAGE]
//!
//! Exits with 1 if ours fails a row. Times are compared and never judged by the exit code: other work on the machine is
//! no defect of a breaker.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is the output module")]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use fusebox_bench::about::{machine, version};
use fusebox_bench::rows::ROWS;
use fusebox_bench::speed::{self, Scenario, Watch, Work};
use fusebox_bench::subjects::CRATES;

/// What a cell of the speed table may take.
const CELL: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 20;

fn main() -> ExitCode {
    // Panics are part of a scenario and would only confuse.
    std::panic::set_hook(Box::new(|info| {
        let on_purpose = info
            .payload()
            .downcast_ref::<&str>()
            .is_some_and(|why| *why == "the scenario wants a panic");
        if !on_purpose {
            eprintln!("{info}");
        }
    }));

    let (matrix, failed) = matrix();
    println!("{matrix}");
    let speed = speed_table();
    println!("{speed}");

    if let Some(page) = std::env::args().nth(1) {
        if let Err(error) = std::fs::write(&page, self::page(&matrix, &speed)) {
            eprintln!("cannot write {page}: {error}");
            return ExitCode::FAILURE;
        }
        println!("written to {page}");
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The matrix, and how many rows ours fails.
fn matrix() -> (String, usize) {
    let mut table = String::from("| | scenario | want |");
    for subject in &CRATES {
        let _ = write!(table, " {} {} |", subject.package, version(subject.package));
    }
    table.push_str("\n|---|---|---|");
    table.push_str(&"---|".repeat(CRATES.len()));
    table.push('\n');

    let mut passed = [0; CRATES.len()];
    let mut played = [0; CRATES.len()];
    for row in &ROWS {
        let _ = write!(table, "| {} | {} | {} |", row.id, row.scenario, row.want);
        for (i, subject) in CRATES.iter().enumerate() {
            match row.play(subject) {
                None => table.push_str(" n/a |"),
                Some(seen) => {
                    let is_right = seen == row.want;
                    played[i] += 1;
                    passed[i] += usize::from(is_right);
                    let _ = write!(table, " {} {seen} |", if is_right { "✓" } else { "✗" });
                }
            }
        }
        table.push('\n');
    }
    table.push_str("| | | passed |");
    for (passed, played) in passed.iter().zip(&played) {
        let _ = write!(table, " {passed} of {played} |");
    }
    table.push('\n');
    (table, played[0] - passed[0])
}

/// A line of the speed table.
struct Line {
    name: String,
    closed_1: Cell,
    closed_8: Cell,
    open: Option<Cell>,
    allocations: f64,
}

/// A figure that gets better with each round.
struct Cell {
    work: Rc<Work>,
    threads: usize,
    calls: u64,
    best: f64,
}

impl Cell {
    fn new(work: &Rc<Work>, threads: usize) -> Self {
        let mut calls = 1_000;
        while speed::run(work, threads, calls) < CELL / ROUNDS / 2 {
            calls *= 2;
        }
        Self { work: Rc::clone(work), threads, calls, best: f64::INFINITY }
    }

    fn again(&mut self) {
        self.best = self.best.min(speed::measure(&self.work, self.threads, self.calls));
    }
}

impl Line {
    fn new(name: &str, closed: Work, open: Option<Work>) -> Self {
        const CALLS: u64 = 1_000;
        let version = version(name);
        let closed = Rc::new(closed);
        let counted = speed::allocations(&closed, CALLS).unwrap_or(0);
        Self {
            name: if version.is_empty() { name.to_owned() } else { format!("{name} {version}") },
            closed_1: Cell::new(&closed, 1),
            closed_8: Cell::new(&closed, 8),
            open: open.map(|work| Cell::new(&Rc::new(work), 1)),
            // A runtime, where there is one, is made once a round and not once a call.
            allocations: (counted / CALLS) as f64,
        }
    }

    fn again(&mut self) {
        self.closed_1.again();
        self.closed_8.again();
        if let Some(open) = &mut self.open {
            open.again();
        }
    }

    fn open(&self) -> f64 {
        self.open.as_ref().map_or(f64::NAN, |cell| cell.best)
    }
}

fn lines() -> Vec<Line> {
    let watch = Watch::Streaks;
    let mut lines = vec![
        Line::new("no breaker", speed::unguarded(Scenario::ClosedOk), None),
        Line::new(
            "fusebox-breaker",
            speed::ours(Scenario::ClosedOk, watch),
            Some(speed::ours(Scenario::OpenReject, watch)),
        ),
        Line::new(
            "fusebox-breaker, cached clock",
            speed::ours_cached(Scenario::ClosedOk, watch),
            Some(speed::ours_cached(Scenario::OpenReject, watch)),
        ),
    ];
    let open = speed::peers(Scenario::OpenReject, watch);
    for ((name, closed), (_, open)) in speed::peers(Scenario::ClosedOk, watch).into_iter().zip(open)
    {
        lines.push(Line::new(name, closed, Some(open)));
    }
    // One after the other in each round: what disturbs a round disturbs all of them.
    for _ in 0..ROUNDS {
        lines.iter_mut().for_each(Line::again);
    }
    lines
}

fn speed_table() -> String {
    let lines = lines();
    let mut table = String::from(
        "| ns a call | closed, good, 1 thread | the same, 8 threads | open, rejected | allocations a good call |\n\
         |---|---|---|---|---|\n",
    );
    for line in &lines {
        let open = line.open.as_ref().map_or("n/a".to_owned(), |cell| format!("{:.1}", cell.best));
        let (one, eight) = (line.closed_1.best, line.closed_8.best);
        let _ = writeln!(
            table,
            "| {} | {one:.1} | {eight:.1} | {open} | {:.0} |",
            line.name, line.allocations
        );
    }

    let (none, mine, cached, peers) = (&lines[0], &lines[1], &lines[2], &lines[3..]);
    let met = |is_met: bool| if is_met { "met" } else { "missed" };
    table.push('\n');
    for (threads, figure) in [
        (1, (|line: &Line| line.closed_1.best) as fn(&Line) -> f64),
        (8, |line| line.closed_8.best),
    ] {
        let fastest = peers.iter().map(figure).fold(f64::INFINITY, f64::min);
        let (overhead, lead) = (figure(mine) / figure(none), fastest / figure(mine));
        let _ = writeln!(
            table,
            "- closed, {threads} at a time: {overhead:.2} × no breaker (at most 2: {}); the fastest peer takes {lead:.1} × as \
             long (at least 8: {})",
            met(overhead <= 2.0),
            met(lead >= 8.0),
        );
    }
    let ratio = mine.closed_8.best / mine.closed_1.best;
    let _ = writeln!(
        table,
        "- 8 threads take {ratio:.2} × what 1 takes (at most 1.3: {})",
        met(ratio <= 1.3)
    );
    let _ = writeln!(
        table,
        "- a rejection takes {:.1} ns with a cached clock (at most 5: {}), {:.1} ns with the system's (at most 30: {})",
        cached.open(),
        met(cached.open() <= 5.0),
        mine.open(),
        met(mine.open() <= 30.0),
    );
    let _ = writeln!(
        table,
        "- allocations a good call: {:.0} (none: {})",
        mine.allocations,
        met(mine.allocations == 0.0)
    );
    table
}

fn page(matrix: &str, speed: &str) -> String {
    let machine = machine();
    format!(
        "# The breaker beside its peers\n\n\
         `make conformance` plays the same scenarios on each crate, times them in the same run, and writes this page.\n\n\
         All are set up alike, as far as they can be: five consecutive failures (S6: half of 100 calls) trip, one good \
         probe closes, one probe at a time. Calls overlap in a fixed order, without threads. A cell shows what was seen; n/a \
         where the crate has no such thing. Peers may follow another rule on purpose: the column *want* is ours.\n\n\
         {matrix}\n\
         Nanoseconds of processor time a call, the best of {ROUNDS} rounds, on {machine}. The code under guard does nothing, so \
         this is the breaker's cost alone; beside a network call all of them are fast. tower-resilience is measured on a \
         current-thread runtime, the others by their synchronous calls.\n\n\
         {speed}"
    )
}
