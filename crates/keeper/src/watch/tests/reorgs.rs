use super::*;
use fusebox_testkit::{any, on};

#[tokio::test]
async fn each_block_is_told_once_in_order() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    running.sees(chain.head()).await;
    chain.mine(opens(HOST));
    chain.mine_empty(3);
    let end = chain.mine(closes(HOST));
    running.sees(end).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "seen"), fact(5, "closed", "seen")]);
    let want = [told("breaker.opened", "seen"), told("breaker.closed", "seen")];
    assert_eq!(running.told().await, want);
}

#[tokio::test]
async fn events_without_an_id_are_those_of_marked_contracts_and_of_a_breaker_of_their_own() {
    const OTHER: Address = Address::repeat_byte(0x22);
    let emits = |contract, event: &str, data: Vec<u8>| {
        block().log(contract, [alloy::primitives::keccak256(event)], data)
    };
    for verify in [Verify::Receipts, Verify::Off] {
        let chain = Chain::new();
        let node = Node::scripted(chain.clone()).start().await.unwrap();
        let mut bench = Bench::new(&chain, node).await.verify(verify);
        bench.contracts.push((OTHER, 1));
        bench.legacy.push(HOST);
        let running = bench.start().await;
        running.sees(chain.head()).await;
        for contract in [OTHER, HOST] {
            chain.mine(emits(contract, "Opened(uint256)", vec![1; 32]));
        }
        chain.mine(opens(HOST));
        for contract in [OTHER, HOST] {
            chain.mine(emits(contract, "Closed()", Vec::new()));
        }
        running.sees(chain.mine(emits(HOST, "Closed()", vec![1]))).await;
        let want = [
            fact(2, "opened", "seen"),
            fact(3, "opened", "seen"),
            fact(5, "closed", "seen"),
            fact(6, "unknown", "seen"),
        ];
        assert_eq!(running.facts().await, want, "{verify:?}");
        // The one with an id, and the one without.
        assert_eq!(running.states().await, ["open", "closed"]);
        let end = chain.reorg(2, [block(), block(), block()]);
        running.sees(end).await;
        let told_last = running.told().await.pop();
        assert_eq!(told_last, Some(told("breaker.closed", "retracted")), "{verify:?}");
        assert_eq!(running.states().await, ["open", "open"]);
    }
}

#[tokio::test]
async fn an_idle_block_costs_one_request() {
    const BLOCKS: u64 = 160;
    for confirmations in [Confirmations::Blocks(4), Confirmations::Finalized] {
        let chain = Chain::new();
        let node = Node::scripted(chain.clone()).start().await.unwrap();
        let bench = Bench::new(&chain, node).await.confirmations(confirmations);
        let running = bench.start().await;
        running.sees(chain.mine(opens(HOST))).await;
        let before = bench.node.all_calls().len();
        for _ in 0..BLOCKS {
            // Made when the one before was told, so that none is read together with another.
            running.sees(chain.mine_empty(1)).await;
        }
        let calls = bench.node.all_calls().split_off(before);
        // A poll that finds the same block is none of a block.
        let is_tip =
            |call: &&fusebox_testkit::Call| call.params.pointer("/0") == Some(&"latest".into());
        let others = calls.len() - calls.iter().filter(is_tip).count();
        assert!(others as u64 <= BLOCKS / 10, "{others} for {BLOCKS} blocks, {confirmations:?}");
    }
}

#[tokio::test]
async fn case_02_a_head_that_falls_and_returns_takes_nothing_back() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(5)).await;
    for behind in [1, 3, 5] {
        let rule = bench.node.add(any().stale(behind).named("stale"));
        let fired = bench.node.fired("stale");
        while bench.node.fired("stale") < fired + 4 {
            tokio::time::sleep(POLL).await;
        }
        bench.node.remove(rule);
    }
    let end = chain.mine_empty(1);
    running.sees(end).await;
    assert_eq!(running.told().await, [told("breaker.opened", "seen")]);
    let fetched = bench.node.calls("eth_getBlockByHash").len();
    assert!(fetched <= 5, "{fetched} blocks were read again");
}

#[tokio::test]
async fn case_04_a_reorg_without_a_further_block_is_retracted_at_once() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    chain.mine_empty(3);
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(1)).await;
    let end = chain.reorg(2, [block(), block()]);
    running.sees(end).await;
    assert_eq!(running.facts().await, [fact(4, "opened", "retracted")]);
    let want = [told("breaker.opened", "seen"), told("breaker.opened", "retracted")];
    assert_eq!(running.told().await, want);
}

