//! How soon it tells, and what it asks while there is nothing to tell.

use std::time::Duration;

use fusebox_testkit::{Chain, Node, Sink};
use tokio::time::{Instant, sleep};

use super::{Failure, PATIENCE, POLL, SECRET, Watching, opening};

const EVENTS: usize = 200;
const IDLE_BLOCKS: u64 = 1_000;

/// With this the next poll comes when all is over.
const NEVER: Duration = Duration::from_secs(15);

/// From a block with an event to its webhook, of a hundred the slowest but one: by polling, or by hints alone.
///
/// # Errors
/// When the keeper does not start.
pub async fn latency(by_hints: bool) -> Result<Duration, Failure> {
    let chain = started();
    let node = Node::scripted(chain.clone()).start().await?;
    let sink = Sink::builder().secret(SECRET).start().await?;
    let watching = Watching { sink: Some(&sink), by_hints, ..Watching::new(&node, 101) };
    let poll = if by_hints { NEVER } else { POLL };
    let keeper = Watching { poll, ..watching }.start()?;
    keeper.sees(100, PATIENCE).await?;
    if by_hints {
        node.called("eth_subscribe", 1).await;
    }
    let before = sink.deliveries().len();
    let mut times = Vec::new();
    for event in 0..EVENTS {
        // Off the beat of the poll.
        sleep(Duration::from_millis(300 + (event as u64 * 37) % 250)).await;
        let start = Instant::now();
        chain.mine(opening(0));
        sink.received(before + event + 1).await;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() * 99 / 100 - 1])
}

/// Calls for each block without an event.
///
/// # Errors
/// When the keeper does not start.
pub async fn idle() -> Result<f64, Failure> {
    let chain = started();
    let node = Node::scripted(chain.clone()).start().await?;
    let keeper = Watching::new(&node, 101).start()?;
    keeper.sees(100, PATIENCE).await?;
    let before = node.all_calls().len();
    for _ in 0..IDLE_BLOCKS {
        chain.mine_empty(1);
        sleep(POLL).await;
    }
    Ok((node.all_calls().len() - before) as f64 / IDLE_BLOCKS as f64)
}

fn started() -> Chain {
    let chain = Chain::new();
    chain.mine_empty(100);
    chain
}
