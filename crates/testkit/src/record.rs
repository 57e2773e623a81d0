//! What was asked, in the order in which it came.

use crate::deadline::within;
use serde_json::Value;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// What a call came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Transport {
    Http,
    WebSocket,
}

/// One call. Each element of a batch is one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// The label of the endpoint.
    pub endpoint: String,
    /// What it came over.
    pub transport: Transport,
    /// Counts HTTP bodies and WebSocket messages: the parts of a batch share it.
    pub request: u64,
    /// The method.
    pub method: String,
    /// The parameters; `[]` if there were none.
    pub params: Value,
    /// When it came, by the node's clock.
    pub at: Duration,
    /// The upstream that was asked. None as long as none was, or when a rule answered in its place.
    pub upstream: Option<String>,
}

/// All calls.
#[derive(Debug, Default)]
pub(crate) struct Record {
    calls: Mutex<Vec<Call>>,
    /// Changes with each call; only there to wake who waits.
    changed: watch::Sender<()>,
}

impl Record {
    /// Returns the number by which [`forwarded`](Self::forwarded) knows it.
    pub(crate) fn add(&self, call: Call) -> usize {
        let mut calls = self.lock();
        calls.push(call);
        let number = calls.len() - 1;
        drop(calls);
        self.changed.send_replace(());
        number
    }

    pub(crate) fn forwarded(&self, number: usize, upstream: &str) {
        self.lock()[number].upstream = Some(upstream.to_owned());
        self.changed.send_replace(());
    }

    pub(crate) fn all(&self) -> Vec<Call> {
        self.lock().clone()
    }

    pub(crate) fn of(&self, method: &str) -> Vec<Call> {
        self.lock().iter().filter(|call| call.method == method).cloned().collect()
    }

    /// Waits until at least `count` calls are as `wanted` says; `what` names them.
    pub(crate) async fn wait(&self, count: usize, what: &str, wanted: impl Fn(&Call) -> bool) {
        // Subscribed before counting: what comes in between still wakes.
        let mut changed = self.changed.subscribe();
        let enough = async {
            while self.lock().iter().filter(|call| wanted(call)).count() < count {
                changed.changed().await.expect("the sender lives as long as the record");
            }
        };
        within(format!("{count} × {what}"), enough).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        // A test that panicked while it held the lock has left whole calls behind.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
