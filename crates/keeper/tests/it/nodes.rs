//! Several nodes, of which some misbehave: the same output as with one that does not.

use crate::support::{COOLDOWN, Chain, Running, anvil, keeper_output, stderr, stdout};
use alloy::{primitives::B256, providers::Provider};
use fusebox_testkit::{Door, HttpReply, Node, NodeBuilder, RangeWording, RpcError, any, on};
use serde_json::{Value, json};

/// As long as the keys of providers are.
const KEY: &str = "5ecre7-0123456789abcdef-5ecre7";

/// A node in front of the chain, under the label `good`.
fn good(chain: &Chain) -> NodeBuilder {
    Node::proxy(chain.url()).label("good")
}

/// The keeper on the endpoints with these labels.
fn watch(chain: &Chain, node: &Node, labels: &[&str], more: &[&str]) -> Running {
    let mut args =
        vec!["run".to_owned(), "--json".into(), "--watch".into(), chain.host.to_string()];
    for label in labels {
        args.extend(["--rpc-url".to_owned(), node.url_of(label)]);
    }
    Running::start(args.iter().map(String::as_str).chain(more.iter().copied()))
}

async fn mine(chain: &Chain, blocks: u64) {
    let _: Value = chain.provider.raw_request("anvil_mine".into(), (blocks, 1)).await.unwrap();
}

