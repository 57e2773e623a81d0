//! Nodes that withhold, contradict themselves or go away, and a store that fails.

use super::*;
use fusebox_testkit::{Door, RpcError, any, on};

/// A scripted node whose endpoints have these labels.
async fn node(chain: &Chain, labels: &[&str]) -> Node {
    let mut node = Node::scripted(chain.clone()).label(labels[0]);
    for label in &labels[1..] {
        node = node.endpoint(*label);
    }
    node.start().await.unwrap()
}

fn no_receipts() -> fusebox_testkit::Rule {
    on("eth_getBlockReceipts").error(RpcError::new(-32601, "the method does not exist"))
}

#[tokio::test]
async fn case_01_a_node_whose_logs_lag_is_waited_for() {
    let chain = Chain::new();
    let node = node(&chain, &["lone"]).await;
    let logs = node.add(on("eth_getLogs").stale(20).named("late"));
    node.add(no_receipts());
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    let before = chain.mine_empty(2);
    let opened = chain.mine(opens(HOST));
    running.sees(before).await;
    while bench.node.fired("late") < 3 {
        tokio::time::sleep(POLL).await;
    }
    assert_eq!(running.health.borrow().seen.unwrap().hash, before.hash, "the cursor waits");
    assert!(running.facts().await.is_empty());
    bench.node.remove(logs);
    running.sees(opened).await;
    assert_eq!(running.facts().await, [fact(3, "opened", "seen")]);
    assert_eq!(running.told().await, [told("breaker.opened", "seen")]);
}

#[tokio::test]
async fn case_03_a_block_that_one_node_does_not_have_is_asked_of_another() {
    let chain = Chain::new();
    let node = node(&chain, &["null", "good"]).await;
    node.add(on("eth_getBlockByHash").at("null").null().named("null"));
    let bench = Bench::new(&chain, node).await.at(&["null", "good"]);
    let running = bench.start().await;
    running.sees(chain.mine_empty(1)).await;
    // Between two polls, so that there are parents to be asked for.
    for _ in 0..5 {
        chain.mine_empty(3);
        chain.mine(opens(HOST));
        running.sees(chain.mine_empty(2)).await;
    }
    assert!(bench.node.fired("null") > 0);
    assert_eq!(running.facts().await.len(), 5);
}

#[tokio::test]
async fn logs_that_a_node_withholds_are_in_its_receipts_or_at_another_node() {
    for (labels, has_receipts) in [(&["mute"][..], true), (&["mute", "good"], false)] {
        let chain = Chain::new();
        let node = node(&chain, labels).await;
        node.add(on("eth_getLogs").at("mute").omit_logs().named("mute"));
        if !has_receipts {
            node.add(no_receipts());
        }
        let bench = Bench::new(&chain, node).await.at(labels);
        let running = bench.start().await;
        chain.mine_empty(1);
        running.sees(chain.mine(opens(HOST))).await;
        assert_eq!(running.facts().await, [fact(2, "opened", "seen")], "{labels:?}");
        assert!(bench.node.fired("mute") > 0);
    }
}

#[tokio::test]
async fn a_list_of_logs_is_made_complete_by_receipts_or_another_node() {
    let two = || {
        let topic = events::Closed::SIGNATURE_HASH;
        opens(HOST).log(HOST, [topic, B256::ZERO], Vec::new())
    };
    for (labels, has_receipts) in [(&["short"][..], true), (&["short", "good"], false)] {
        let chain = Chain::new();
        let node = node(&chain, labels).await;
        node.add(on("eth_getLogs").at("short").omit_log(1).named("short"));
        if !has_receipts {
            node.add(no_receipts());
        }
        let bench = Bench::new(&chain, node).await.at(labels);
        let running = bench.start().await;
        running.sees(chain.mine(two())).await;
        let want = [fact(1, "opened", "seen"), fact(1, "closed", "seen")];
        assert_eq!(running.facts().await, want, "{labels:?}");
        assert!(bench.node.fired("short") > 0);
    }
}

#[tokio::test]
async fn receipts_that_prove_nothing_are_not_believed() {
    let chain = Chain::new();
    let node = node(&chain, &["lone"]).await;
    node.add(on("eth_getBlockReceipts").set("/result/*/cumulativeGasUsed", "0x1").named("false"));
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    running.sees(chain.mine(opens(HOST))).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "seen")]);
    assert!(bench.node.fired("false") > 0);
}

