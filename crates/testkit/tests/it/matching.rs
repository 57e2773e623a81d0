//! Which calls a rule takes.

use crate::support::{Socket, ask, whole};
use fusebox_testkit::{Chain, ManualClock, Node, Rule, StartError, Transport, any, on};
use serde_json::{Value, json};
use std::{panic::AssertUnwindSafe, time::Duration};

async fn node(rule: Rule) -> Node {
    Node::scripted(Chain::new()).rule(rule).start().await.unwrap()
}

/// Which of `count` calls were answered by the rule.
async fn taken(node: &Node, count: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    for nth in 1..=count {
        if ask(&node.url(), "eth_chainId", json!([])).await == Value::Null {
            taken.push(nth);
        }
    }
    taken
}

#[tokio::test]
async fn turns_are_counted_from_one() {
    let rule = || on("eth_chainId");
    assert_eq!(taken(&node(rule().nth(3).null()).await, 6).await, [3]);
    assert_eq!(taken(&node(rule().first(2).null()).await, 6).await, [1, 2]);
    assert_eq!(taken(&node(rule().after(4).null()).await, 6).await, [5, 6]);
    assert_eq!(taken(&node(rule().every(3).null()).await, 6).await, [3, 6]);
}

#[tokio::test]
async fn chance_follows_from_the_seed() {
    let rule = || on("eth_chainId").chance(0.3).null();
    let of_seed = async |seed| {
        let node = Node::scripted(Chain::new()).rule(rule()).seed(seed).start().await.unwrap();
        assert_eq!(node.seed().0, seed);
        taken(&node, 60).await
    };
    let first = of_seed(1).await;
    assert_eq!(first, of_seed(1).await);
    assert_ne!(first, of_seed(2).await);
    assert!((5..35).contains(&first.len()), "{first:?} is not about a third of 60");
    assert_eq!(taken(&node(on("eth_chainId").chance(0.0).null()).await, 9).await.len(), 0);
    assert_eq!(taken(&node(on("eth_chainId").chance(1.0).null()).await, 9).await.len(), 9);
}

#[tokio::test]
async fn parameters_are_looked_at() {
    let node = node(on("eth_getBalance").param("/1", "latest").null()).await;
    node.add(on("eth_getBalance").params(|params| params[1] == "0x0").answer("0x9"));
    let zero = "0x0000000000000000000000000000000000000000";
    assert_eq!(ask(&node.url(), "eth_getBalance", json!([zero, "latest"])).await, Value::Null);
    assert_eq!(ask(&node.url(), "eth_getBalance", json!([zero, "0x0"])).await, "0x9");
    assert_eq!(ask(&node.url(), "eth_getBalance", json!([zero, "earliest"])).await, "0x0");
}

#[tokio::test]
async fn endpoints_are_told_apart_by_label_and_transport() {
    let builder = Node::scripted(Chain::new()).label("a").endpoint("b");
    let node = builder.rule(any().at("b").null()).start().await.unwrap();
    assert_eq!(ask(&node.url_of("a"), "eth_chainId", json!([])).await, "0x7a69");
    assert_eq!(ask(&node.url_of("b"), "eth_chainId", json!([])).await, Value::Null);
    let labels: Vec<_> = node.calls("eth_chainId").into_iter().map(|call| call.endpoint).collect();
    assert_eq!(labels, ["a", "b"]);

    node.add(any().over(Transport::WebSocket).answer("over ws"));
    let mut socket = Socket::open(&node.ws_url_of("a")).await.unwrap();
    assert_eq!(socket.ask("eth_chainId", json!([])).await, "over ws");
    assert_eq!(ask(&node.url(), "eth_chainId", json!([])).await, "0x7a69");
    assert_eq!(node.calls("eth_chainId")[2].transport, Transport::WebSocket);
}

#[tokio::test]
async fn a_time_begins_with_its_start_and_ends_before_its_end() {
    let clock = ManualClock::new(Duration::from_secs(77));
    let second = Duration::from_secs(1);
    let rule = on("eth_chainId").during(10 * second..20 * second).null();
    let builder = Node::scripted(Chain::new()).clock(clock.clone());
    let node = builder.rule(rule).start().await.unwrap();
    let nanosecond = Duration::from_nanos(1);
    let mut seen = Vec::new();
    for step in [10 * second - nanosecond, nanosecond, 10 * second - nanosecond, nanosecond] {
        clock.advance(step);
        seen.push(ask(&node.url(), "eth_chainId", json!([])).await == Value::Null);
    }
    assert_eq!(seen, [false, true, true, false]);
    assert_eq!(node.calls("eth_chainId")[3].at, 97 * second);
}

#[tokio::test]
async fn rules_add_up_in_their_order() {
    let node = node(on("eth_chainId").set("/result", "first").set("/extra", 1)).await;
    node.add(on("eth_chainId").set("/result", "second"));
    let answer = whole(&node.url(), "eth_chainId", json!([])).await;
    assert_eq!((&answer["result"], &answer["extra"]), (&json!("second"), &json!(1)));
}

#[tokio::test]
async fn calls_are_recorded_and_never_is_asserted() {
    let node = node(on("eth_chainId").nth(2).null().named("second")).await;
    node.assert_never("eth_chainId");
    assert_eq!(taken(&node, 3).await, [2]);
    assert_eq!(node.fired("second"), 1);
    assert_eq!(node.called("eth_chainId", 3).await.len(), 3);
    node.assert_never("eth_newFilter");
    let panics = |check: &dyn Fn()| std::panic::catch_unwind(AssertUnwindSafe(check)).is_err();
    assert!(panics(&|| node.assert_never("eth_chainId")));
    assert!(panics(&|| assert_eq!(node.fired("no such name"), 0)));
}

#[tokio::test]
async fn a_rule_that_names_what_is_not_there_does_not_start() {
    let upstream = Node::scripted(Chain::new()).rule(any().pin_to("fork")).start().await;
    let error = upstream.unwrap_err().to_string();
    assert_eq!(error, r#"a rule names upstream "fork"; there are ["main"]"#);
    let endpoint = Node::scripted(Chain::new()).label("a").rule(any().at("main")).start().await;
    assert!(matches!(endpoint, Err(StartError::Unknown { kind: "endpoint", .. })), "{endpoint:?}");
    let proxy = Node::proxy("http://127.0.0.1:1").block_time(Duration::from_secs(1)).start().await;
    assert!(matches!(proxy, Err(StartError::NotScripted)), "{proxy:?}");
}

#[test]
fn two_endpoints_can_not_have_one_label() {
    let builder = || Node::scripted(Chain::new()).endpoint("b");
    assert!(std::panic::catch_unwind(|| builder().endpoint("b")).is_err());
    assert!(std::panic::catch_unwind(|| builder().label("b")).is_err());
}
