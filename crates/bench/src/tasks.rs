//! Asynchronous callers, in both ways in which programs have them: on a runtime that is one thread, and as tasks that are
//! spawned on one with several.
//!
//! A task may go from thread to thread, so what spawned ones cost is the processor time of the whole process. Nothing else
//! runs in it.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;

use circuitbreaker_rs::HookRegistry;
use failsafe::futures::CircuitBreaker as _;
use failsafe::{backoff, failure_policy};
use fusebox_breaker::{Breaker, SystemClock};
use recloser::AsyncRecloser;
use tokio::runtime::{Builder, Runtime};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::clock::process_time;
use crate::speed::{Failed, LONG, Scenario, Watch, Work, in_a_row, our_rules, upstream};
use crate::subjects::{Rules, recloser_of, rs_of, tower_layer};

/// So many calls, one after the other, as one future.
type Loop = Arc<dyn Fn(u64) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Each crate that can be asked by asynchronous callers, ours first, by its package: on a thread's own runtime, and spawned.
#[must_use]
pub fn subjects(scenario: Scenario, watch: Watch) -> Vec<(String, Work)> {
    let loops = [
        ("fusebox-breaker", ours(scenario, watch)),
        ("failsafe", failsafe(scenario, watch)),
        ("recloser", recloser(scenario, watch)),
        ("circuitbreaker-rs", rs(scenario, watch)),
        ("tower-resilience-circuitbreaker", tower(scenario, watch)),
    ];
    let mut subjects = Vec::new();
    for (name, calls) in loops {
        let Some(calls) = calls else { continue };
        subjects.push((format!("{name}, async"), on_one_thread(Arc::clone(&calls))));
        subjects.push((format!("{name}, spawned"), spawned(calls)));
    }
    subjects
}

fn on_one_thread(calls: Loop) -> Work {
    Work::Thread(Box::new(move |count| {
        Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime without sockets")
            .block_on(calls(count));
    }))
}

fn spawned(calls: Loop) -> Work {
    Work::Process(Box::new(move |tasks, count| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(tasks)
            .enable_time()
            .build()
            .expect("a runtime without sockets");
        process_time(|| all(&runtime, &calls, tasks, count))
    }))
}

fn all(runtime: &Runtime, calls: &Loop, tasks: usize, count: u64) {
    let tasks: Vec<_> = (0..tasks).map(|_| runtime.spawn(calls(count))).collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.expect("a workload does not panic");
        }
    });
}

/// Calls `call` so often, and counts the good ones, so that no result can be left out.
async fn spin<T, E, F: Future<Output = Result<T, E>>>(count: u64, call: impl Fn(u64) -> F) {
    let mut good = 0;
    for i in 0..count {
        good += u64::from(call(i).await.is_ok());
    }
    black_box(good);
}

/// Nobody but us and tower-resilience has slow calls; nobody but us has a bound on probes that holds.
fn rules(scenario: Scenario, watch: Watch) -> Option<Rules> {
    match (scenario, watch) {
        (Scenario::HalfOpenBusy, _) => None,
        (_, Watch::Streaks) => Some(Rules::Consecutive(in_a_row(scenario))),
        (_, Watch::Count) => Some(Rules::Count),
        (_, Watch::Time) => Some(Rules::Time),
        (_, Watch::Slow) => Some(Rules::Slow),
    }
}

fn ours(scenario: Scenario, watch: Watch) -> Option<Loop> {
    let breaker = Breaker::new(our_rules(scenario, watch), SystemClock).expect("valid rules");
    scenario.bring(&breaker);
    let breaker = Arc::new(breaker);
    Some(Arc::new(move |count| {
        let breaker = Arc::clone(&breaker);
        Box::pin(async move {
            spin(count, |i| breaker.call_async(move || async move { upstream(scenario, i) })).await;
        })
    }))
}

fn failsafe(scenario: Scenario, watch: Watch) -> Option<Loop> {
    let wait = backoff::constant(LONG);
    macro_rules! with {
        ($policy:expr) => {{
            let breaker = failsafe::Config::new().failure_policy($policy).build();
            let calls: Loop = Arc::new(move |count| {
                let breaker = breaker.clone();
                Box::pin(async move {
                    if scenario == Scenario::OpenReject {
                        let bad = || breaker.call(async { Err::<(), _>(()) });
                        while matches!(bad().await, Err(failsafe::Error::Inner(()))) {}
                    }
                    spin(count, |i| breaker.call(async move { upstream(scenario, i) })).await;
                })
            });
            Some(calls)
        }};
    }
    match rules(scenario, watch)? {
        Rules::Consecutive(failures) => {
            with!(failure_policy::consecutive_failures(failures.into(), wait))
        }
        Rules::Time => with!(failure_policy::success_rate_over_time_window(
            0.5,
            20,
            std::time::Duration::from_secs(10),
            wait
        )),
        Rules::Count | Rules::Slow => None,
    }
}

fn recloser(scenario: Scenario, watch: Watch) -> Option<Loop> {
    // Its rule is a window of calls in any case.
    let rules = match rules(scenario, watch)? {
        Rules::Consecutive(_) => Rules::Count,
        other => other,
    };
    let breaker = recloser_of(rules, LONG)?;
    if scenario == Scenario::OpenReject {
        let bad = || breaker.call(|| Err::<(), _>(()));
        while matches!(bad(), Err(recloser::Error::Inner(()))) {}
    }
    let breaker = AsyncRecloser::from(breaker);
    Some(Arc::new(move |count| {
        let breaker = breaker.clone();
        Box::pin(async move {
            spin(count, |i| breaker.call(async move { upstream(scenario, i) })).await;
        })
    }))
}

fn rs(scenario: Scenario, watch: Watch) -> Option<Loop> {
    let breaker = rs_of::<Failed>(rules(scenario, watch)?, LONG, HookRegistry::new())?;
    if scenario == Scenario::OpenReject {
        breaker.force_open();
    }
    Some(Arc::new(move |count| {
        let breaker = breaker.clone();
        Box::pin(async move {
            spin(count, |i| breaker.call_async(move || async move { upstream(scenario, i) })).await;
        })
    }))
}

fn tower(scenario: Scenario, watch: Watch) -> Option<Loop> {
    let layer = tower_layer(rules(scenario, watch)?, LONG, || {});
    let service = layer.layer(service_fn(move |i: u64| async move { upstream(scenario, i) }));
    if scenario == Scenario::OpenReject {
        Builder::new_current_thread().build().ok()?.block_on(service.force_open());
    }
    // A service is cloned by each caller, and need not be shared by threads.
    let service = std::sync::Mutex::new(service);
    Some(Arc::new(move |count| {
        let mut service = service.lock().expect("nothing panics here").clone();
        Box::pin(async move {
            let mut good = 0;
            for i in 0..count {
                if let Ok(service) = service.ready().await {
                    good += u64::from(service.call(i).await.is_ok());
                }
            }
            black_box(good);
        })
    }))
}
