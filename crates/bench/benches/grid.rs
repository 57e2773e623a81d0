//! `make bench`: every scenario, every kind of rule, one, two and eight threads, in processor time.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fusebox_bench::speed::{self, Scenario, Watch, Work};

fn grid(criterion: &mut Criterion) {
    for scenario in
        [Scenario::ClosedOk, Scenario::FifthFails, Scenario::OpenReject, Scenario::HalfOpenBusy]
    {
        for watch in [Watch::Streaks, Watch::Count, Watch::Time, Watch::Slow] {
            let mut subjects: Vec<(&str, Work)> = vec![
                ("no breaker", speed::unguarded(scenario)),
                ("fusebox", speed::ours(scenario, watch)),
                ("fusebox, cached clock", speed::ours_cached(scenario, watch)),
            ];
            if (scenario, watch) == (Scenario::ClosedOk, Watch::Streaks) {
                subjects.push(("fusebox, async", speed::ours_async()));
            }
            subjects.extend(speed::peers(scenario, watch));

            let mut group = criterion.benchmark_group(format!("{scenario:?}/{watch:?}"));
            for (name, work) in &subjects {
                for threads in [1, 2, 8] {
                    group.bench_function(BenchmarkId::new(*name, threads), |bencher| {
                        bencher.iter_custom(|calls| speed::run(work, threads, calls));
                    });
                }
            }
            group.finish();
        }
    }
    criterion.bench_function("settle only", |bencher| {
        bencher
            .iter_custom(|calls| speed::settle_only(usize::try_from(calls).unwrap_or(usize::MAX)));
    });
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
