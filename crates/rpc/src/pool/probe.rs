//! Background probes: recovery without traffic, heads, and the identity of endpoints.
//!
//! A probe is an ordinary call with an ordinary permit, so it is the breaker's half-open trial whenever one is due. It
//! exercises what callers use: a header, a balance, the logs of a block. A health check of its own would tell that the
//! health check works.

use std::sync::atomic::Ordering;
use std::time::Duration;

use alloy::rpc::json_rpc::ResponsePayload;
use fusebox_breaker::{Category as Kind, Failure, Outcome, Tick};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Pool;
use super::attempt::{Held, Tried, outcome};
use super::call::Call;
use super::note::draw;
use super::servers::Identity;
use super::shared::Shared;
use super::target::Target;
use crate::verdict::Category;

/// Probes of many endpoints, and of many programs, spread over this share of the interval, in percent to both sides.
const JITTER_PERCENT: u64 = 20;

/// After a failed probe the next one comes this soon; doubled for each further one.
const FIRST_RETRY: Duration = Duration::from_secs(2);

/// A failing endpoint is looked at twice a minute.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// How often a known chain id is asked for again: behind a name, nodes are exchanged.
const RECHECK: Duration = Duration::from_secs(600);

/// An account that every chain has.
const ZERO: &str = "0x0000000000000000000000000000000000000000";

/// Says that probes run, until it is dropped.
struct Probing<'s>(&'s Shared);

impl Drop for Probing<'_> {
    fn drop(&mut self) {
        self.0.probing.store(false, Ordering::Relaxed);
    }
}

impl Pool {
    /// Probes all endpoints and listens to all WebSockets, until `shutdown`. Optional: without it, real calls bring
    /// endpoints back, later, and there are no [wake-ups](Pool::wakeups).
    ///
    /// What is under way at the end is cancelled and counts for nothing.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let shared = &self.shared;
        shared.probing.store(true, Ordering::Relaxed);
        let _probing = Probing(shared);
        let probes = join_all(shared.targets.iter().map(|target| shared.probe_on(target)));
        let lines =
            shared.targets.iter().filter_map(|target| Some((target, target.line.as_ref()?)));
        let lines = join_all(lines.map(|(target, line)| shared.listen(target, line)));
        tokio::select! {
            () = shutdown => {}
            _ = futures_util::future::join3(probes, lines, self.poll_heads()) => {}
        }
    }
}

impl Shared {
    async fn probe_on(&self, target: &Target) {
        let mut failures = 0_u32;
        loop {
            let good = self.probe(target).await;
            failures = if good { 0 } else { failures.saturating_add(1) };
            let pause = match failures {
                0 => spread(self.cfg.probe_interval),
                _ => spread((FIRST_RETRY * 2_u32.pow((failures - 1).min(4))).min(MAX_RETRY)),
            };
            let now = self.time.now();
            // A breaker that is due is not kept waiting.
            let due = target.breakers.iter().filter_map(|breaker| breaker.view().deadline).min();
            let due = due.filter(|due| *due > now).unwrap_or(Tick::MAX);
            self.time.sleep_until(now.after(pause).min(due)).await;
        }
    }

    /// One round. False if something failed, or could not be asked.
    pub(crate) async fn probe(&self, target: &Target) -> bool {
        target.breakers.iter().for_each(|breaker| {
            breaker.poll();
        });
        // That, and what calls have moved that were dropped.
        self.servers.pump();
        let now = self.time.now();
        if !target.wait(now).is_zero() {
            // Asked to be left alone, and it is.
            return true;
        }
        let deadline = now.after(self.cfg.deadlines.call);
        let identity = target.state.known().identity;
        let identified = match identity {
            Identity::Wrong => return true,
            Identity::Verified(since) if now.since(since) < RECHECK => Ok(()),
            Identity::Verified(_) => self.check_identity(target, deadline).await,
            Identity::Unknown => self.identify(target, deadline).await,
        };
        if identified.is_err() {
            return false;
        }
        let head = Call::make("eth_getBlockByNumber", &json!(["latest", false]));
        let head =
            self.probe_call(target, &head, deadline, |tried| self.lag_or(target, tried)).await;
        let with_logs = head.as_ref().and_then(with_logs);
        let balance = Call::make("eth_getBalance", &json!([ZERO, "latest"]));
        let means = |tried: &Tried| outcome(&tried.verdict);
        let state = self.probe_call(target, &balance, deadline, means).await;
        let mut rounds = vec![is_good(head.as_ref()), is_good(state.as_ref())];
        if let Some(block) = with_logs {
            let params = json!([{ "blockHash": block, "address": ZERO }]);
            let logs = Call::make("eth_getLogs", &params);
            let logs = self.probe_call(target, &logs, deadline, means).await;
            rounds.push(is_good(logs.as_ref()));
        }
        rounds.into_iter().all(|good| good)
    }

    async fn probe_call(
        &self,
        target: &Target,
        call: &Call,
        deadline: Tick,
        means: impl FnOnce(&Tried) -> Outcome,
    ) -> Option<Tried> {
        if !target.take_pace(self.time.now()) {
            return None;
        }
        let held = Held::acquire(target.breaker(call.class))?;
        // Only a shutdown drops a probe.
        held.cancel_switch().store(true, Ordering::Release);
        Some(self.attempt_as(target, call, held, deadline, means).await)
    }

    /// An endpoint that answers with what was true some time ago has failed, in a way of its own.
    fn lag_or(&self, target: &Target, tried: &Tried) -> Outcome {
        let behind = self.head().zip(target.head()).map(|(head, mine)| head.saturating_sub(mine));
        let lags = behind.is_some_and(|behind| behind > self.cfg.max_lag_blocks);
        match tried.verdict.category {
            Category::Success if lags => Outcome::Failure(Failure::new(Kind::LAG)),
            _ => outcome(&tried.verdict),
        }
    }
}

/// An open breaker that was not asked is no failure of this round; it waits for its deadline.
fn is_good(tried: Option<&Tried>) -> bool {
    tried.is_none_or(|tried| !tried.verdict.category.is_failure())
}

/// The block whose logs are asked for: the parent of the newest one, which every node behind a balancer has. Block 0 has no
/// parent, so that a fresh chain is asked for its own logs.
fn with_logs(tried: &Tried) -> Option<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Header {
        number: String,
        hash: Value,
        parent_hash: Value,
    }
    let Some(ResponsePayload::Success(block)) = &tried.payload else { return None };
    let Header { number, hash, parent_hash } = serde_json::from_str(block.get()).ok()?;
    Some(if number == "0x0" { hash } else { parent_hash })
}

fn spread(interval: Duration) -> Duration {
    let percent = 100 - JITTER_PERCENT + draw() % (2 * JITTER_PERCENT + 1);
    interval * percent as u32 / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_spread_by_a_fifth_to_both_sides() {
        let spread: Vec<_> =
            (0..200).map(|_| spread(Duration::from_secs(10)).as_millis()).collect();
        assert!(spread.iter().all(|ms| (8_000..=12_000).contains(ms)), "{spread:?}");
        assert!(spread.iter().min() < spread.iter().max());
    }
}
