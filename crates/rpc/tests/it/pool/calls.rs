//! One call: what is asked of whom, and what the caller hears.

use std::time::Duration;

use fusebox_rpc::{BadRequest, CallOptions, Category, ManualTime, PoolError, PoolEvent, Rejection};
use fusebox_testkit::{Door, HttpReply, RpcError, any, on};
use serde_json::json;

use super::batches::batch;
use super::support::{ask, call, error, events, node, node_error, of, passing, pool, warm};

#[tokio::test]
async fn the_first_call_asks_for_the_chain_and_later_ones_do_not() {
    let node = node().start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    for _ in 0..3 {
        assert_eq!(ask(&pool, "eth_blockNumber", json!([])).await.unwrap(), "0x64");
    }
    assert_eq!(node.calls("eth_chainId").len(), 1);
    assert_eq!(node.calls("eth_blockNumber").len(), 3);
}

#[tokio::test]
async fn twenty_first_calls_at_once_ask_for_the_chain_once() {
    let node = node().start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    let calls = (0..20).map(|_| ask(&pool, "eth_blockNumber", json!([])));
    assert!(futures_util::future::join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(node.calls("eth_chainId").len(), 1);
}

#[tokio::test]
async fn a_node_of_another_chain_is_forced_open_and_others_carry_on() {
    let wrong = node().rule(any().chain_id(5)).start().await.unwrap();
    let right = node().start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("wrong", &wrong), ("right", &right)]).build().unwrap();
    call(&pool).await.unwrap();
    wrong.assert_never("eth_call");
    let told = events(&pool);
    assert!(
        told.iter().any(|event| matches!(event, PoolEvent::WrongChain { provider, found, .. }
            if &**provider == "wrong" && found == "0x5")),
        "{told:?}"
    );
    let alone = of(&ManualTime::new(), &[("wrong", &wrong)]).build().unwrap();
    assert_eq!(alone.ready().await, Err(Rejection::ForcedOpen));
    assert_eq!(pool.ready().await, Ok(()), "one that can be used is enough");
    assert_eq!(error(call(&alone).await), PoolError::Rejected(Rejection::ForcedOpen));
}

