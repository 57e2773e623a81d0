//! Nodes that go wrong at random, in a process of their own.
//!
//! Time is cut into rounds, and in a round every fault that there is happens to every node once, in an order that
//! follows from the seed, with health in between; at the end of each round all of them are gone at once. So every
//! minute is as bad as the first one, and memory that grows later is a leak and no new kind of trouble.
//!
//! Two things that a node can say are left out, since the pool would be right not to come back in time: that it serves
//! another chain, and that a quota is used up until midnight.

use std::time::Duration;

use fusebox_testkit::{Chain, Door, HttpReply, Node, RangeWording, RpcError, Rule, any, block, on};
use futures_util::future::join_all;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::sleep;

use super::traffic::{ADDRESS, SLOTS, word};

/// How many there are.
pub const NODES: usize = 4;

/// What the parent writes when it wants all nodes to be well again.
pub const HEAL: &str = "heal\n";

/// The longest that one fault takes, and the longest pause after it; about 25 s for a round.
const FAULT_MS: u64 = 1_500;
const HEALTH_MS: u64 = 3_000;
/// All nodes at once.
const BLACKOUT: Duration = Duration::from_secs(2);
/// Of the calls, while a fault is one that does not hit all.
const SHARE: f64 = 0.3;
const BLOCK_TIME: Duration = Duration::from_secs(1);
const BLOCKS: u64 = 100;

/// What can go wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// New connections find this, and old ones are closed.
    Gone(Door),
    /// Calls meet these rules.
    Bad(fn() -> Vec<Rule>),
}

const FAULTS: [Fault; 10] = [
    Fault::Gone(Door::Refused),
    Fault::Gone(Door::Silent),
    Fault::Gone(Door::Garbage),
    Fault::Bad(|| vec![any().hang()]),
    Fault::Bad(|| vec![any().delay(Duration::from_millis(200))]),
    Fault::Bad(|| vec![any().error(too_fast().status(429).header("retry-after", "1"))]),
    Fault::Bad(|| vec![any().http(HttpReply::new(502).body("<html>502 Bad Gateway</html>"))]),
    Fault::Bad(|| vec![any().error(RpcError::new(-32000, "Unauthorized").status(401))]),
    Fault::Bad(|| vec![any().stale(20)]),
    Fault::Bad(mixed),
];

fn too_fast() -> RpcError {
    RpcError::new(-32005, "rate limit exceeded")
}

/// A little of everything.
fn mixed() -> Vec<Rule> {
    let some = || any().chance(SHARE / 10.0);
    vec![
        some().hang_after_forwarding(),
        some().close_before_forwarding(),
        some().close_after_forwarding(),
        some().truncate(20),
        some().invalid_json(),
        some().wrong_id(),
        some().drip(16, Duration::from_millis(40)),
        some().error(too_fast()),
        some().error(RpcError::new(-32099, "something that no client can know")),
        some().http(HttpReply::new(200)),
        on("eth_call").chance(SHARE).error(RpcError::new(3, "execution reverted").data("0x")),
        on("eth_getLogs").chance(SHARE).range_cap(10, RangeWording::Alchemy),
    ]
}

/// Starts nodes, prints their URLs in one line, and spoils them until standard input says [`HEAL`]; ends with it.
///
/// # Errors
///
/// A node cannot be started, or standard input cannot be read.
pub async fn serve(seed: u64) -> Result<(), Box<dyn std::error::Error>> {
    let chain = chain();
    let mut nodes = Vec::new();
    for i in 0..NODES {
        let node = Node::scripted(&chain).seed(seed.wrapping_add(i as u64));
        // One of them makes the blocks of the chain that they share.
        let node = if i == 0 { node.block_time(BLOCK_TIME) } else { node };
        nodes.push(node.start().await?);
    }
    let urls: Vec<String> = nodes.iter().map(Node::url).collect();
    announce(&urls.join(" "));

    let mut lines = BufReader::new(stdin()).lines();
    tokio::select! {
        () = spoil(&nodes, seed) => {}
        line = lines.next_line() => drop(line?),
    }
    heal(&nodes).await;
    while lines.next_line().await?.is_some() {}
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the parent process reads it")]
fn announce(urls: &str) {
    println!("{urls}");
}

fn chain() -> Chain {
    let chain = Chain::new();
    let address = ADDRESS.parse().expect("it is an address");
    for slot in 0..SLOTS {
        chain.set_storage(
            address,
            slot.try_into().expect("it fits"),
            word(slot).parse().expect("it is a word"),
        );
    }
    for number in 0..BLOCKS {
        let log = number.is_multiple_of(10);
        chain.mine(if log { block().log(address, [], [1]) } else { block() });
    }
    for (method, answer) in [
        ("debug_traceTransaction", json!({})),
        ("eth_newBlockFilter", json!("0x1")),
        ("eth_getFilterChanges", json!([])),
        ("eth_uninstallFilter", json!(true)),
    ] {
        chain.set_answer(method, answer);
    }
    chain
}

/// Round after round. Never ends.
pub async fn spoil(nodes: &[Node], seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    loop {
        join_all(nodes.iter().map(|node| round(node, random.random()))).await;
        for node in nodes {
            node.door(Door::Refused).await;
        }
        sleep(BLACKOUT).await;
        heal(nodes).await;
        sleep(BLACKOUT).await;
    }
}

/// All faults once.
async fn round(node: &Node, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut faults = FAULTS;
    faults.shuffle(&mut random);
    for fault in faults {
        match fault {
            Fault::Gone(door) => node.door(door).await,
            Fault::Bad(rules) => rules().into_iter().for_each(|rule| {
                node.add(rule);
            }),
        }
        sleep(Duration::from_millis(random.random_range(FAULT_MS / 4..=FAULT_MS))).await;
        heal([node]).await;
        sleep(Duration::from_millis(random.random_range(0..=HEALTH_MS))).await;
    }
}

/// All is well with them.
pub async fn heal(nodes: impl IntoIterator<Item = &Node>) {
    for node in nodes {
        // Its connections close too, so that what hangs does not hang for ever.
        node.clear();
        node.door(Door::Open).await;
    }
}
