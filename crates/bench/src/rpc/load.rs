//! Calls at fixed moments, and what came of them.

use std::time::Duration;

use alloy::providers::{DynProvider, Provider};
use alloy::transports::TransportError;
use fusebox_testkit::{Call, Chain};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::subjects::CALL;

/// What is asked, in turn; each is another class of the pool's breakers.
pub const METHODS: [&str; 3] = ["eth_blockNumber", "eth_call", "eth_getLogs"];

/// An answer further behind than this is old; the pool's default.
const MAX_LAG: u64 = 3;

/// Past its deadline a call gets this long to say so.
const GRACE: Duration = Duration::from_millis(50);

/// A contract without logs.
const ADDRESS: &str = "0x00000000000000000000000000000000000000aa";

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// From the moment at which it was due.
    pub took: Duration,
    /// The answer, or why there is none.
    pub end: Result<Value, String>,
    /// It is the number of a block that was long gone.
    pub is_old: bool,
}

/// One call of this method.
///
/// # Errors
///
/// The provider's, as text, or that it took too long.
pub async fn ask(provider: &DynProvider, method: &'static str) -> Result<Value, String> {
    let params = match method {
        "eth_call" => json!([{ "to": ADDRESS, "data": "0x01020304" }, "latest"]),
        "eth_getLogs" => json!([{ "fromBlock": "0x1", "toBlock": "0x2", "address": ADDRESS }]),
        _ => json!([]),
    };
    let call = provider.raw_request::<Value, Value>(method.into(), params);
    match timeout(CALL + GRACE, call).await {
        Ok(answer) => answer.map_err(|error: TransportError| error.to_string()),
        Err(_) => Err("cut off after the deadline of the whole call".to_owned()),
    }
}

/// Whether a node was asked by [`ask`], and not by a probe of the pool, which asks for logs by hash.
#[must_use]
pub fn is_traffic(call: &Call) -> bool {
    METHODS.contains(&call.method.as_str()) && call.params.pointer("/0/blockHash").is_none()
}

/// `rate` calls a second for `time`, from now on. None waits for another.
///
/// # Panics
///
/// When a call has.
pub async fn open_loop(
    provider: &DynProvider,
    chain: &Chain,
    rate: u32,
    time: Duration,
) -> Vec<Sample> {
    let start = Instant::now();
    let count = (time.as_secs_f64() * f64::from(rate)) as u32;
    let mut calls = JoinSet::new();
    for i in 0..count {
        let due = start + time * i / count;
        sleep_until(due).await;
        let (provider, chain) = (provider.clone(), chain.clone());
        let method = METHODS[i as usize % METHODS.len()];
        calls.spawn(async move {
            let head = chain.head().number;
            let end = ask(&provider, method).await;
            let took = due.elapsed();
            let is_old = method == "eth_blockNumber"
                && number(&end).is_some_and(|seen| seen + MAX_LAG < head);
            Sample { took, end, is_old }
        });
    }
    calls.join_all().await
}

fn number(end: &Result<Value, String>) -> Option<u64> {
    u64::from_str_radix(end.as_ref().ok()?.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// The time that this share of them took at most, by the nearest rank; zero without any.
#[must_use]
pub fn quantile(times: &[Duration], share: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let rank = (times.len() as f64 * share).ceil() as usize;
    times.get(rank.max(1) - 1).copied().unwrap_or_default()
}

/// How a table shows a time.
#[must_use]
pub fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// The same in seconds, of a time that may never end.
#[must_use]
pub fn secs(time: Duration) -> String {
    match time {
        Duration::MAX => "never".to_owned(),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_seen() {
        let times: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        for (share, want) in [(0.0, 1), (0.01, 1), (0.5, 50), (0.99, 99), (1.0, 100)] {
            assert_eq!(quantile(&times, share), Duration::from_millis(want), "{share}");
        }
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }

    #[test]
    fn numbers_are_read_from_answers_only() {
        assert_eq!(number(&Ok(json!("0x10"))), Some(16));
        assert_eq!(number(&Ok(json!("10"))), None);
        assert_eq!(number(&Err("0x10".to_owned())), None);
    }
}