#[tokio::test]
async fn a_configured_genesis_must_match_too() {
    let node = node().start().await.unwrap();
    let any = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    let genesis = ask(&any, "eth_getBlockByNumber", json!(["0x0", false])).await.unwrap()["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let right =
        of(&ManualTime::new(), &[("a", &node)]).set("genesis", genesis.clone()).build().unwrap();
    call(&right).await.unwrap();
    let other = format!("0x{}{}", if genesis.ends_with('0') { "1" } else { "0" }, &genesis[3..]);
    let wrong = of(&ManualTime::new(), &[("a", &node)]).set("genesis", other).build().unwrap();
    call(&wrong).await.unwrap_err();
    assert!(events(&wrong).iter().any(|event| matches!(event, PoolEvent::WrongChain { .. })));
}

#[tokio::test]
async fn whatever_a_node_does_wrong_another_one_answers() {
    let page = HttpReply::new(502).header("content-type", "text/html").body("<html>bad gateway");
    let away = HttpReply::new(302).header("location", "http://127.0.0.1:1/");
    for (what, rule) in [
        ("500", on("eth_call").http(HttpReply::new(500))),
        ("html", on("eth_call").http(page)),
        ("redirect", on("eth_call").http(away)),
        ("half a body", on("eth_call").truncate(10)),
        ("half a JSON", on("eth_call").invalid_json()),
        ("another id", on("eth_call").wrong_id()),
        ("closed", on("eth_call").close_before_forwarding()),
        ("result in a 500", on("eth_call").status(500)),
        ("rate", on("eth_call").error(RpcError::new(-32005, "rate limit exceeded"))),
        ("auth", on("eth_call").error(RpcError::new(-32600, "Must be authenticated!").status(401))),
        ("behind", on("eth_call").error(RpcError::new(-32000, "header not found"))),
        ("unknown", on("eth_call").error(RpcError::new(-1, "ouch"))),
    ] {
        let bad = node().rule(rule).start().await.unwrap();
        let good = node().start().await.unwrap();
        let time = ManualTime::new();
        let pool = of(&time, &[("bad", &bad), ("good", &good)]).build().unwrap();
        call(&pool).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((bad.calls("eth_call").len(), good.calls("eth_call").len()), (1, 1), "{what}");
    }
}

#[tokio::test]
async fn what_is_the_callers_own_fault_is_returned_at_once_and_unchanged() {
    for (code, message) in [
        (3, "execution reverted: rate limit exceeded"),
        (-32602, "invalid argument 0: hex string has length 2"),
    ] {
        let rule = on("eth_call").error(RpcError::new(code, message));
        let (first, second) =
            (node().rule(rule).start().await.unwrap(), node().start().await.unwrap());
        let pool = of(&ManualTime::new(), &[("a", &first), ("b", &second)]).build().unwrap();
        assert_eq!(node_error(call(&pool).await), (code, message.to_owned()));
        second.assert_never("eth_call");
    }
}

#[tokio::test]
async fn when_all_fail_a_nodes_own_error_is_the_answer() {
    let rule = || on("eth_call").error(RpcError::new(-32000, "header not found"));
    let (first, second) = (
        node().rule(rule()).start().await.unwrap(),
        node().rule(on("eth_call").http(HttpReply::new(500))).start().await.unwrap(),
    );
    let pool = of(&ManualTime::new(), &[("a", &first), ("b", &second)]).build().unwrap();
    assert_eq!(node_error(call(&pool).await), (-32000, "header not found".to_owned()));
}

#[tokio::test]
async fn when_nobody_says_anything_every_attempt_is_named() {
    let bad = || node().rule(on("eth_call").http(HttpReply::new(500))).start();
    let (a, b, c, d) =
        (bad().await.unwrap(), bad().await.unwrap(), bad().await.unwrap(), bad().await.unwrap());
    let nodes = [("a", &a), ("b", &b), ("c", &c), ("d", &d)];
    let pool = of(&ManualTime::new(), &nodes).build().unwrap();
    let PoolError::Exhausted { attempts } = error(call(&pool).await) else {
        panic!("not exhausted")
    };
    let who: Vec<_> =
        attempts.iter().map(|attempt| (&*attempt.provider, attempt.category)).collect();
    assert_eq!(
        who,
        ["a", "b", "c"].map(|name| (name, Category::Server)),
        "three attempts, each endpoint once"
    );
}

#[tokio::test]
async fn a_lone_endpoint_is_asked_again_after_a_pause() {
    let node =
        node().rule(on("eth_call").first(2).http(HttpReply::new(500))).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)])
        .set("deadlines", json!({ "attempt": "19s", "logs": "19s" }))
        .build()
        .unwrap();
    warm(&pool, &["a"]).await;
    let before = fusebox_breaker::Clock::now(&time);
    passing(&time, call(&pool)).await.unwrap();
    let took = fusebox_breaker::Clock::now(&time).since(before);
    assert_eq!(node.calls("eth_call").len(), 3);
    assert!(took >= Duration::from_millis(300), "100 ms, then 200 ms: {took:?}");
}

#[tokio::test]
async fn the_last_endpoint_that_is_left_is_as_good_as_a_lone_one() {
    let rule = on("eth_call").first(2).http(HttpReply::new(500));
    let (open, left) = (node().start().await.unwrap(), node().rule(rule).start().await.unwrap());
    let time = ManualTime::new();
    let pool = of(&time, &[("open", &open), ("left", &left)]).build().unwrap();
    warm(&pool, &["open", "left"]).await;
    pool.admin("open").unwrap().trip(None);
    passing(&time, call(&pool)).await.unwrap();
    assert_eq!(left.calls("eth_call").len(), 3);
    open.assert_never("eth_call");
}

