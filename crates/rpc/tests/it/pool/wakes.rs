//! Wake-ups: early where a WebSocket works, and not missed where none does.

use std::time::Duration;

use fusebox_rpc::{ManualTime, Pool, PoolEvent};
use fusebox_testkit::{Chain, Door, Node, WS_OPEN, any, on};
use futures_util::StreamExt;
use serde_json::json;

use super::probes::Running;
use super::support::{events, passing, pool, settle, until};

const SECOND: Duration = Duration::from_secs(1);

fn both(time: &ManualTime, node: &Node, ws: &Node) -> Pool {
    pool(time)
        .provider_with(json!({ "name": "a", "http": node.url(), "ws": ws.ws_url() }))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_new_head_wakes_without_a_poll() {
    let chain = Chain::new();
    let node = Node::scripted(&chain).start().await.unwrap();
    let time = ManualTime::new();
    let pool = both(&time, &node, &node);
    let mut wakes = std::pin::pin!(pool.wakeups());
    let _running = Running::start(&pool);
    node.called("eth_subscribe", 1).await;
    for number in 1..=3 {
        // Before the subscription is answered a block is not told of.
        let wake = loop {
            let mined = chain.mine_empty(1);
            tokio::select! {
                wake = wakes.next() => break (wake.unwrap(), mined),
                () = async { for _ in 0..1_000 { tokio::task::yield_now().await } } => {}
            }
        };
        assert!(wake.0.number >= number && wake.0.number <= wake.1.number);
    }
    assert_eq!(fusebox_breaker::Clock::now(&time).as_nanos(), 0, "no time has passed");
}

#[tokio::test]
async fn case_13_a_socket_that_fails_is_no_loop_and_no_block_is_missed() {
    let chain = Chain::new();
    let node = Node::scripted(&chain).start().await.unwrap();
    let garbage = Node::scripted(&chain).start().await.unwrap();
    garbage.door(Door::Garbage).await;
    let time = ManualTime::new();
    let pool = both(&time, &node, &garbage);
    let mut wakes = std::pin::pin!(pool.wakeups());
    let _running = Running::start(&pool);
    for number in 1..=5 {
        chain.mine_empty(1);
        let wake = passing(&time, wakes.next()).await.unwrap();
        assert_eq!(wake.number, number);
    }
    for _ in 0..6_000 {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        time.advance(Duration::from_millis(10));
    }
    let connects = garbage.connections("main");
    assert!((5..=14).contains(&connects), "{connects} in {:?}", fusebox_breaker::Clock::now(&time));
}

/// Takes the connection away in one of four ways.
async fn break_it(way: usize, chain: &Chain, ws: &Node) {
    match way % 4 {
        0 => ws.cut_websockets(),
        1 => {
            let garbled = ws.add(on("newHeads").named("garbled").invalid_json());
            for frame in 1..=10 {
                chain.mine_empty(1);
                until("garbage", || ws.fired("garbled") >= frame).await;
            }
            ws.remove(garbled);
        }
        2 => {
            let bad = ws.add(on("newHeads").named("bad").bad_frame());
            chain.mine_empty(1);
            until("a bad frame", || ws.fired("bad") > 0).await;
            ws.remove(bad);
        }
        // The next one is accepted and dropped at once.
        _ => {
            ws.add(on(WS_OPEN).first(1).close_before_forwarding());
            ws.cut_websockets();
        }
    }
}

#[tokio::test]
async fn of_a_thousand_lost_connections_none_is_a_loop_and_none_costs_a_head() {
    const LOST: usize = 1_000;
    let chain = Chain::new();
    let node = Node::scripted(&chain).start().await.unwrap();
    // Looking through all calls, again and again, would take long.
    let ws = Node::scripted(&chain).rule(on("eth_subscribe").named("subscribed"));
    let ws = ws.start().await.unwrap();
    let time = ManualTime::new();
    // Probes would be in the air when time jumps. The poll comes within the shortest pause.
    let pool = pool(&time)
        .set("probe_interval", "100h")
        .set("block_time", "400ms")
        .provider_with(json!({ "name": "a", "http": node.url(), "ws": ws.ws_url() }))
        .build()
        .unwrap();
    let mut wakes = std::pin::pin!(pool.wakeups());
    let _running = Running::start(&pool);
    ws.called("eth_subscribe", 1).await;
    probed(&pool).await;
    let pause = || pool.status()[1].throttled_for;
    let (mut subscribed, mut ways) = (0, 0..);
    for lost in 1..=LOST {
        let connects = ws.connections("main");
        if ws.fired("subscribed") > subscribed {
            subscribed += 1;
            break_it(ways.next().unwrap(), &chain, &ws).await;
        }
        until("the connection's end", || !pause().is_zero()).await;
        // Doubled up to half a minute: none of these has held for long enough to be trusted.
        let least = Duration::from_millis(500 << (lost - 1).min(6)).min(30 * SECOND);
        assert!((least..=least * 12 / 10).contains(&pause()), "{lost}: {:?}", pause());
        // Nobody tells of this one.
        let head = chain.mine_empty(1).number;
        time.advance(pause() - Duration::from_millis(1));
        while wakes.next().await.unwrap().number < head {}
        assert_eq!(ws.connections("main"), connects, "{lost}: before its time");
        time.advance(Duration::from_millis(1));
        until("a connection", || ws.connections("main") > connects).await;
        until("its use or its end", || ws.fired("subscribed") > subscribed || !pause().is_zero())
            .await;
    }
    assert_eq!((ws.connections("main"), ways.start), (LOST as u64 + 1, LOST / 5 * 4));
    let hours = fusebox_breaker::Clock::now(&time).as_nanos() / 3_600_000_000_000;
    assert!((8..=10).contains(&hours), "{hours}");
    // And one that holds tells again.
    settle().await;
    let head = chain.mine_empty(1).number;
    while wakes.next().await.unwrap().number < head {}
}

/// Until the first probes over the WebSocket, which comes second, are answered: what follows are heads alone.
async fn probed(pool: &Pool) {
    while pool.status()[1].classes[1].latency.is_none() {
        tokio::task::yield_now().await;
    }
    settle().await;
}

#[tokio::test]
async fn ten_frames_in_a_row_that_cannot_be_read_end_the_connection() {
    let chain = Chain::new();
    let node = Node::scripted(&chain)
        .rule(on("newHeads").named("garbled").invalid_json())
        .start()
        .await
        .unwrap();
    let time = ManualTime::new();
    let pool = both(&time, &node, &node);
    let _running = Running::start(&pool);
    node.called("eth_subscribe", 1).await;
    probed(&pool).await;
    let connects = || node.calls("eth_subscribe").len();
    let garble = async |frames: u64| {
        let until = node.fired("garbled") + frames;
        while node.fired("garbled") < until {
            chain.mine_empty(1);
            tokio::task::yield_now().await;
        }
        settle().await;
    };
    garble(9).await;
    time.advance(SECOND);
    garble(0).await;
    assert_eq!(connects(), 1, "nine");
    garble(1).await;
    time.advance(SECOND);
    passing(&time, node.called("eth_subscribe", 2)).await;
}

#[tokio::test]
async fn a_silent_socket_is_given_up_after_a_minute() {
    let chain = Chain::new();
    let node = Node::scripted(&chain).start().await.unwrap();
    let time = ManualTime::new();
    // Probes would be heard.
    let pool = pool(&time)
        .set("probe_interval", "1h")
        .provider_with(json!({ "name": "a", "http": node.url(), "ws": node.ws_url() }))
        .build()
        .unwrap();
    let _running = Running::start(&pool);
    node.called("eth_subscribe", 1).await;
    probed(&pool).await;
    let connects = node.connections("main");
    for _ in 0..59 {
        time.advance(SECOND);
        settle().await;
    }
    assert_eq!(node.connections("main"), connects);
    passing(&time, async {
        while node.connections("main") == connects {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_subscription_that_fell_silent_is_renewed_and_its_socket_kept() {
    let chain = Chain::new();
    let node = Node::scripted(&chain).start().await.unwrap();
    let time = ManualTime::new();
    let pool = both(&time, &node, &node);
    let _running = Running::start(&pool);
    node.called("eth_subscribe", 1).await;
    probed(&pool).await;
    let connects = node.connections("main");
    while node.calls("eth_subscribe").len() < 2 {
        time.advance(SECOND);
        settle().await;
    }
    let passed = fusebox_breaker::Clock::now(&time).as_nanos();
    assert!((60..=62).contains(&(passed / 1_000_000_000)), "{passed}");
    assert_eq!(node.calls("eth_unsubscribe").len(), 1, "no subscription is left behind");
    assert_eq!(node.connections("main"), connects, "probes are answered on it");
}

#[tokio::test]
async fn a_socket_of_another_chain_wakes_nobody() {
    let chain = Chain::new();
    let node = Node::scripted(&chain).start().await.unwrap();
    let wrong = Node::scripted(&chain).rule(any().chain_id(5)).start().await.unwrap();
    let time = ManualTime::new();
    let pool = both(&time, &node, &wrong);
    let _running = Running::start(&pool);
    wrong.called("eth_chainId", 1).await;
    let told = passing(&time, async {
        loop {
            let told = events(&pool);
            if told.iter().any(|event| matches!(event, PoolEvent::WrongChain { .. })) {
                return told;
            }
            tokio::task::yield_now().await;
        }
    });
    told.await;
    assert_eq!(wrong.calls("eth_chainId").len(), 1);
    assert_eq!(pool.status()[1].right_chain, Some(false));
    wrong.clear();
    pool.admin("a").unwrap().set_mode(fusebox_breaker::Mode::Normal);
    passing(&time, wrong.called("eth_chainId", 2)).await;
}
