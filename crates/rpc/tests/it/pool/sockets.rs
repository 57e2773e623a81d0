//! Requests over WebSockets.

use std::time::Duration;

use fusebox_breaker::{Clock, State};
use fusebox_rpc::{
    CallOptions, Category, ManualTime, Pool, PoolError, PoolEvent, Rejection, Transport,
};
use fusebox_testkit::{Door, HttpReply, Node, RpcError, Transport as Over, WS_OPEN, on};
use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use super::batches::{batch, three};
use super::support::{ask, call, error, events, node, node_error, opened, passing, pool, settle};

const SECOND: Duration = Duration::from_secs(1);

/// A pool of WebSockets alone.
fn of(time: &ManualTime, nodes: &[(&str, &Node)]) -> Pool {
    let add = |pool: fusebox_rpc::PoolBuilder, (name, node): &(&str, &Node)| {
        pool.provider_with(json!({ "name": name, "ws": node.ws_url() }))
    };
    nodes.iter().fold(pool(time), add).build().unwrap()
}

async fn one(node: &Node) -> (ManualTime, Pool) {
    let time = ManualTime::new();
    let pool = of(&time, &[("a", node)]);
    ask(&pool, "eth_blockNumber", json!([])).await.unwrap();
    (time, pool)
}

#[tokio::test]
async fn a_websocket_alone_serves_everything() {
    let node = node().start().await.unwrap();
    let (_, pool) = one(&node).await;
    assert_eq!(pool.ready().await, Ok(()));
    assert_eq!(call(&pool).await.unwrap(), "0x");
    let logs = ask(&pool, "eth_getLogs", json!([{ "fromBlock": "0x1", "toBlock": "0x64" }])).await;
    assert_eq!(logs.unwrap().as_array().unwrap().len(), 1);
    let pinned = pool.pin().unwrap().with(CallOptions::new().whole_batch());
    for client in [pool.client(), pinned.client()] {
        let answers = batch(&client, &three()).await;
        assert_eq!(answers, [Ok(json!("0x0")), Ok(json!("0x")), Ok(json!("0x0"))]);
    }
    let request = |method: &str| node.calls(method).last().unwrap().request;
    assert_eq!(request("eth_call"), request("eth_getBalance"), "a batch is one message");
    assert!(node.all_calls().iter().all(|call| call.transport == Over::WebSocket));
    assert_eq!(node.connections("main"), 1);
    let status = &pool.status()[0];
    assert_eq!(
        (status.transport, status.head, status.right_chain),
        (Transport::Ws, Some(100), Some(true))
    );
}

/// Each connection asks for the chain itself, so the question of `ready` may never be written.
#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_of_another_chain_is_wrong_at_the_first_question() {
    for _ in 0..20 {
        let wrong = node().rule(on("eth_chainId").answer("0x2")).start().await.unwrap();
        let time = ManualTime::new();
        let both = json!({ "name": "a", "http": wrong.url(), "ws": wrong.ws_url() });
        let both = pool(&time).provider_with(both).build().unwrap();
        for pool in [of(&time, &[("a", &wrong)]), both] {
            assert_eq!(pool.ready().await, Err(Rejection::ForcedOpen));
        }
    }
}

#[tokio::test]
async fn answers_find_their_calls_in_whatever_order_they_come() {
    let node = node()
        .rule(on("eth_call").answer_by(|params| Some(Ok(params[0]["n"].clone()))))
        .rule(on("eth_call").every(2).delay(Duration::from_millis(20)))
        .start()
        .await
        .unwrap();
    let (_, pool) = one(&node).await;
    let answers = join_all((0..200).map(|n| ask(&pool, "eth_call", json!([{ "n": n }])))).await;
    for (n, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), n);
    }
    assert_eq!(node.connections("main"), 1);
}

