//! What a call costs.
//!
//! A workload is a loop of calls through one shared breaker. Figures are nanoseconds of processor time a call, so threads
//! beyond the number of processors cost nothing, and neither does other work on the machine. What contention costs by
//! keeping processors busy shows; what it costs by putting threads to sleep does not, which flatters locks. The best of
//! several rounds counts.

use std::fmt;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use circuitbreaker_rs::HookRegistry;
use failsafe::CircuitBreaker as _;
use failsafe::{backoff, failure_policy};
use fusebox_breaker::{
    Breaker, CachedClock, Clock, Config, CountWindow, Outcome, SystemClock, TimeWindow,
};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::clock::processor_time;
use crate::subjects::{Rules, open_breaker, recloser_of, rs_of, tower_layer};

/// Calls through one breaker.
pub enum Work {
    /// So many, one after the other, on the thread that asks for them.
    Thread(Box<dyn Fn(u64) + Sync>),
    /// So many callers with so many calls each, on threads of its own, and the processor time of all.
    Process(Box<dyn Fn(usize, u64) -> Duration + Sync>),
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Thread(_)) { "Thread" } else { "Process" })
    }
}

/// What calls go through, and how they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Closed, and every call is good.
    ClosedOk,
    /// Closed, and every fifth call fails.
    FifthFails,
    /// Open.
    OpenReject,
    /// Half-open, with all probes taken.
    HalfOpenBusy,
}

/// What the breaker looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Consecutive failures.
    Streaks,
    /// A rate over the last calls.
    Count,
    /// A rate over the last seconds.
    Time,
    /// The time that calls take.
    Slow,
}

/// More failures in a row than come where every fifth call of several threads fails, so that it stays closed.
const MANY: u16 = 1_000;

/// A cooldown that outlasts every measurement.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// The processor time a thread, when `threads` make so many calls each.
pub fn run(work: &Work, threads: usize, calls: u64) -> Duration {
    let all = match work {
        Work::Thread(work) => at_once(threads, || processor_time(|| work(calls))).iter().sum(),
        Work::Process(work) => work(threads, calls),
    };
    all.div_f64(threads as f64)
}

/// Allocations of so many calls on one thread; `None` where they are made on others, which nobody counts.
pub fn allocations(work: &Work, calls: u64) -> Option<u64> {
    let Work::Thread(work) = work else { return None };
    // Once before: what is made at the first call is not made at each.
    work(calls);
    Some(allocation_counter::measure(|| work(calls)).count_total)
}

/// Nanoseconds of processor time a call.
pub fn measure(work: &Work, threads: usize, calls: u64) -> f64 {
    run(work, threads, calls).as_secs_f64() * 1e9 / calls as f64
}

fn at_once<T: Send>(threads: usize, f: impl Fn() -> T + Sync) -> Vec<T> {
    if threads == 1 {
        return vec![f()];
    }
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    f()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a workload does not panic"))
            .collect()
    })
}

/// As large as the answer, so that both travel in registers and no copy of theirs is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed(u64);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} failed", self.0)
    }
}

impl std::error::Error for Failed {}

/// The upstream of every workload: the number it was called with, or a failure for every fifth.
///
/// Never inlined, since no upstream is: without a breaker a call would vanish, and every ratio to it with it.
#[inline(never)]
pub(crate) fn upstream(scenario: Scenario, i: u64) -> Result<u64, Failed> {
    if scenario == Scenario::FifthFails && i.is_multiple_of(5) {
        Err(Failed(i))
    } else {
        Ok(black_box(i))
    }
}

/// Counts the good ones, so that no result can be left out.
#[inline(always)]
fn spin<T, E>(calls: u64, mut call: impl FnMut(u64) -> Result<T, E>) {
    let mut good = 0;
    for i in 0..calls {
        good += u64::from(call(i).is_ok());
    }
    black_box(good);
}

/// No breaker at all.
#[must_use]
pub fn unguarded(scenario: Scenario) -> Work {
    Work::Thread(Box::new(move |calls| {
        spin(calls, |i| upstream(scenario, i));
    }))
}

