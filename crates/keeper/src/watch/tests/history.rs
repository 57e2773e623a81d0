//! History in ranges, its hand-over to the walk, and contracts that are added later.

use super::*;
use fusebox_testkit::{RangeWording, RpcError, on};
use std::collections::BTreeSet;

const OTHER: Address = Address::repeat_byte(0x22);

async fn lone(chain: &Chain) -> Bench {
    Bench::new(chain, Node::scripted(chain.clone()).start().await.unwrap()).await
}

#[tokio::test]
async fn history_is_read_in_ranges_to_the_final_block_and_walked_from_there() {
    let chain = Chain::new();
    for _ in 0..5 {
        chain.mine(opens(HOST));
        chain.mine_empty(999);
    }
    let bench = lone(&chain).await;
    let running = bench.start().await;
    running.sees(chain.head()).await;
    let facts = running.facts().await;
    let want: Vec<_> = (0..5).map(|n| fact(n * 1_000 + 1, "opened", "final")).collect();
    assert_eq!(facts, want);
    // 4,936 blocks in ranges of 2,000; 64 one by one.
    assert_eq!(bench.node.calls("eth_getLogs").len(), 4, "the bottom of the window ends one more");
    assert_eq!(bench.node.calls("eth_getBlockByHash").len(), 63);
    assert_eq!(running.health.borrow().last_final.unwrap().number, 5_000 - 64);
}

#[tokio::test]
async fn case_09_every_wording_of_a_range_limit_ends_in_all_of_history() {
    for wording in [
        RangeWording::Alchemy,
        RangeWording::AlchemyFree,
        RangeWording::Ankr,
        RangeWording::Bnb,
        RangeWording::Drpc,
        RangeWording::LlamaRpc,
        RangeWording::PublicNode,
        RangeWording::QuickNode,
        RangeWording::Unknown,
        RangeWording::SameRange,
    ] {
        let chain = Chain::new();
        for _ in 0..4 {
            chain.mine(opens(HOST));
            chain.mine_empty(99);
        }
        let bench = lone(&chain).await;
        bench.node.add(on("eth_getLogs").range_cap(7, wording));
        let running = bench.start().await;
        running.sees(chain.head()).await;
        assert_eq!(running.facts().await.len(), 4, "{wording:?}");
        // A node that lags has no logs and says so with an empty list, so each range came with its end.
        let ends = bench.node.calls("eth_getBlockByNumber");
        let ends: BTreeSet<_> =
            ends.iter().map(|call| (call.request, call.params[0].to_string())).collect();
        for call in bench.node.calls("eth_getLogs").iter().filter(|call| call.upstream.is_some()) {
            let to = &call.params[0]["toBlock"];
            assert!(to.is_null() || ends.contains(&(call.request, to.to_string())), "{call:?}");
        }
    }
}

#[tokio::test]
async fn a_range_that_fails_for_its_length_is_halved_and_grows_again() {
    let chain = Chain::new();
    for _ in 0..20 {
        chain.mine(opens(HOST));
        chain.mine_empty(499);
    }
    let bench = lone(&chain).await;
    // Words of a node that the pool takes for an answer.
    let length = |params: &Value| {
        let at = |field| {
            let text = params.pointer(field)?.as_str()?.strip_prefix("0x")?;
            u64::from_str_radix(text, 16).ok()
        };
        Some(at("/0/toBlock")? - at("/0/fromBlock")? + 1)
    };
    let rule =
        on("eth_getLogs").params(move |params| length(params).is_some_and(|long| long > 300));
    let rule = rule.error(RpcError::new(-32602, "no")).named("no");
    let cap = bench.node.add(rule);
    let running = bench.start().await;
    while bench.node.calls("eth_getLogs").len() < 20 {
        tokio::time::sleep(POLL).await;
    }
    assert!(bench.node.fired("no") > 0);
    bench.node.remove(cap);
    running.sees(chain.head()).await;
    assert_eq!(running.facts().await.len(), 20);
}