#[tokio::test]
async fn whatever_a_websocket_does_wrong_another_endpoint_answers() {
    for (what, rule) in [
        ("closed", on("eth_call").close_before_forwarding()),
        ("closed late", on("eth_call").close_after_forwarding()),
        ("half a message", on("eth_call").truncate(10)),
        ("no frame", on("eth_call").bad_frame()),
        ("rate", on("eth_call").error(RpcError::new(-32005, "rate limit exceeded"))),
        ("auth", on("eth_call").error(RpcError::new(-32600, "Must be authenticated!"))),
        ("behind", on("eth_call").error(RpcError::new(-32000, "header not found"))),
        ("unknown", on("eth_call").error(RpcError::new(-1, "ouch"))),
        ("no id", on("eth_call").error(RpcError::new(-32000, "unavailable")).remove("/id")),
    ] {
        let (bad, good) = (node().rule(rule).start().await.unwrap(), node().start().await.unwrap());
        let time = ManualTime::new();
        let pool = of(&time, &[("bad", &bad), ("good", &good)]);
        call(&pool).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((bad.calls("eth_call").len(), good.calls("eth_call").len()), (1, 1), "{what}");
    }
}

#[tokio::test]
async fn what_cannot_be_paired_with_its_call_ends_at_the_deadline() {
    for rule in [on("eth_call").invalid_json(), on("eth_call").wrong_id(), on("eth_call").hang()] {
        let (bad, good) = (node().rule(rule).start().await.unwrap(), node().start().await.unwrap());
        let time = ManualTime::new();
        let pool = of(&time, &[("bad", &bad), ("good", &good)]);
        passing(&time, call(&pool)).await.unwrap();
        let streak = pool.status()[0].classes[1].breaker.total_streak;
        assert_eq!((good.calls("eth_call").len(), streak), (1, 1));
        assert!(time.now().as_nanos() >= (5 * SECOND).as_nanos() as u64);
        bad.clear();
        call(&pool.with(CallOptions::new().not("good"))).await.unwrap();
        assert_eq!(bad.connections("main"), 1, "the connection is as good as before");
    }
}

#[tokio::test]
async fn a_close_fails_all_that_wait_and_sends_nothing_again() {
    let node = node().rule(on("evm_mine").hang()).start().await.unwrap();
    let (_, pool) = one(&node).await;
    let waiting: Vec<_> = (0..3)
        .map(|n| {
            let pool = pool.clone();
            tokio::spawn(async move { ask(&pool, "evm_mine", json!([n])).await })
        })
        .collect();
    node.called("evm_mine", 3).await;
    node.cut_websockets();
    for asked in waiting {
        let PoolError::Exhausted { attempts } = error(asked.await.unwrap()) else { panic!() };
        assert_eq!((attempts.len(), attempts[0].category), (1, Category::Network));
        assert_eq!(attempts[0].transport, Transport::Ws);
    }
    settle().await;
    assert_eq!((node.calls("evm_mine").len(), node.connections("main")), (3, 1));
    assert_eq!(pool.status()[0].classes[0].breaker.total_streak, 0, "each failure counts once");
}

#[tokio::test]
async fn a_lost_connection_is_made_again_after_its_pause_and_not_before() {
    let node = node().start().await.unwrap();
    let (time, pool) = one(&node).await;
    node.cut_websockets();
    while pool.status()[0].throttled_for.is_zero() {
        tokio::task::yield_now().await;
    }
    let hasty = pool.with(CallOptions::new().deadline(Duration::from_millis(500)));
    let rejected = error(call(&hasty).await);
    assert!(matches!(rejected, PoolError::Rejected(Rejection::Throttled { .. })), "{rejected}");
    assert_eq!(node.connections("main"), 1);
    assert_eq!(pool.status()[0].classes[0].breaker.total_streak, 1, "a disconnect is a failure");
    let before = time.now();
    passing(&time, call(&pool)).await.unwrap();
    assert!(time.now().since(before) >= Duration::from_millis(500));
    assert_eq!(node.connections("main"), 2);
    let ids = node.calls("eth_chainId");
    assert_eq!(ids.len(), 3, "once by each connection, once for the endpoint");
}