pub(crate) fn in_a_row(scenario: Scenario) -> u16 {
    if scenario == Scenario::FifthFails { MANY } else { 5 }
}

pub(crate) fn our_rules(scenario: Scenario, watch: Watch) -> Config {
    let cfg = Config {
        failure_threshold: in_a_row(scenario),
        cooldown: LONG,
        max_cooldown: LONG,
        probe_lease: LONG,
        ..Config::default()
    };
    match watch {
        Watch::Streaks => cfg,
        Watch::Count => Config { count_window: Some(CountWindow::default()), ..cfg },
        Watch::Time => Config { time_window: Some(TimeWindow::default()), ..cfg },
        Watch::Slow => {
            let window = TimeWindow { slow_percent: Some(50), ..TimeWindow::default() };
            Config { time_window: Some(window), slow_call: Some(Duration::from_secs(1)), ..cfg }
        }
    }
}

impl Scenario {
    /// Brings one of ours into it.
    pub(crate) fn bring<C: Clock>(self, breaker: &Breaker<C>) {
        match self {
            Self::OpenReject => breaker.trip(None, fusebox_breaker::Cause::Manual),
            Self::HalfOpenBusy => {
                breaker.trip(Some(breaker.clock().now()), fusebox_breaker::Cause::Manual);
                // Leaked: the slot stays taken for the breaker's whole life.
                std::mem::forget(breaker.try_acquire().expect("due"));
            }
            Self::ClosedOk | Self::FifthFails => {}
        }
    }
}

fn ours_with<C: Clock + 'static>(breaker: Breaker<C>, scenario: Scenario) -> Work {
    scenario.bring(&breaker);
    Work::Thread(Box::new(move |calls| {
        spin(calls, |i| breaker.call(|| upstream(scenario, i)));
    }))
}

/// Ours, on the system's clock.
#[must_use]
pub fn ours(scenario: Scenario, watch: Watch) -> Work {
    ours_with(
        Breaker::new(our_rules(scenario, watch), SystemClock).expect("the rules are valid"),
        scenario,
    )
}

/// Ours, on a clock that somebody else moves.
#[must_use]
pub fn ours_cached(scenario: Scenario, watch: Watch) -> Work {
    if scenario == Scenario::OpenReject && watch == Watch::Streaks {
        return ours_with(open_breaker(), scenario);
    }
    ours_with(
        Breaker::new(our_rules(scenario, watch), CachedClock::new()).expect("the rules are valid"),
        scenario,
    )
}

/// Only the end of good calls in closed, by several threads; their permits are taken outside the measurement.
#[must_use]
pub fn settle_only(watch: Watch, threads: usize, calls: usize) -> Duration {
    let breaker = Breaker::new(our_rules(Scenario::ClosedOk, watch), SystemClock)
        .expect("the rules are valid");
    let times = at_once(threads, || {
        let permits: Vec<_> = (0..calls).map(|_| breaker.try_acquire().expect("closed")).collect();
        processor_time(|| permits.into_iter().for_each(|permit| permit.settle(Outcome::Success)))
    });
    times.iter().sum::<Duration>().div_f64(threads as f64)
}

