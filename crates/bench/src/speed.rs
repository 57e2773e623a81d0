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

/// So many calls, one after the other.
pub type Work = Box<dyn Fn(u64) + Sync>;

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
const LONG: Duration = Duration::from_secs(600);

/// The processor time a thread, when `threads` make so many calls each.
pub fn run(work: &Work, threads: usize, calls: u64) -> Duration {
    let times = at_once(threads, || processor_time(|| work(calls)));
    times.iter().sum::<Duration>().div_f64(threads as f64)
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
struct Failed(u64);

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
fn upstream(scenario: Scenario, i: u64) -> Result<u64, Failed> {
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
    Box::new(move |calls| {
        spin(calls, |i| upstream(scenario, i));
    })
}

fn in_a_row(scenario: Scenario) -> u16 {
    if scenario == Scenario::FifthFails { MANY } else { 5 }
}

fn our_rules(scenario: Scenario, watch: Watch) -> Config {
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

fn ours_with<C: Clock + 'static>(breaker: Breaker<C>, scenario: Scenario) -> Work {
    match scenario {
        Scenario::OpenReject => breaker.trip(None, fusebox_breaker::Cause::Manual),
        Scenario::HalfOpenBusy => {
            breaker.trip(Some(breaker.clock().now()), fusebox_breaker::Cause::Manual);
            // Leaked: the slot stays taken for the breaker's whole life.
            std::mem::forget(breaker.try_acquire().expect("due"));
        }
        Scenario::ClosedOk | Scenario::FifthFails => {}
    }
    Box::new(move |calls| {
        spin(calls, |i| breaker.call(|| upstream(scenario, i)));
    })
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

/// Ours, with owned permits, as asynchronous callers hold them.
#[must_use]
pub fn ours_async() -> Work {
    let breaker = std::sync::Arc::new(
        Breaker::new(our_rules(Scenario::ClosedOk, Watch::Streaks), SystemClock)
            .expect("valid rules"),
    );
    Box::new(move |calls| {
        runtime().block_on(async {
            let mut good = 0;
            for i in 0..calls {
                let call = breaker.call_async(|| async { upstream(Scenario::ClosedOk, i) });
                good += u64::from(call.await.is_ok());
            }
            black_box(good);
        });
    })
}

/// Only the end of good calls in closed; their permits are taken outside the measurement.
#[must_use]
pub fn settle_only(calls: usize) -> Duration {
    let breaker = Breaker::new(our_rules(Scenario::ClosedOk, Watch::Streaks), SystemClock)
        .expect("the rules are valid");
    let permits: Vec<_> = (0..calls).map(|_| breaker.try_acquire().expect("closed")).collect();
    processor_time(|| permits.into_iter().for_each(|permit| permit.settle(Outcome::Success)))
}

/// Each peer that can be brought into the scenario, by its package.
#[must_use]
pub fn peers(scenario: Scenario, watch: Watch) -> Vec<(&'static str, Work)> {
    let rules = match watch {
        Watch::Streaks => Rules::Consecutive(in_a_row(scenario)),
        Watch::Count => Rules::Count,
        Watch::Time => Rules::Time,
        // Only tower-resilience has slow calls; they cannot be had without a rate.
        Watch::Slow => return Vec::new(),
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
            Some(Box::new(move |calls| {
                spin(calls, |i| breaker.call(|| upstream(scenario, i)));
            }))
        }};
    }
    let wait = backoff::constant(LONG);
    match rules {
        Rules::Consecutive(failures) => {
            with!(failure_policy::consecutive_failures(failures.into(), wait))
        }
        // It has no window of calls.
        Rules::Count => None,
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
    Some(Box::new(move |calls| {
        spin(calls, |i| breaker.call(|| upstream(scenario, i)));
    }))
}

fn rs_work(scenario: Scenario, rules: Rules) -> Option<Work> {
    let breaker = rs_of(rules, LONG, HookRegistry::new())?;
    if scenario == Scenario::OpenReject {
        breaker.force_open();
    }
    Some(Box::new(move |calls| {
        spin(calls, |i| breaker.call(|| upstream(scenario, i)));
    }))
}

fn tower_work(scenario: Scenario, rules: Rules) -> Work {
    let layer = tower_layer(rules, LONG, || {});
    let service = layer.layer(service_fn(move |i: u64| async move { upstream(scenario, i) }));
    if scenario == Scenario::OpenReject {
        runtime().block_on(service.force_open());
    }
    // A service is cloned by each caller.
    let service = std::sync::Mutex::new(service);
    Box::new(move |calls| {
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
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without sockets")
}