#[tokio::test]
async fn a_connection_that_nobody_needs_is_closed_and_costs_nothing() {
    let node = node().start().await.unwrap();
    let (time, pool) = one(&node).await;
    time.advance(60 * SECOND);
    settle().await;
    for connections in [2, 2] {
        call(&pool).await.unwrap();
        assert_eq!(node.connections("main"), connections);
    }
    assert_eq!(pool.status()[0].classes[0].breaker.total_streak, 0);
}

#[tokio::test]
async fn a_good_connection_ends_the_streak_of_lost_ones_after_half_a_minute() {
    let node = node().start().await.unwrap();
    let (time, pool) = one(&node).await;
    let streak = || pool.status()[0].classes[0].breaker.total_streak;
    node.cut_websockets();
    while streak() == 0 {
        tokio::task::yield_now().await;
    }
    time.advance(SECOND);
    call(&pool).await.unwrap();
    for (seconds, want) in [(29, 1), (1, 0)] {
        time.advance(seconds * SECOND);
        settle().await;
        assert_eq!(streak(), want);
    }
}

#[tokio::test]
async fn http_goes_first_and_the_websocket_when_it_cannot() {
    let node = node().start().await.unwrap();
    let time = ManualTime::new();
    let both = json!({ "name": "a", "http": node.url(), "ws": node.ws_url() });
    for strategy in ["priority", "load_balanced", "fastest", "latency_weighted"] {
        let pool =
            pool(&time).set("strategy", strategy).provider_with(both.clone()).build().unwrap();
        for _ in 0..20 {
            call(&pool).await.unwrap();
        }
        assert!(node.calls("eth_call").iter().all(|call| call.transport == Over::Http));
    }
    let pool = pool(&time).provider_with(both).build().unwrap();
    let gone = node.add(on("eth_call").over(Over::Http).http(HttpReply::new(500)));
    for _ in 0..10 {
        call(&pool).await.unwrap();
    }
    let over = |over| node.calls("eth_call").iter().filter(|call| call.transport == over).count();
    assert_eq!((over(Over::Http), over(Over::WebSocket)), (85, 10), "five failures open it");
    let states: Vec<_> = pool.status().iter().map(|end| end.classes[1].breaker.state).collect();
    assert_eq!(states, [State::Open, State::Closed]);
    node.remove(gone);
    time.advance(60 * SECOND);
    for _ in 0..3 {
        call(&pool).await.unwrap();
        time.advance(10 * SECOND);
    }
    assert_eq!(pool.status()[0].classes[1].breaker.state, State::Closed, "it comes back");
}

#[tokio::test]
async fn a_refused_upgrade_is_judged_by_what_it_says() {
    let limited = HttpReply::new(429).header("retry-after", "60");
    let (bad, good) = (
        node().rule(on(WS_OPEN).http(limited)).start().await.unwrap(),
        node().start().await.unwrap(),
    );
    let time = ManualTime::new();
    let pool = of(&time, &[("bad", &bad), ("good", &good)]);
    for _ in 0..10 {
        call(&pool).await.unwrap();
    }
    assert_eq!(bad.connections("main"), 1);
    assert!(pool.status()[0].throttled_for >= 60 * SECOND);
    assert!(opened(&pool).is_empty());
}

#[tokio::test]
async fn refused_credentials_and_pages_in_place_of_an_upgrade_open_the_endpoint() {
    // A body that looks like an answer is none: nothing was asked yet.
    let fake = r#"{"jsonrpc":"2.0","id":1,"result":"0x7a69"}"#;
    let invalid = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params"}}"#;
    for (reply, threshold) in [
        (HttpReply::new(401), 2),
        (HttpReply::new(200).body(fake), 5),
        (HttpReply::new(400).body(invalid), 5),
        (HttpReply::new(502).body("<html>bad gateway"), 5),
    ] {
        let bad = node().rule(on(WS_OPEN).http(reply)).start().await.unwrap();
        let time = ManualTime::new();
        let pool = pool(&time)
            .breaker("category_thresholds", json!({ "auth": 2 }))
            .provider_with(json!({ "name": "bad", "ws": bad.ws_url() }))
            .build()
            .unwrap();
        while pool.status()[0].classes[0].breaker.state == State::Closed {
            passing(&time, call(&pool)).await.unwrap_err();
            time.advance(40 * SECOND);
        }
        assert_eq!(bad.connections("main"), threshold);
    }
}

