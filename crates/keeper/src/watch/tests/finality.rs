//! What becomes final, and what a second reading finds.

use super::*;
use fusebox_testkit::{Finality, on};

#[tokio::test]
async fn what_was_seen_becomes_final_with_the_tag() {
    let chain = Chain::new();
    chain.set_finality(8);
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.confirmations(Confirmations::Finalized);
    let running = bench.start().await;
    running.sees(chain.mine(opens(HOST))).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "seen")]);
    running.sees(chain.mine_empty(40)).await;
    running.settles(33).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "final")]);
}

#[tokio::test]
async fn a_node_without_the_tag_has_confirmations_counted() {
    for finality in [Finality::Unsupported, Finality::Null, Finality::At(0)] {
        let chain = Chain::new();
        chain.mine(opens(HOST));
        chain.mine_empty(199);
        let node = Node::scripted(chain.clone()).rule(fusebox_testkit::any().finality(finality));
        let node = node.start().await.unwrap();
        let bench = Bench::new(&chain, node).await.confirmations(Confirmations::Safe);
        let running = bench.start().await;
        running.sees(chain.head()).await;
        running.settles(200 - 64).await;
        assert_eq!(running.facts().await, [fact(1, "opened", "final")], "{finality:?}");
    }
}

/// Two events in one block.
fn both() -> BlockPlan {
    opens(HOST).log(HOST, [events::Closed::SIGNATURE_HASH, B256::ZERO], Vec::new())
}

#[tokio::test]
async fn what_was_missing_is_late_when_it_is_read_again() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.verify(Verify::Off);
    let bench = bench.confirmations(Confirmations::Blocks(4));
    let running = bench.start().await;
    let short = bench.node.add(on("eth_getLogs").omit_log(1));
    running.sees(chain.mine(both())).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "seen")]);
    bench.node.remove(short);
    running.sees(chain.mine_empty(6)).await;
    running.settles(3).await;
    let late = (1, "closed".to_owned(), "final".to_owned(), true);
    assert_eq!(running.facts().await, [fact(1, "opened", "final"), late]);
}

#[tokio::test]
async fn what_a_second_reading_lacks_stays() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.verify(Verify::Off);
    let bench = bench.confirmations(Confirmations::Blocks(4));
    let running = bench.start().await;
    running.sees(chain.mine(both())).await;
    bench.node.add(on("eth_getLogs").omit_logs().named("mute"));
    running.sees(chain.mine_empty(6)).await;
    running.settles(3).await;
    assert!(bench.node.fired("mute") > 0);
    assert_eq!(running.facts().await, [fact(1, "opened", "final"), fact(1, "closed", "final")]);
}

#[tokio::test]
async fn blocks_that_prove_to_be_empty_are_not_read_again() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.confirmations(Confirmations::Blocks(4));
    let running = bench.start().await;
    running.sees(chain.mine(both())).await;
    let logs = bench.node.calls("eth_getLogs").len();
    running.sees(chain.mine_empty(50)).await;
    running.settles(47).await;
    assert_eq!(bench.node.calls("eth_getLogs").len(), logs);
    // After a new start nothing is known of the blocks above the final one.
    drop(running);
    let running = bench.start().await;
    running.sees(chain.mine_empty(10)).await;
    running.settles(57).await;
    assert_eq!(bench.node.calls("eth_getLogs").len(), logs + 1);
}