#[tokio::test]
async fn a_call_that_is_not_harmless_is_sent_once() {
    let bad = node().rule(on("evm_mine").http(HttpReply::new(500))).start().await.unwrap();
    let good = node().start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("bad", &bad), ("good", &good)]).build().unwrap();
    assert!(matches!(error(ask(&pool, "evm_mine", json!([])).await), PoolError::Exhausted { .. }));
    good.assert_never("evm_mine");
}

#[tokio::test]
async fn a_call_that_never_left_is_sent_elsewhere_whatever_it_is() {
    let refused = node().start().await.unwrap();
    let good = node().rule(on("evm_mine").answer("0x0")).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("refused", &refused), ("good", &good)]).build().unwrap();
    warm(&pool, &["refused", "good"]).await;
    refused.door(Door::Refused).await;
    ask(&pool, "evm_mine", json!([])).await.unwrap();
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let node = node().start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    let hasty = pool.with(CallOptions::new().deadline(Duration::ZERO));
    let want = PoolError::Rejected(Rejection::Deadline { attempts: 0 });
    assert_eq!(error(call(&hasty).await), want);
    assert!(node.all_calls().is_empty());
}

#[tokio::test]
async fn a_hanging_call_ends_at_its_deadline() {
    let node = node().rule(on("eth_call").hang()).start().await.unwrap();
    let time = ManualTime::new();
    let pool = of(&time, &[("a", &node)]).build().unwrap();
    warm(&pool, &["a"]).await;
    let asked = tokio::spawn(async move {
        call(&pool.with(CallOptions::new().deadline(Duration::from_secs(2)))).await
    });
    node.called("eth_call", 1).await;
    time.advance(Duration::from_secs(2));
    let want = PoolError::Rejected(Rejection::Deadline { attempts: 1 });
    assert_eq!(error(asked.await.unwrap()), want);
}

#[tokio::test]
async fn who_has_not_shown_the_wanted_block_is_asked_last() {
    // The first is two behind, which is no lag.
    let (first, second) =
        (node().rule(any().stale(2)).start().await.unwrap(), node().start().await.unwrap());
    let time = ManualTime::new();
    let pool = of(&time, &[("first", &first), ("second", &second)]).build().unwrap();
    warm(&pool, &["first", "second"]).await;
    let heads: Vec<_> = pool.status().iter().map(|end| end.head).collect();
    assert_eq!(heads, [Some(98), Some(100)]);
    // At 101 nobody has it, and the first of those who lack it is asked.
    let mut asked = (0, 0);
    for (block, is_first) in [(97, true), (98, true), (99, false), (100, false), (101, true)] {
        call(&pool.with(CallOptions::new().min_head(block))).await.unwrap();
        match is_first {
            true => asked.0 += 1,
            false => asked.1 += 1,
        }
        let got = (first.calls("eth_call").len(), second.calls("eth_call").len());
        assert_eq!(got, asked, "{block}");
    }
}

#[tokio::test]
async fn a_users_rule_steers_a_pool_of_a_configuration() {
    use fusebox_rpc::{Pool, RpcConfig, Rules, Servers};
    let refusal = RpcError::new(-32_000, "the flux capacitor is cold");
    let (a, b) = (
        node().rule(on("eth_call").error(refusal)).start().await.unwrap(),
        node().start().await.unwrap(),
    );
    let provider = |name: &str, url: String| json!({ "name": name, "http": url });
    let providers = [provider("a", a.url()), provider("b", b.url())];
    let file = json!({ "profile": { "p": { "chain": { "31337": { "provider": providers } } } } });
    let config = RpcConfig::from_value(file).unwrap();
    let mine = "[[rule]]\nid = 'mine'\ncategory = 'user'\nphrases = ['flux capacitor']";
    let rules = Rules::shipped().with(mine).unwrap();
    let time = std::sync::Arc::new(ManualTime::new());
    let pool =
        Pool::from_config_with(&config, "p", 31_337, &Servers::new(time.clone()), rules).unwrap();
    assert_eq!(node_error(call(&pool).await).1, "the flux capacitor is cold");
    b.assert_never("eth_call");
    // Without it nobody knows what that means, and the next one is asked.
    let pool = Pool::from_config_on(&config, "p", 31_337, &Servers::new(time)).unwrap();
    call(&pool).await.unwrap();
    assert_eq!(b.calls("eth_call").len(), 1);
}

