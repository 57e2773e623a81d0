//! What the test sees: the chain as its beacon node tells it, and the sidecar's own word.

use crate::process::LOCAL_RECIPIENT;
use fusebox_testkit::BlockBuilder;
use serde_json::Value;
use std::{fs, path::Path, time::Duration};

/// How long anything may take: fifty slots, three epochs.
const DEADLINE: Duration = Duration::from_secs(150);

/// A slot of the canonical chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Missed,
    Local,
    Builder,
}

/// A server's GET.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    url: String,
    client: reqwest::Client,
}

impl Http {
    pub(crate) fn new(url: String) -> Self {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10));
        Self { url, client: client.build().unwrap() }
    }

    /// None where there is no answer, or none that is 200.
    pub(crate) async fn text(&self, path: &str) -> Option<String> {
        let response = self.client.get(format!("{}{path}", self.url)).send().await.ok()?;
        response.error_for_status().ok()?.text().await.ok()
    }

    /// Null where there is none.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let text = self.text(path).await.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Of a beacon node: the slot of its head.
    pub(crate) async fn head(&self) -> Option<u64> {
        let head = self.json("/eth/v1/beacon/headers/head").await;
        head.pointer("/data/header/message/slot")?.as_str()?.parse().ok()
    }

    /// Of a beacon node: who built the canonical block of a slot.
    pub(crate) async fn slot(&self, slot: u64) -> Slot {
        let block = self.json(&format!("/eth/v2/beacon/blocks/{slot}")).await;
        let paid = block.pointer("/data/message/body/execution_payload/fee_recipient");
        match paid.and_then(Value::as_str).map(str::to_lowercase) {
            None => Slot::Missed,
            Some(paid) if paid == LOCAL_RECIPIENT => Slot::Local,
            Some(paid) if paid == format!("{:?}", BlockBuilder::FEE_RECIPIENT) => Slot::Builder,
            Some(paid) => panic!("slot {slot} pays {paid}, whom nobody knows"),
        }
    }

    /// Of a beacon node: these slots.
    pub(crate) async fn slots(&self, slots: std::ops::RangeInclusive<u64>) -> Vec<Slot> {
        let mut found = Vec::new();
        for slot in slots {
            found.push(self.slot(slot).await);
        }
        found
    }

    /// Of a beacon node: waits for so many blocks of this kind in slots from this one on, and gives the slot of the last.
    pub(crate) async fn built(&self, kind: Slot, count: usize, from: u64) -> u64 {
        let (mut next, mut left) = (from, count);
        until(&format!("{count} × {kind:?}"), async || {
            let head = self.head().await?;
            while next <= head {
                left -= usize::from(self.slot(next).await == kind);
                next += 1;
                if left == 0 {
                    return Some(next - 1);
                }
            }
            None
        })
        .await
    }

    /// Of the sidecar: the sum of what a metric counts under this label.
    pub(crate) async fn count(&self, metric: &str, label: &str) -> u64 {
        let text = self.text("/metrics").await.unwrap_or_default();
        let fits = |line: &&str| line.starts_with(metric) && line.contains(label);
        let count =
            |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
        text.lines().filter(fits).filter_map(count).sum()
    }
}

/// Waits until there is something.
pub(crate) async fn until<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = find().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let within = tokio::time::timeout(DEADLINE, found).await;
    within.unwrap_or_else(|_| panic!("{what}: not within {DEADLINE:?}"))
}

/// What a sidecar has recorded so far, whole lines of it.
pub(crate) fn recorded(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The roots of the blocks that its beacon node has streamed for a slot.
pub(crate) fn streamed(path: &Path, slot: u64) -> Vec<String> {
    let lines = recorded(path);
    let blocks = lines.iter().filter(|line| line["kind"] == "block" && line["slot"] == slot);
    let mut roots: Vec<String> = blocks.filter_map(root).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// The roots of the blocks that its first backfill found in a slot.
pub(crate) fn backfilled(path: &Path, slot: u64) -> Option<Vec<String>> {
    let lines = recorded(path);
    let snapshot = lines.iter().find(|line| line["kind"] == "snapshot")?;
    let blocks = snapshot["blocks"].as_array()?.iter().filter(|block| block["slot"] == slot);
    let mut roots: Vec<String> = blocks.filter_map(root).collect();
    roots.sort();
    Some(roots)
}

fn root(block: &Value) -> Option<String> {
    block["root"].as_str().map(str::to_owned)
}