#[tokio::test]
async fn a_transaction_whose_connection_is_never_made_goes_elsewhere() {
    let (refused, good) = (
        node().start().await.unwrap(),
        node().rule(on("evm_mine").answer("0x0")).start().await.unwrap(),
    );
    let time = ManualTime::new();
    let pool = of(&time, &[("refused", &refused), ("good", &good)]);
    refused.door(Door::Refused).await;
    ask(&pool, "evm_mine", json!([])).await.unwrap();
    let wrong = node().rule(on("eth_chainId").answer("0x5")).start().await.unwrap();
    let pool = of(&time, &[("wrong", &wrong), ("good", &good)]);
    ask(&pool, "evm_mine", json!([])).await.unwrap();
    wrong.assert_never("evm_mine");
    assert!(events(&pool).iter().any(|event| matches!(event, PoolEvent::WrongChain { .. })));
}

#[tokio::test]
async fn a_connection_to_another_chain_gets_no_call_though_the_one_before_was_right() {
    let node = node().start().await.unwrap();
    let (time, pool) = one(&node).await;
    node.add(on("eth_chainId").answer("0x5"));
    node.cut_websockets();
    while pool.status()[0].throttled_for.is_zero() {
        tokio::task::yield_now().await;
    }
    passing(&time, call(&pool)).await.unwrap_err();
    node.assert_never("eth_call");
    settle().await;
    assert_eq!(pool.status()[0].right_chain, Some(false));
    assert_eq!(error(call(&pool).await), PoolError::Rejected(Rejection::ForcedOpen));
}

#[tokio::test]
async fn a_nodes_own_error_comes_back_unchanged() {
    let reverted = RpcError::new(3, "execution reverted: no").data("0x08c379a0");
    let node = node().rule(on("eth_call").error(reverted)).start().await.unwrap();
    let (_, pool) = one(&node).await;
    assert_eq!(node_error(call(&pool).await), (3, "execution reverted: no".to_owned()));
    let _: Value = ask(&pool, "eth_blockNumber", json!([])).await.unwrap();
}

#[tokio::test]
async fn a_lost_wakeup_line_is_found_when_there_is_no_subscription() {
    let node = node()
        .rule(on("eth_subscribe").error(RpcError::new(-32601, "no subscriptions here")))
        .start()
        .await
        .unwrap();
    let (time, pool) = one(&node).await;
    let _running = super::probes::Running::start(&pool);
    node.called("eth_subscribe", 1).await;
    for _ in 0..30 {
        call(&pool).await.unwrap();
        time.advance(SECOND);
        settle().await;
    }
    assert_eq!((node.connections("main"), node.calls("eth_subscribe").len()), (1, 1));
}

/// A node that announces an answer of so many bytes, and never gets to sending it.
async fn long_winded(bytes: u64) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            let asked: Value = serde_json::from_slice(&message.into_data()).unwrap();
            if asked["method"] == "eth_chainId" {
                let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": "0x7a69" });
                socket.send(Message::text(answer.to_string())).await.unwrap();
                continue;
            }
            // Final, text; a length of 127 says that 8 bytes with the length follow.
            let announced = [&[0x81, 127][..], &bytes.to_be_bytes()].concat();
            socket.get_mut().write_all(&announced).await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn an_answer_longer_than_is_read_is_a_limit_of_the_endpoint() {
    const MAX: u64 = 64 << 20;
    for (bytes, want) in [(MAX, Category::Timeout), (MAX + 1, Category::Capability)] {
        let time = ManualTime::new();
        let url = long_winded(bytes).await;
        let pool = pool(&time).provider_with(json!({ "name": "a", "ws": url })).build().unwrap();
        let ended = error(passing(&time, call(&pool)).await);
        let PoolError::Exhausted { attempts } = ended else { panic!("{ended}") };
        assert_eq!(attempts[0].category, want, "{bytes}");
    }
}