#[tokio::test]
async fn case_05_what_is_mined_again_is_a_new_fact() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    running.sees(chain.mine(opens(HOST))).await;
    let end = chain.reorg(1, [block(), block(), opens(HOST)]);
    running.sees(end).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "retracted"), fact(3, "opened", "seen")]);
    let want = ["seen", "retracted", "seen"].map(|phase| told("breaker.opened", phase));
    assert_eq!(running.told().await, want);
}

#[tokio::test]
async fn case_06_a_reorg_while_nobody_watched_is_found_at_the_start() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await;
    let running = bench.start().await;
    chain.mine_empty(3);
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(4)).await;
    drop(running);
    chain.reorg(5, [block(), block(), opens(HOST)]);
    let end = chain.mine_empty(300);
    let running = bench.start().await;
    running.sees(end).await;
    let facts = running.facts().await;
    assert_eq!(facts, [fact(4, "opened", "retracted"), fact(6, "opened", "final")]);
}

#[tokio::test]
async fn case_07_a_reorg_below_a_number_of_confirmations_degrades_and_is_read_again() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.confirmations(Confirmations::Blocks(4));
    let running = bench.start().await;
    chain.mine_empty(20);
    chain.mine(opens(HOST));
    let end = chain.mine_empty(7);
    running.sees(end).await;
    running.settles(24).await;
    assert_eq!(running.facts().await, [fact(21, "opened", "final")]);
    let end = chain.reorg(8, (0..6).map(|_| block()).chain([closes(HOST), block()]));
    running.sees(end).await;
    let facts = running.facts().await;
    assert_eq!(facts, [fact(21, "opened", "retracted"), fact(27, "closed", "seen")]);
    let told_now = running.told().await;
    assert!(told_now.contains(&told("chain.degraded", "seen")), "{told_now:?}");
    assert!(told_now.contains(&told("breaker.opened", "retracted")), "{told_now:?}");
    let health = running.until("it is over", |health| health.degraded.is_empty()).await;
    assert!(health.halted.is_none());
    running.settles(24).await;
}

#[tokio::test]
async fn case_07_a_reorg_deeper_than_the_window_halts_the_chain() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let mut bench = Bench::new(&chain, node).await.confirmations(Confirmations::Blocks(4));
    bench.plan.reorg_window = 10;
    let running = bench.start().await;
    chain.mine_empty(20);
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(20)).await;
    running.settles(37).await;
    chain.reorg(30, (0..40).map(|_| block()));
    let health = running.until("it is halted", |health| health.halted.is_some()).await;
    assert!(health.halted.unwrap().contains("nor are the 10 before it"));
    assert_eq!(running.facts().await, [fact(21, "opened", "final")], "nothing is taken back");
    assert!(running.told().await.contains(&told("chain.identity", "seen")));
}

#[tokio::test]
async fn a_reorg_below_a_tag_is_another_chain() {
    let chain = Chain::new();
    chain.set_finality(4);
    let node = Node::scripted(chain.clone()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.confirmations(Confirmations::Finalized);
    let running = bench.start().await;
    chain.mine_empty(100);
    running.sees(chain.head()).await;
    running
        .until("it is final", |health| health.last_final.is_some_and(|last| last.number > 50))
        .await;
    chain.reorg(90, (0..100).map(|_| block()));
    let health = running.until("it is halted", |health| health.halted.is_some()).await;
    assert!(health.halted.unwrap().contains("which was final"));
    // At the start it is refused.
    drop(running);
    let mut running = bench.start().await;
    let ended = timeout(DEADLINE, &mut running.task).await.unwrap().unwrap();
    assert!(ended.unwrap_err().to_string().contains("this is another chain"));
}

#[tokio::test]
async fn a_final_block_that_another_node_has_is_not_taken_back() {
    let chain = Chain::new();
    let node = Node::scripted(chain.clone()).label("fork").endpoint("good");
    let node = node.upstream("other", chain.fork()).start().await.unwrap();
    let bench = Bench::new(&chain, node).await.at(&["fork", "good"]);
    let bench = bench.confirmations(Confirmations::Blocks(4));
    let running = bench.start().await;
    chain.mine(opens(HOST));
    running.sees(chain.mine_empty(20)).await;
    running.settles(17).await;
    let fork = Chain::new();
    fork.mine_empty(40);
    let rule = on("eth_getBlockByNumber").at("fork").param("/0", "latest");
    bench.node.add(
        rule.set("/result/hash", json!(B256::repeat_byte(9)))
            .set("/result/parentHash", json!(fork.block(5).unwrap().hash)),
    );
    running.sees(chain.mine_empty(1)).await;
    assert_eq!(running.facts().await, [fact(1, "opened", "final")]);
}