#[tokio::test]
async fn a_log_that_was_not_asked_for_or_is_not_in_the_bloom_is_believed_of_nobody() {
    let chain = Chain::new();
    let node = node(&chain, &["liar", "good"]).await;
    let bench = Bench::new(&chain, node).await.at(&["liar", "good"]);
    let running = bench.start().await;
    running.sees(chain.mine_empty(1)).await;
    let topic = json!([events::Closed::SIGNATURE_HASH, B256::ZERO]);
    let lies = [
        on("eth_getLogs").at("liar").foreign_log(),
        on("eth_getLogs").at("liar").double_logs(),
        on("eth_getLogs").at("liar").removed_logs(),
        on("eth_getLogs").at("liar").set("/result/*/topics", topic),
        on("eth_getLogs").at("liar").set("/result/*/blockHash", json!(B256::ZERO)),
    ];
    for (count, lie) in (1..).zip(lies) {
        let lie = bench.node.add(lie.named("lie"));
        running.sees(chain.mine(opens(HOST))).await;
        let facts = running.facts().await;
        assert_eq!(facts.len(), count, "{facts:?}");
        assert!(facts.iter().all(|fact| fact.1 == "opened"), "{facts:?}");
        // Back to the first one.
        bench.node.remove(lie);
        bench.node.door_of("good", Door::Refused).await;
        running
            .until("it is followed again", |health| health.followed.as_deref() == Some("liar"))
            .await;
        bench.node.door_of("good", Door::Open).await;
    }
}

#[tokio::test]
async fn a_store_that_fails_loses_and_repeats_nothing() {
    let chain = Chain::new();
    let node = node(&chain, &["lone"]).await;
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    let before = chain.mine_empty(1);
    running.sees(before).await;
    running.failing.store(2, Ordering::Relaxed);
    let end = chain.mine(opens(HOST));
    let health = running.until("it is told", |health| health.degraded.contains_key("store")).await;
    assert_eq!(health.seen.unwrap().hash, before.hash);
    running.sees(end).await;
    running.until("it is over", |health| health.degraded.is_empty()).await;
    // The tip is taken back and told anew by a store that fails in between.
    running.failing.store(1, Ordering::Relaxed);
    let end = chain.reorg(1, [block(), opens(HOST)]);
    running.sees(end).await;
    assert_eq!(running.facts().await, [fact(2, "opened", "retracted"), fact(3, "opened", "seen")]);
    let want = ["seen", "retracted", "seen"].map(|phase| told("breaker.opened", phase));
    assert_eq!(running.told().await, want);
}

#[tokio::test]
async fn case_08_hints_that_break_off_and_are_spoilt_lose_nothing() {
    const BLOCKS: usize = 60;
    let chain = Chain::new();
    let node =
        Node::scripted(chain.clone()).label("lone").rule(on("newHeads").every(3).bad_frame());
    let node = node.rule(on("newHeads").every(5).skip()).rule(on("newHeads").every(7).late());
    let node = node.cut_websockets_every(Duration::from_millis(40)).start().await.unwrap();
    let mut bench = Bench::new(&chain, node).await.at(&["lone"]);
    bench.has_hints = true;
    let nodes = bench.nodes();
    let _looked_after = nodes.look_after();
    let running = bench.start_on(nodes).await;
    for _ in 0..BLOCKS {
        running.sees(chain.mine(opens(HOST))).await;
    }
    assert_eq!(running.facts().await.len(), BLOCKS);
    for filter in ["eth_newFilter", "eth_newBlockFilter", "eth_getFilterChanges"] {
        bench.node.assert_never(filter);
    }
    let subscribed = bench.node.calls("eth_subscribe");
    assert!(subscribed.iter().all(|call| call.params == json!(["newHeads"])), "{subscribed:?}");
}

#[tokio::test]
async fn a_hint_is_quicker_than_the_poll() {
    let chain = Chain::new();
    let node = node(&chain, &["lone"]).await;
    let mut bench = Bench::new(&chain, node).await.at(&["lone"]);
    bench.has_hints = true;
    bench.plan.poll = Some(DEADLINE * 10);
    let nodes = bench.nodes();
    let _looked_after = nodes.look_after();
    let running = bench.start_on(nodes).await;
    running.sees(chain.head()).await;
    bench.node.called("eth_subscribe", 1).await;
    for _ in 0..5 {
        running.sees(chain.mine(opens(HOST))).await;
    }
}

