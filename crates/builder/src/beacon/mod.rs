//! Watching beacon nodes: what they say becomes the events that replay reads, and the machine decides.

mod api;
mod backfill;
mod events;
mod message;
mod node;
mod sse;

pub use api::{Api, ApiError, NodeUrlError};
pub use node::WatchError;

use crate::Live;
use node::Node;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Watches these nodes and lets time go on, until it is dropped. The first node is the one whose head, finality and gates count
/// where it can be asked.
///
/// # Errors
/// Where a node is not one of the same chain when it first answers.
pub async fn watch(live: Arc<Live>, nodes: Vec<Api>) -> Result<(), WatchError> {
    let mut tasks = JoinSet::new();
    for (index, api) in nodes.into_iter().enumerate() {
        let index = u8::try_from(index).unwrap_or(u8::MAX);
        tasks.spawn(Node::new(index, api, Arc::clone(&live)).run());
    }
    let time = async {
        let mut changes = live.changes();
        loop {
            let wait = live.wake();
            tokio::select! {
                () = live.clock().sleep(wait) => {}
                _ = changes.changed() => {}
            }
        }
    };
    let ended = async {
        while let Some(ended) = tasks.join_next().await {
            // A node's task never ends by itself; one that panicked is silent, and its slots are unknown.
            if let Ok(ended) = ended {
                return ended;
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        ended = ended => ended,
        () = time => Ok(()),
    }
}