fn status<'a>(host: &'a str, urls: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["status", "--watch", host];
    urls.iter().for_each(|url| args.extend(["-r", url]));
    args.extend(more);
    args
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_node_before_a_good_one_changes_no_line() {
    const BAD: [&str; 11] = [
        "dead",
        "silent",
        "limited",
        "busy",
        "stale",
        "foreign",
        "mute",
        "null logs",
        "null blocks",
        "other blocks",
        "broken",
    ];
    let chain = Chain::start().await;
    // Two outages far enough in the past to be read in ranges.
    for _ in 0..2 {
        chain.trip().await;
        chain.recover().await;
        mine(&chain, 400).await;
    }
    let busy = HttpReply::new(429).header("retry-after", "60");
    let limited = RpcError::new(-32005, "rate limit exceeded, retry in 60s");
    let wrong = json!("0x1");
    let mut node = good(&chain)
        .rule(any().at("limited").error(limited).named("limited"))
        .rule(any().at("busy").http(busy).named("busy"))
        .rule(any().at("stale").stale(20).named("stale"))
        .rule(any().at("foreign").chain_id(1).named("foreign"))
        .rule(on("eth_getLogs").at("mute").omit_logs().named("mute"))
        .rule(on("eth_getLogs").at("null logs").null().named("null logs"))
        .rule(on("eth_getBlockByNumber").at("null blocks").null().named("null blocks"))
        .rule(
            on("eth_getBlockByNumber")
                .at("other blocks")
                .set("/result/number", wrong)
                .named("other blocks"),
        )
        .rule(any().at("broken").status(502).named("broken"));
    for label in BAD {
        node = node.endpoint(label);
    }
    let node = node.start().await.unwrap();
    node.door_of("dead", Door::Refused).await;
    node.door_of("silent", Door::Silent).await;

    let more = ["--from-block", "0", "--chain", "31337"];
    let reference = watch(&chain, &node, &["good"], &more);
    let keepers = BAD.map(|bad| (bad, watch(&chain, &node, &[bad, "good"], &more)));
    let mut expected = Vec::new();
    let mut lines = |count: usize| {
        for _ in 0..count {
            let line = reference.line();
            for (bad, keeper) in &keepers {
                assert_eq!(keeper.line(), line, "{bad}");
            }
            expected.push(serde_json::from_str::<Value>(&line).unwrap()["type"].clone());
        }
    };
    lines(6);
    chain.trip().await;
    lines(1);
    mine(&chain, 5).await;
    chain.recover().await;
    lines(2);
    let outage = ["breaker.opened", "breaker.half_open", "breaker.closed"];
    assert_eq!(expected, outage.repeat(3));
    for (bad, keeper) in keepers {
        assert_eq!(keeper.stop("TERM"), (Some(0), vec![]), "{bad}");
        if !matches!(bad, "dead" | "silent") {
            assert!(node.fired(bad) > 0, "{bad} never went wrong");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_killed_in_turn_lose_and_repeat_nothing() {
    let chain = Chain::start().await;
    let node = good(&chain).endpoint("second").endpoint("third").start().await.unwrap();
    let labels = ["good", "second", "third"];
    let keeper = watch(&chain, &node, &labels, &[]);
    keeper.says("is closed at block");
    for dead in [&["good"][..], &["good", "second"], &["third"], &["second", "third"], &[]] {
        for label in labels {
            let door = if dead.contains(&label) { Door::Refused } else { Door::Open };
            node.door_of(label, door).await;
        }
        let opened = chain.trip().await;
        let line = keeper.json();
        assert_eq!(
            (&line["type"], &line["block"]["number"]),
            (&"breaker.opened".into(), &opened.into())
        );
        let closed = chain.recover().await;
        assert_eq!(keeper.json()["type"], "breaker.half_open");
        assert_eq!(keeper.json()["block"]["number"], closed);
    }
    // All at once is an outage, and is told.
    for label in labels {
        node.door_of(label, Door::Refused).await;
    }
    let said = keeper.says("no answer from");
    for label in labels {
        assert!(said.contains(&node.url_of(label)), "{said}");
    }
    chain.trip().await;
    node.door_of("third", Door::Open).await;
    keeper.says("answers again");
    assert_eq!(keeper.json()["type"], "breaker.opened");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lags_takes_nothing_back_when_it_is_the_last_one() {
    let chain = Chain::start().await;
    mine(&chain, 300).await;
    let node =
        good(&chain).endpoint("stale").rule(any().at("stale").stale(20)).start().await.unwrap();
    let keeper = watch(&chain, &node, &["good", "stale"], &[]);
    keeper.says("is closed at block");
    chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");

    let before = node.calls("eth_getBlockByNumber").len();
    node.door_of("good", Door::Refused).await;
    // It is asked for its tip, several times over, which is far below what was told.
    node.called("eth_getBlockByNumber", before + 6).await;
    // Once there are more blocks it gets to the next event by itself.
    chain.recover().await;
    mine(&chain, 30).await;
    assert_eq!(keeper.json()["type"], "breaker.half_open");
    assert_eq!(keeper.json()["type"], "breaker.closed");
    node.door_of("good", Door::Open).await;
    chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_begun_anew_takes_nothing_back_while_another_has_the_chain() {
    let chain = Chain::start().await;
    // Two that begin within one second have their first blocks in common, and are forks of one chain.
    let anew = Chain::on(anvil().args(["--timestamp", "1700000000"]).spawn()).await;
    for _ in 0..3 {
        anew.trip().await;
        anew.recover().await;
    }
    let node = good(&chain).endpoint("anew").upstream("anew", anew.url()).start().await.unwrap();
    let keeper = watch(&chain, &node, &["anew", "good"], &[]);
    keeper.says("is closed at block");
    chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");
    node.add(any().at("anew").pin_to("anew").named("anew"));
    let closed = chain.recover().await;
    assert_eq!(keeper.json()["type"], "breaker.half_open");
    assert_eq!(keeper.json()["block"]["number"], closed);
    assert!(node.fired("anew") > 0);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_node_that_lags_is_a_start_at_the_tip() {
    let chain = Chain::start().await;
    chain.trip().await;
    chain.recover().await;
    mine(&chain, 5).await;
    let node =
        good(&chain).endpoint("stale").rule(any().at("stale").stale(8)).start().await.unwrap();
    let keeper = watch(&chain, &node, &["stale", "good"], &[]);
    keeper.says("is closed at block");
    let opened = chain.trip().await;
    assert_eq!(keeper.json()["block"]["number"], opened, "what came before the start is not told");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_chain_is_named_and_left_out_or_refused() {
    let chain = Chain::start().await;
    let host = chain.host.to_string();
    let node = good(&chain)
        .endpoint("foreign")
        .endpoint("dead")
        .rule(any().at("foreign").chain_id(5))
        .start()
        .await
        .unwrap();
    node.door_of("dead", Door::Refused).await;
    let with_key = |label: &str| format!("{}/v2/{KEY}", node.url_of(label));
    let (right, wrong, dead) = (with_key("good"), with_key("foreign"), with_key("dead"));
    let wrong_host = node.url_of("foreign");
    let run = |urls: &[&str], more: &[&str]| {
        let output = keeper_output(status(&host, urls, more));
        let err = stderr(&output);
        assert!(!format!("{err}{}", stdout(&output)).contains(KEY), "{err}");
        (output.status.code(), err)
    };

    let (code, err) = run(&[&wrong, &right], &["--chain", "31337"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("warning: the node at {wrong_host} is on chain 5")), "{err}");

    let (code, err) = run(&[&right, &wrong], &[]);
    assert_eq!(code, Some(4), "{err}");
    for part in [&*wrong_host, "chain 5", &node.url_of("good"), "chain 31337", "--chain"] {
        assert!(err.contains(part), "no {part} in {err}");
    }

    let (code, err) = run(&[&wrong, &wrong], &["--chain", "31337"]);
    assert_eq!(code, Some(4), "{err}");
    assert_eq!(err.matches(&*wrong_host).count(), 1, "given twice, it is one node: {err}");

    // The one that does not answer may be right.
    let (code, err) = run(&[&wrong, &dead], &["--chain", "31337"]);
    assert_eq!(code, Some(6), "{err}");
    let (code, err) = run(&[&dead, &right], &[]);
    assert_eq!((code, &*err), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variable_holds_several_separated_by_commas() {
    let chain = Chain::start().await;
    let urls = format!("http://127.0.0.1:1,{}", chain.url());
    let host = chain.host.to_string();
    let output =
        crate::support::keeper(["status", "--watch", &host]).env("ETH_RPC_URL", urls).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_a_node_echoes_is_not_shown() {
    let chain = Chain::start().await;
    let host = chain.host.to_string();
    let echo = RpcError::new(-32000, format!("no such plan: http://127.0.0.1/v2/{KEY}?k={KEY}"));
    for method in ["eth_getBlockByNumber", "eth_getCode", "eth_getStorageAt"] {
        let node = good(&chain).rule(on(method).error(echo.clone())).start().await.unwrap();
        let url = format!("{}/v2/{KEY}", node.url());
        let output = keeper_output(status(&host, &[&url], &[]));
        let shown = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!output.status.success(), "{method}");
        assert!(shown.contains("no such plan") && !shown.contains(KEY), "{method}: {shown}");

        let running = Running::start(["run", "-r", &url, "--watch", &host, "--json"]);
        let said = running.says("no such plan");
        assert!(!said.contains(KEY), "{method}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_no_answer() {
    let chain = Chain::start().await;
    let endless = HttpReply::new(200).body(" ".repeat(65 * 1024 * 1024));
    let node = good(&chain).rule(on("eth_getCode").http(endless)).start().await.unwrap();
    let host = chain.host.to_string();
    let output = keeper_output(status(&host, &[&node.url()], &[]));
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(stderr(&output).contains("too large an answer"), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_with_more_logs_than_a_node_gives_is_read_from_its_receipts() {
    let chain = Chain::start().await;
    let too_many = RpcError::new(-32005, "query returned more than 10000 results");
    let node = good(&chain).rule(on("eth_getLogs").error(too_many)).start().await.unwrap();
    let keeper = watch(&chain, &node, &["good"], &[]);
    keeper.says("is closed at block");
    let opened = chain.trip().await;
    assert_eq!(keeper.json()["block"]["number"], opened);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));

    let unknown = RpcError::new(-32601, "the method eth_getBlockReceipts does not exist");
    node.add(on("eth_getBlockReceipts").error(unknown));
    let keeper = watch(&chain, &node, &["good"], &["--from-block", "2"]);
    let said = keeper.says("more logs than the node gives at once");
    assert!(said.contains("block 2 ") && said.contains("one more --rpc-url"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_short_ranges_is_asked_in_pieces() {
    let chain = Chain::start().await;
    let mut expected = vec![];
    for _ in 0..2 {
        expected.push(chain.trip().await);
        expected.push(chain.recover().await);
        mine(&chain, 500).await;
    }
    for wording in [RangeWording::AlchemyFree, RangeWording::Unknown] {
        let rule = on("eth_getLogs").range_cap(5, wording);
        let node = good(&chain).rule(rule).start().await.unwrap();
        let keeper = watch(&chain, &node, &["good"], &["--from-block", "0"]);
        let mut told = vec![];
        while told.len() < expected.len() {
            let line = keeper.json();
            if matches!(line["type"].as_str(), Some("breaker.opened" | "breaker.closed")) {
                told.push(line["block"]["number"].as_u64().unwrap());
            }
        }
        assert_eq!(told, expected, "{wording:?}");
        assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_of_another_number_is_not_believed() {
    let chain = Chain::start().await;
    let rule = on("eth_getBlockByHash").set("/result/number", "0x3");
    let node = good(&chain).rule(rule).start().await.unwrap();
    let keeper = watch(&chain, &node, &["good"], &["--from-block", "1"]);
    keeper.says("the node gave block 3 when it was asked for 2");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_cannot_be_read_at_the_start_is_read_later() {
    let chain = Chain::start().await;
    chain.trip().await;
    let down = RpcError::new(-32000, "not now");
    let node = good(&chain).start().await.unwrap();
    let down = node.add(on("eth_getStorageAt").error(down));
    let keeper = watch(&chain, &node, &["good"], &[]);
    keeper.says("0x00 is not known yet: the node answers with error -32000: not now");
    node.remove(down);
    chain.advance(1).await;
    keeper.says("0x00 is open at block");
    chain.advance(COOLDOWN.into()).await;
    assert_eq!(keeper.json()["type"], "breaker.half_open");
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_tip_takes_something_back_only_when_a_second_node_has_it_too() {
    let chain = Chain::start().await;
    let node = good(&chain).endpoint("liar").start().await.unwrap();
    let keeper = watch(&chain, &node, &["liar", "good"], &[]);
    keeper.says("is closed at block");
    let opened = chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");
    mine(&chain, 2).await;
    let wrong = json!(B256::repeat_byte(0xee));
    let lie = |of: &str| {
        on("eth_getBlockByNumber").at("liar").param("/0", of).set("/result/hash", wrong.clone())
    };
    node.called("eth_getBlockByNumber", node.calls("eth_getBlockByNumber").len() + 6).await;
    let lies = [
        node.add(any().at("liar").stale(2)),
        node.add(lie("latest").named("lie")),
        node.add(lie(&format!("{opened:#x}"))),
    ];
    // It is not followed any more then.
    while node.fired("lie") < 1 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    lies.into_iter().for_each(|lie| node.remove(lie));
    chain.recover().await;
    assert_eq!(keeper.json()["type"], "breaker.half_open");
    assert_eq!(keeper.json()["type"], "breaker.closed");

    // What both have is true.
    let opened = chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");
    let _: Value = chain.provider.raw_request("anvil_rollback".into(), [2]).await.unwrap();
    chain.advance(1_000).await;
    let line = keeper.json();
    assert_eq!((&line["type"], &line["phase"]), (&"breaker.opened".into(), &"retracted".into()));
    assert_eq!(line["block"]["number"], opened);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}