#[tokio::test]
async fn only_an_attempt_that_had_its_time_was_too_slow() {
    let node = node().rule(on("eth_call").hang()).start().await.unwrap();
    // An attempt has 5 s.
    for (milliseconds, streak) in [(4_999, 0), (5_000, 1), (5_001, 1)] {
        for is_batch in [false, true] {
            let time = ManualTime::new();
            let pool = of(&time, &[("a", &node)]).build().unwrap();
            warm(&pool, &["a"]).await;
            let deadline = Duration::from_millis(milliseconds);
            let hasty = pool.with(CallOptions::new().deadline(deadline));
            let started = node.calls("eth_call").len();
            let asked = tokio::spawn(async move {
                match is_batch {
                    true => {
                        let params = json!([{}, "latest"]);
                        let calls = [("eth_call", params.clone()), ("eth_call", params)];
                        batch(&hasty.client(), &calls).await.into_iter().all(|got| got.is_err())
                    }
                    false => call(&hasty).await.is_err(),
                }
            });
            node.called("eth_call", started + 1).await;
            passing(&time, async { assert!(asked.await.unwrap()) }).await;
            let got = pool.status()[0].classes[1].breaker.total_streak;
            assert_eq!(got, streak, "{milliseconds} ms, batch: {is_batch}");
        }
    }
}

#[tokio::test]
async fn what_no_node_could_answer_is_refused_here() {
    let node = node().start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &node)]).build().unwrap();
    let (code, message) = node_error(ask(&pool, "eth_subscribe", json!(["newHeads"])).await);
    assert_eq!(code, -32601);
    assert!(message.contains("wake-ups"), "{message}");
    let large = "0".repeat(5 * 1024 * 1024);
    let refused = error(ask(&pool, "eth_call", json!([large])).await);
    assert!(matches!(refused, PoolError::BadRequest(BadRequest::Oversized { .. })), "{refused}");
    assert!(node.all_calls().is_empty());
}

#[tokio::test]
async fn connections_that_fail_are_network_errors_of_their_kind() {
    let node = node().start().await.unwrap();
    node.door(Door::TlsGarbage).await;
    for (url, want) in [
        (node.https_url(), "no TLS connection"),
        ("http://no-such-host.invalid/".to_owned(), "its name is not known"),
        ("http://127.0.0.1:1/".to_owned(), "no connection"),
    ] {
        let time = ManualTime::new();
        let other = super::support::node().start().await.unwrap();
        let pool = pool(&time)
            .provider("gone", &url)
            .provider("also gone".replace(' ', "-").as_str(), "http://127.0.0.1:1/x")
            .build()
            .unwrap();
        let PoolError::Exhausted { attempts } = error(call(&pool).await) else { panic!("{url}") };
        assert_eq!(attempts[0].category, Category::Network, "{url}");
        assert_eq!(&*attempts[0].reason, want);
        drop(other);
    }
}

#[tokio::test]
async fn an_error_that_nobody_knows_has_one_failover() {
    let odd = || node().rule(on("eth_call").error(RpcError::new(-1, "ouch"))).start();
    let (a, b, c) = (odd().await.unwrap(), odd().await.unwrap(), odd().await.unwrap());
    let pool = of(&ManualTime::new(), &[("a", &a), ("b", &b), ("c", &c)]).build().unwrap();
    assert_eq!(node_error(call(&pool).await), (-1, "ouch".to_owned()));
    assert_eq!(b.calls("eth_call").len(), 1);
    c.assert_never("eth_call");
}
