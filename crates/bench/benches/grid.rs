//! `make bench`: every scenario, every kind of rule, one, two and eight callers, in processor time. Before each group it
//! prints what its calls allocate.
#![expect(clippy::print_stdout, reason = "this is the output")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fusebox_bench::speed::{self, Scenario, Watch, Work};
use fusebox_bench::tasks;

/// Calls whose allocations are counted.
const COUNTED: u64 = 1_000;

fn grid(criterion: &mut Criterion) {
    for scenario in
        [Scenario::ClosedOk, Scenario::FifthFails, Scenario::OpenReject, Scenario::HalfOpenBusy]
    {
        for watch in [Watch::Streaks, Watch::Count, Watch::Time, Watch::Slow] {
            let mut subjects: Vec<(String, Work)> = vec![
                ("no breaker".to_owned(), speed::unguarded(scenario)),
                ("fusebox-breaker".to_owned(), speed::ours(scenario, watch)),
                ("fusebox-breaker, cached clock".to_owned(), speed::ours_cached(scenario, watch)),
            ];
            let peers = speed::peers(scenario, watch).into_iter();
            subjects.extend(peers.map(|(name, work)| (name.to_owned(), work)));
            subjects.extend(tasks::subjects(scenario, watch));
            for (name, work) in &subjects {
                if let Some(count) = speed::allocations(work, COUNTED) {
                    let each = count as f64 / COUNTED as f64;
                    println!("{scenario:?}/{watch:?}/{name}: {each:.2} allocations a call");
                }
            }

            let mut group = criterion.benchmark_group(format!("{scenario:?}/{watch:?}"));
            for (name, work) in &subjects {
                for threads in [1, 2, 8] {
                    group.bench_function(BenchmarkId::new(name, threads), |bencher| {
                        bencher.iter_custom(|calls| speed::run(work, threads, calls));
                    });
                }
            }
            group.finish();
        }
    }
    let mut group = criterion.benchmark_group("SettleOnly");
    for watch in [Watch::Streaks, Watch::Count, Watch::Time, Watch::Slow] {
        for threads in [1, 2, 8] {
            group.bench_function(BenchmarkId::new(format!("{watch:?}"), threads), |bencher| {
                bencher.iter_custom(|calls| {
                    let calls = usize::try_from(calls).unwrap_or(usize::MAX);
                    speed::settle_only(watch, threads, calls)
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_secs(1))
        .sample_size(20);
    targets = grid
}
criterion_main!(benches);
