//! Many breakers.

use std::time::Duration;

use alloy::primitives::{B256, Bytes, U256};
use alloy::sol_types::{SolCall, SolValue};
use fusebox_bindings::ICircuitBreaker::breakersCall;
use fusebox_bindings::{Config, Word};
use fusebox_testkit::{Chain, Node, block};
use serde_json::Value;
use tokio::time::Instant;

use super::{Failure, HOST, PATIENCE, Watching, opening};
use crate::soak::memory::resident;

/// As many as a keeper that watches strangers may have.
pub const MANY: u32 = 100_000;

/// As many as somebody looks at.
pub const SOME: u32 = 1_000;

/// Of [`MANY`], in one block.
const IN_A_BLOCK: u32 = 4;

/// Times that each page is asked for.
const ROUNDS: usize = 50;

/// A keeper with [`MANY`] breakers.
#[derive(Clone, Copy, Debug)]
pub struct Many {
    /// KiB, after all was read and asked.
    pub memory: u64,
    /// A page of `/status`, by whatever it is chosen, of a hundred the slowest but one.
    pub page: Duration,
}

impl Many {
    /// All opened once.
    ///
    /// # Errors
    /// When the keeper does not come to the end.
    pub async fn measure() -> Result<Self, Failure> {
        let node = Node::scripted(all_open(MANY, IN_A_BLOCK)).start().await?;
        let keeper = Watching::new(&node, 1).start()?;
        keeper.sees((MANY / IN_A_BLOCK).into(), PATIENCE).await?;

        let middle = format!("/status?after=dev:{HOST}:0x{:x}", MANY / 2);
        // And whether they have something to show.
        let pages = [
            ("/status", true),
            (middle.as_str(), true),
            ("/status?state=open", true),
            ("/status?state=half-open", false),
            ("/status?q=1111", true),
            ("/status?q=vault", false),
        ];
        let mut times = Vec::new();
        for (path, has_some) in pages.into_iter().cycle().take(ROUNDS * pages.len()) {
            let start = Instant::now();
            let (code, body) = keeper.get(path).await?;
            times.push(start.elapsed());
            let body: Value = serde_json::from_slice(&body)?;
            let shown = body["breakers"].as_array().map_or(0, Vec::len);
            if code != 200 || (shown > 0) != has_some {
                return Err(format!("{path} answers {code} with {shown} breakers").into());
            }
        }
        times.sort();
        let memory = resident(keeper.process()).ok_or("this system does not say what it uses")?;
        Ok(Self { memory, page: times[times.len() * 99 / 100 - 1] })
    }
}

/// How long `keeper status` takes for [`SOME`].
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Of what a keeper has stored.
    pub stored: Duration,
    /// From a node that takes so long for an answer.
    pub chain: Duration,
}

impl Status {
    /// With a node that takes so long for an answer.
    ///
    /// # Errors
    /// When one of them fails.
    pub async fn measure(latency: Duration) -> Result<Self, Failure> {
        let chain = all_open(SOME, IN_A_BLOCK);
        let words: Vec<B256> = (1..=SOME).map(|slot| B256::from(U256::from(slot))).collect();
        chain.set_code(HOST, Bytes::from_static(&[0x00]));
        let list = words.abi_encode();
        chain.set_call(HOST, Bytes::from(breakersCall {}.abi_encode()), list.into());
        let word = Word::build(Config::simple(3, 60))?;
        for slot in 1..=SOME {
            chain.set_storage(HOST, U256::from(slot), word.0.into());
        }
        chain.mine(block());
        let slow = fusebox_testkit::any().delay(latency);
        let node = Node::scripted(chain).rule(slow).start().await?;
        let keeper = Watching::new(&node, 1).start()?;
        keeper.sees((SOME / IN_A_BLOCK).into(), PATIENCE).await?;
        let host = HOST.to_string();
        let url = node.url();
        Ok(Self {
            stored: keeper.run(&["status"], SOME).await?,
            chain: keeper.run(&["status", "--rpc-url", &url, "--watch", &host], SOME).await?,
        })
    }
}

fn all_open(count: u32, in_a_block: u32) -> Chain {
    let chain = Chain::new();
    let mut breakers = 1..=count;
    while !breakers.is_empty() {
        let first = opening(breakers.next().unwrap_or(0));
        chain.mine(breakers.by_ref().take(in_a_block as usize - 1).fold(first, |plan, breaker| {
            let (topics, data) = super::opened(breaker);
            plan.log(HOST, topics, data)
        }));
    }
    chain
}