#[tokio::test]
async fn case_11_an_event_where_ranges_hand_over_to_the_walk_is_told_once() {
    for offset in [63, 64, 65] {
        let chain = Chain::new();
        chain.mine_empty(500 - 1 - offset);
        let opened = chain.mine(opens(HOST)).number;
        chain.mine_empty(offset);
        assert_eq!(chain.head().number, 500);
        let bench = lone(&chain).await;
        let running = bench.start().await;
        running.sees(chain.head()).await;
        let status = if offset >= 64 { "final" } else { "seen" };
        assert_eq!(running.facts().await, [fact(opened, "opened", status)], "{offset}");
        assert_eq!(running.told().await.len(), 1);
    }
}

#[tokio::test]
async fn a_start_in_the_middle_reads_nothing_before_it() {
    let chain = Chain::new();
    chain.mine(opens(HOST));
    chain.mine_empty(99);
    chain.mine(closes(HOST));
    chain.mine_empty(5);
    let bench = lone(&chain).await.from(101);
    let running = bench.start().await;
    running.sees(chain.head()).await;
    // A reorg of the block before is no other chain, and tells nothing of it.
    let end = chain.reorg(8, (0..9).map(|_| opens(HOST)));
    running.sees(end).await;
    let facts = running.facts().await;
    assert_eq!(facts[0], fact(101, "closed", "retracted"));
    assert!(facts[1..].iter().all(|fact| fact.0 >= 101 && fact.1 == "opened"), "{facts:?}");
    assert_eq!(facts.len(), 1 + 7);
}

#[tokio::test]
async fn a_start_above_the_tip_waits_for_its_block() {
    let chain = Chain::new();
    chain.mine(opens(HOST));
    let bench = lone(&chain).await.from(5);
    let running = bench.start().await;
    bench.node.called("eth_getBlockByNumber", 4).await;
    assert!(running.health.borrow().seen.is_none());
    chain.mine_empty(2);
    chain.mine(opens(HOST));
    running.sees(chain.mine(closes(HOST))).await;
    assert_eq!(running.facts().await, [fact(5, "closed", "seen")]);
}

#[tokio::test]
async fn a_contract_that_is_added_later_is_read_alone_up_to_the_others() {
    let chain = Chain::new();
    for _ in 0..6 {
        chain.mine(opens(HOST));
        chain.mine(opens(OTHER));
        chain.mine_empty(998);
    }
    chain.mine(closes(OTHER));
    chain.mine_empty(3);
    let mut bench = lone(&chain).await;
    let running = bench.start().await;
    running.sees(chain.head()).await;
    assert_eq!(running.facts().await.len(), 6);
    drop(running);
    bench.contracts.push((OTHER, 1));
    let running = bench.start().await;
    let facts = running.has(13).await;
    let others: Vec<_> = (0..6).map(|n| fact(n * 1_000 + 2, "opened", "final")).collect();
    assert!(others.iter().all(|other| facts.contains(other)), "{facts:?}");
    assert!(facts.contains(&fact(6_001, "closed", "seen")), "{facts:?}");
    // From now on it is walked with the others.
    running.sees(chain.mine(opens(OTHER))).await;
    assert_eq!(running.facts().await.len(), 14);
    drop(running);
    let calls = bench.node.calls("eth_getLogs").len();
    let running = bench.start().await;
    running.sees(chain.mine_empty(1)).await;
    let read = bench.node.calls("eth_getLogs").split_off(calls);
    let begins = |call: &fusebox_testkit::Call| call.params.pointer("/0/fromBlock").cloned();
    let again =
        read.iter().filter(|call| begins(call).is_some_and(|from| from.as_str() < Some("0x1700")));
    assert_eq!(again.count(), 0, "history is not read twice");
}

#[tokio::test]
async fn a_watch_that_is_ended_goes_on_where_it_was() {
    let chain = Chain::new();
    let bench = lone(&chain).await;
    for round in 0..10 {
        let running = bench.start().await;
        chain.mine(opens(HOST));
        let end = chain.mine_empty(round * 70);
        running.sees(end).await;
        assert_eq!(running.facts().await.len() as u64, round + 1);
        drop(running);
        chain.mine_empty(3);
    }
}