/// Each peer that can be brought into the scenario, by its package.
#[must_use]
pub fn peers(scenario: Scenario, watch: Watch) -> Vec<(&'static str, Work)> {
    let rules = match watch {
        Watch::Streaks => Rules::Consecutive(in_a_row(scenario)),
        Watch::Count => Rules::Count,
        Watch::Time => Rules::Time,
        // Only tower-resilience has slow calls; they cannot be had without a rate.
        Watch::Slow => Rules::Slow,
    };
    let mut peers: Vec<(&'static str, Work)> = Vec::new();
    if scenario != Scenario::HalfOpenBusy {
        // The others bound no probes, or lose count of them.
        peers.extend(failsafe_work(scenario, rules).map(|work| ("failsafe", work)));
        peers.extend(recloser_work(scenario, rules).map(|work| ("recloser", work)));
        peers.extend(rs_work(scenario, rules).map(|work| ("circuitbreaker-rs", work)));
        peers.push(("tower-resilience-circuitbreaker", tower_work(scenario, rules)));
    }
    peers
}

fn failsafe_work(scenario: Scenario, rules: Rules) -> Option<Work> {
    macro_rules! with {
        ($policy:expr) => {{
            let breaker = failsafe::Config::new().failure_policy($policy).build();
            if scenario == Scenario::OpenReject {
                while breaker
                    .call(|| Err::<(), _>(()))
                    .is_err_and(|e| matches!(e, failsafe::Error::Inner(())))
                {}
            }
            Some(Work::Thread(Box::new(move |calls| {
                spin(calls, |i| breaker.call(|| upstream(scenario, i)));
            })))
        }};
    }
    let wait = backoff::constant(LONG);
    match rules {
        Rules::Consecutive(failures) => {
            with!(failure_policy::consecutive_failures(failures.into(), wait))
        }
        // It has no window of calls, and no slow ones.
        Rules::Count | Rules::Slow => None,
        Rules::Time => with!(failure_policy::success_rate_over_time_window(
            0.5,
            20,
            Duration::from_secs(10),
            wait
        )),
    }
}

fn recloser_work(scenario: Scenario, rules: Rules) -> Option<Work> {
    // Its rule is a window of calls in any case.
    let rules = if let Rules::Consecutive(_) = rules { Rules::Count } else { rules };
    let breaker = recloser_of(rules, LONG)?;
    if scenario == Scenario::OpenReject {
        while breaker
            .call(|| Err::<(), _>(()))
            .is_err_and(|e| matches!(e, recloser::Error::Inner(())))
        {}
    }
    Some(Work::Thread(Box::new(move |calls| {
        spin(calls, |i| breaker.call(|| upstream(scenario, i)));
    })))
}

fn rs_work(scenario: Scenario, rules: Rules) -> Option<Work> {
    let breaker = rs_of(rules, LONG, HookRegistry::new())?;
    if scenario == Scenario::OpenReject {
        breaker.force_open();
    }
    Some(Work::Thread(Box::new(move |calls| {
        spin(calls, |i| breaker.call(|| upstream(scenario, i)));
    })))
}

fn tower_work(scenario: Scenario, rules: Rules) -> Work {
    let layer = tower_layer(rules, LONG, || {});
    let service = layer.layer(service_fn(move |i: u64| async move { upstream(scenario, i) }));
    if scenario == Scenario::OpenReject {
        runtime().block_on(service.force_open());
    }
    // A service is cloned by each caller.
    let service = std::sync::Mutex::new(service);
    Work::Thread(Box::new(move |calls| {
        let mut service = service.lock().expect("nothing panics here").clone();
        runtime().block_on(async {
            let mut good = 0;
            for i in 0..calls {
                if let Ok(service) = service.ready().await {
                    good += u64::from(service.call(i).await.is_ok());
                }
            }
            black_box(good);
        });
    }))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without sockets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_allocates_nothing_whatever_happens() {
        for scenario in
            [Scenario::ClosedOk, Scenario::FifthFails, Scenario::OpenReject, Scenario::HalfOpenBusy]
        {
            for watch in [Watch::Streaks, Watch::Count, Watch::Time, Watch::Slow] {
                for work in [ours(scenario, watch), ours_cached(scenario, watch)] {
                    assert_eq!(allocations(&work, 2_000), Some(0), "{scenario:?}, {watch:?}");
                }
            }
        }
    }

    #[test]
    fn every_kind_of_rule_has_a_peer_and_every_caller_gets_through() {
        for scenario in [Scenario::ClosedOk, Scenario::FifthFails, Scenario::OpenReject] {
            for watch in [Watch::Streaks, Watch::Count, Watch::Time, Watch::Slow] {
                assert!(!peers(scenario, watch).is_empty(), "{watch:?}");
                let subjects = crate::tasks::subjects(scenario, watch);
                assert!(subjects.len() >= 4, "ours and another, in two ways: {watch:?}");
                for (name, work) in subjects {
                    assert!(!run(&work, 2, 100).is_zero(), "{name}, {scenario:?}, {watch:?}");
                }
            }
        }
    }
}
