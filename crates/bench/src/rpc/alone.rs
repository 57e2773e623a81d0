//! What the pool costs where nothing is wrong: one healthy node, one call at a time.
//!
//! Calls of all subjects alternate, and a median is taken of each; then again, and of the ratios the middle one counts.
//! Here no call waits for another, so times are from the moment at which a call starts: the timer's own millisecond would
//! hide what is measured.

use std::time::Duration;

use fusebox_testkit::{Chain, Node, StartError};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::load::{ask, quantile};
use super::nodes::Farm;
use super::subjects::{Kind, Subject, http};
use crate::about::Bound;

/// Odd, so that one of them is the middle.
const REPEATS: usize = 9;
const ROUNDS: usize = 2_000;
const WARM_UP: usize = 400;
/// At once, to see what the node can do.
const CALLERS: usize = 16;
const MOST: f64 = 1.05;

/// What is compared: reqwest by hand, alloy's provider, the same over the pool.
const SUBJECTS: usize = 3;

/// Medians on one node.
#[derive(Debug)]
pub struct Alone {
    medians: [[Duration; SUBJECTS]; REPEATS],
    /// Answers a second, with many callers at once.
    capacity: f64,
}

/// Measures.
///
/// # Errors
///
/// The node cannot be started.
pub async fn play(farm: &Farm) -> Result<Alone, StartError> {
    let nodes = [farm.start(Node::scripted(Chain::new())).await?];
    let (client, url) = (http(), nodes[0].url());
    let plain = Subject::new(Kind::Plain, &nodes).await;
    let pool = Subject::new(Kind::Pool, &nodes).await;
    let mut medians = [[Duration::ZERO; SUBJECTS]; REPEATS];
    for medians in &mut medians {
        let mut times = [const { Vec::new() }; SUBJECTS];
        for round in 0..WARM_UP + ROUNDS {
            for i in 0..SUBJECTS {
                // Who comes first changes: the first call after a pause finds cold caches.
                let subject = (round + i) % SUBJECTS;
                let start = Instant::now();
                let answered = match subject {
                    0 => by_hand(&client, &url).await.is_ok(),
                    1 => ask(&plain.provider, "eth_blockNumber").await.is_ok(),
                    _ => ask(&pool.provider, "eth_blockNumber").await.is_ok(),
                };
                assert!(answered, "the node is healthy");
                if round >= WARM_UP {
                    times[subject].push(start.elapsed());
                }
            }
        }
        *medians = times.map(|times| quantile(&times, 0.5));
    }
    let capacity = capacity(&client, &url).await;
    pool.end().await;
    Ok(Alone { medians, capacity })
}

/// The least that a program could do.
async fn by_hand(client: &reqwest::Client, url: &str) -> Result<Value, reqwest::Error> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": [] });
    let request = client.post(url).header("content-type", "application/json");
    let response = request.body(body.to_string()).send().await?;
    let mut answer: Value = serde_json::from_slice(&response.bytes().await?).unwrap_or_default();
    Ok(answer["result"].take())
}

async fn capacity(client: &reqwest::Client, url: &str) -> f64 {
    let start = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (client, url) = (client.clone(), url.to_owned());
        callers.spawn(async move {
            for _ in 0..ROUNDS / CALLERS {
                let _ = by_hand(&client, &url).await;
            }
        });
    }
    callers.join_all().await;
    ROUNDS as f64 / start.elapsed().as_secs_f64()
}

impl Alone {
    /// The middle one of what each repeat says.
    fn middle(&self, figure: impl Fn(&[Duration; SUBJECTS]) -> f64) -> f64 {
        let mut all = self.medians.each_ref().map(figure);
        all.sort_unstable_by(f64::total_cmp);
        all[REPEATS / 2]
    }

    fn ratio(&self, subject: usize) -> f64 {
        self.middle(|medians| medians[subject].div_duration_f64(medians[0]))
    }

    /// All of them as a table.
    #[must_use]
    pub fn table(&self) -> String {
        let names = ["plain reqwest", "alloy provider", "alloy provider over `Pool`"];
        let head = "| | p50 | × reqwest |\n|---|---:|---:|\n".to_owned();
        names.into_iter().enumerate().fold(head, |table, (i, name)| {
            let us = self.middle(|medians| medians[i].as_secs_f64() * 1e6);
            table + &format!("| {name} | {us:.0} µs | {:.2} |\n", self.ratio(i))
        })
    }

    /// Answers a second that one node can give, with many callers.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// What is wanted of ours.
    #[must_use]
    pub fn bounds(&self) -> Vec<Bound> {
        let what = "one healthy node: p50 beside plain reqwest";
        vec![Bound::at_most(what, self.ratio(SUBJECTS - 1), MOST, |x| format!("{x:.2} ×"))]
    }
}