#[tokio::test]
async fn case_10_an_outage_of_all_nodes_is_told_and_waited_for_at_a_bounded_rate() {
    let chain = Chain::new();
    let node = node(&chain, &["a", "b"]).await;
    let bench = Bench::new(&chain, node).await.at(&["a", "b"]);
    let running = bench.start().await;
    running.sees(chain.mine_empty(1)).await;
    let busy = fusebox_testkit::HttpReply::new(429).header("retry-after", "1");
    bench.node.add(any().at("a").http(busy));
    bench.node.door_of("b", Door::Refused).await;
    let opened = chain.mine(opens(HOST));
    running.until("it is told", |health| health.nodes.iter().all(|node| node.state != "ok")).await;
    let before = bench.node.all_calls().len();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let calls = bench.node.all_calls().len() - before;
    assert!(calls < 30, "{calls} requests in 3 s");
    assert!(running.facts().await.is_empty());
    bench.node.clear();
    bench.node.door_of("b", Door::Open).await;
    running.sees(opened).await;
    assert_eq!(running.facts().await, [fact(1 + 1, "opened", "seen")]);
}

#[tokio::test]
async fn case_21_a_node_that_becomes_one_of_another_chain_halts_it() {
    let chain = Chain::new();
    let node = node(&chain, &["lone"]).await;
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(5)).await;
    // Exchanged while it was away.
    bench.node.door(Door::Refused).await;
    running.until("it is away", |health| health.nodes.iter().any(|node| node.state != "ok")).await;
    let other = bench.node.add(any().chain_id(5));
    bench.node.door(Door::Open).await;
    let health = running.until("it is halted", |health| health.halted.is_some()).await;
    assert!(health.halted.unwrap().contains("chain 5"), "the reason is named");
    chain.mine(closes(HOST));
    assert_eq!(running.facts().await, [fact(1, "opened", "seen")]);
    assert_eq!(
        running.told().await,
        [told("breaker.opened", "seen"), told("chain.identity", "seen")]
    );
    // At the start it is refused.
    let mut again = bench.start().await;
    let ended = timeout(DEADLINE, &mut again.task).await.unwrap().unwrap();
    assert!(ended.is_err());
    // It comes back.
    bench.node.remove(other);
    running.sees(chain.head()).await;
    running.until("it goes on", |health| health.halted.is_none()).await;
}

#[tokio::test]
async fn case_21_two_chains_with_one_genesis_differ_by_what_was_final() {
    let chain = Chain::new();
    chain.set_finality(2);
    let twin = Chain::new();
    twin.set_finality(2);
    twin.mine(closes(HOST));
    let node = Node::scripted(chain.clone()).upstream("twin", twin.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.confirmations(Confirmations::Finalized);
    let running = bench.start().await;
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(50)).await;
    running
        .until("it is final", |health| health.last_final.is_some_and(|last| last.number > 5))
        .await;
    drop(running);
    twin.mine_empty(90);
    bench.node.add(any().pin_to("twin"));
    let mut running = bench.start().await;
    let ended = timeout(DEADLINE, &mut running.task).await.unwrap().unwrap();
    assert!(ended.unwrap_err().to_string().contains("the store has"));
}

#[tokio::test]
async fn a_followed_node_is_kept_until_it_fails_and_left_when_it_lags() {
    let chain = Chain::new();
    let node = node(&chain, &["a", "b"]).await;
    let bench = Bench::new(&chain, node).await.at(&["a", "b"]);
    let nodes = bench.nodes();
    // Its probes show who is behind.
    let _looked_after = nodes.look_after();
    let running = bench.start_on(nodes).await;
    let follows = |name: &'static str| {
        let running = &running;
        async move {
            running.until(name, |health| health.followed.as_deref() == Some(name)).await;
        }
    };
    follows("a").await;
    bench.node.door_of("a", Door::Refused).await;
    follows("b").await;
    bench.node.door_of("a", Door::Open).await;
    running.sees(chain.mine_empty(1)).await;
    assert_eq!(running.health.borrow().followed.as_deref(), Some("b"));
    bench.node.add(any().at("b").stale(10));
    running.sees(chain.mine_empty(8)).await;
    follows("a").await;
}

#[tokio::test]
async fn a_followed_node_that_hangs_is_left_after_one_attempt() {
    let chain = Chain::new();
    let node = node(&chain, &["silent", "good"]).await;
    let bench = Bench::new(&chain, node).await.at(&["silent", "good"]);
    let running = bench.start().await;
    running.until("it is followed", |health| health.followed.as_deref() == Some("silent")).await;
    bench.node.add(any().at("silent").hang());
    let end = chain.mine(opens(HOST));
    let begun = tokio::time::Instant::now();
    running.sees(end).await;
    // Two seconds for each attempt.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}
