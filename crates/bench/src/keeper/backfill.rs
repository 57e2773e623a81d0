//! How fast it reads what has been, beside who only asks, and beside alloy's stream.

use std::time::Duration;

use alloy::providers::{CanonicalEvent, Provider, ProviderBuilder, RootProvider};
use alloy::rpc::types::Filter;
use alloy::sol_types::SolEvent;
use fusebox_bindings::events::Opened;
use fusebox_testkit::{Chain, Node, any};
use futures_util::StreamExt;
use tokio::time::Instant;

use super::{Failure, HOST, PATIENCE, Watching, opening};

/// Blocks of history, and every which of them has an event.
pub const BLOCKS: u64 = 240_000;
/// See [`BLOCKS`].
pub const EVENT_EVERY: u64 = 60;

/// alloy's stream is too slow for all of them.
pub const FEW_BLOCKS: u64 = 1_200;

/// Blocks in one question, as the keeper begins.
pub const RANGE: u64 = 2_000;

/// Of so many the middle one counts.
pub const ROUNDS: usize = 5;

/// A chain of [`BLOCKS`].
#[must_use]
pub fn history() -> Chain {
    let chain = Chain::new();
    for number in 1..=BLOCKS {
        match number % EVENT_EVERY {
            0 => drop(chain.mine(opening(0))),
            _ => drop(chain.mine_empty(1)),
        }
    }
    chain
}

/// Blocks a second.
#[derive(Clone, Copy, Debug)]
pub struct Backfill {
    /// A loop of requests.
    pub bare: f64,
    /// The keeper, from its start until the last block is in its store.
    pub keeper: f64,
    /// alloy's `watch_canonical_logs_from`.
    pub stream: f64,
}

impl Backfill {
    /// On a node that takes so long for an answer.
    ///
    /// # Errors
    /// When one of them does not come to the end.
    pub async fn measure(chain: &Chain, latency: Duration) -> Result<Self, Failure> {
        let slow = any().delay(latency);
        let node = Node::scripted(chain.clone()).rule(slow).start().await?;
        let provider: RootProvider = ProviderBuilder::default().connect_http(node.url().parse()?);
        let filter = Filter::new().address(HOST).event_signature(Opened::SIGNATURE_HASH);
        let (mut bare, mut keeper, mut stream) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let mut found = 0;
            for from in (1..=BLOCKS).step_by(RANGE as usize) {
                let range =
                    filter.clone().from_block(from).to_block((from + RANGE - 1).min(BLOCKS));
                found += provider.get_logs(&range).await?.len() as u64;
            }
            assert_eq!(found, BLOCKS / EVENT_EVERY);
            bare.push(BLOCKS as f64 / start.elapsed().as_secs_f64());

            let start = Instant::now();
            Watching::new(&node, 1).start()?.sees(BLOCKS, PATIENCE).await?;
            keeper.push(BLOCKS as f64 / start.elapsed().as_secs_f64());

            let start = Instant::now();
            let want = FEW_BLOCKS / EVENT_EVERY;
            let mut logs = provider.watch_canonical_logs_from(1, &filter).into_stream();
            let mut found = 0;
            while found < want {
                if let CanonicalEvent::Added(block) = logs.next().await.ok_or("it has ended")?? {
                    found += block.logs.len() as u64;
                }
            }
            stream.push(FEW_BLOCKS as f64 / start.elapsed().as_secs_f64());
        }
        Ok(Self { bare: median(bare), keeper: median(keeper), stream: median(stream) })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
