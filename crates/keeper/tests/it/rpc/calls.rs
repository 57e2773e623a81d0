//! Requests and their answers.

use super::proxy::{CHAIN, Start, file, node, node_of, provider};
use fusebox_testkit::{Door, HttpReply, RpcError, on};
use serde_json::{Value, json};
use std::time::Duration;

const BLOCK_5: &str = "\"0x5\"";

#[tokio::test]
async fn ids_come_back_as_the_text_that_they_were() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    for id in ["1", "1e3", "1.0", "123456789012345678901234567890", "\"1\"", "\"\"", "null", "-7"] {
        let got = proxy
            .post(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_blockNumber"}}"#))
            .await;
        let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{BLOCK_5}}}"#);
        assert_eq!((got.status, got.text), (200, want));
        assert_eq!(got.headers["content-type"], "application/json");
    }
    // Twice the same id in a batch is the client's business.
    let call = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_blockNumber"}}"#);
    let got = proxy.post(format!("[{},{},{}]", call("2"), call("1e3"), call("2"))).await;
    let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{BLOCK_5}}}"#);
    assert_eq!(got.text, format!("[{},{},{}]", answer("2"), answer("1e3"), answer("2")));
}

#[tokio::test]
async fn notifications_are_carried_out_and_not_answered() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let note = r#"{"jsonrpc":"2.0","method":"evm_note"}"#;
    for (i, body) in [note.to_owned(), format!("[{note},{note}]")].into_iter().enumerate() {
        let got = proxy.post(body).await;
        assert_eq!((got.status, got.text.as_str()), (204, ""));
        assert_eq!(node.calls("evm_note").len(), [1, 3][i]);
    }
    let got = proxy
        .post(format!(r#"[{note},{{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}}]"#))
        .await;
    assert_eq!(got.text, format!(r#"[{{"jsonrpc":"2.0","id":7,"result":{BLOCK_5}}}]"#));
}

#[tokio::test]
async fn what_is_no_request_is_told_so_and_the_rest_of_a_batch_is_answered() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    for (body, code) in
        [("{", -32_700), ("<html>", -32_700), ("", -32_700), ("[]", -32_600), ("1", -32_600)]
    {
        let got = proxy.post(body).await;
        assert_eq!(got.status, 200, "{body}");
        let answer = got.json();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{body}"
        );
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    let got =
        proxy.post(r#"[1,{"jsonrpc":"2.0","id":"x","method":"eth_blockNumber"},{"id":3}]"#).await;
    let answers = got.json();
    assert_eq!(answers[0]["error"]["code"], -32_600);
    assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "id": "x", "result": "0x5" }));
    assert_eq!((&answers[2]["id"], &answers[2]["error"]["code"]), (&json!(3), &json!(-32_600)));
    assert_eq!(answers.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_body_of_5_mib_is_taken_and_one_byte_more_is_not() {
    let node = node().rule(on("evm_long").answer(true)).start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let most = 5 * 1024 * 1024;
    let body = |length: usize| {
        let empty = r#"{"jsonrpc":"2.0","id":1,"method":"evm_long","params":[""]}"#.len();
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"evm_long","params":["{}"]}}"#,
            "x".repeat(length - empty)
        )
    };
    for length in [most - 1, most] {
        let got = proxy.post(body(length)).await;
        assert_eq!((got.status, &got.json()["result"]), (200, &json!(true)), "{length}");
    }
    let got = proxy.post(body(most + 1)).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (413, &json!(-32_600)));
    // Without a length it is found out while reading.
    let pieces = futures_util::stream::iter(vec![Ok::<_, std::io::Error>(body(most + 1))]);
    let request = proxy.client.post(proxy.url("/")).header("content-type", "application/json");
    let sent = request.body(reqwest::Body::wrap_stream(pieces)).send().await.unwrap();
    assert_eq!(sent.status().as_u16(), 413);
    assert_eq!(node.calls("evm_long").len(), 2);
}

#[tokio::test]
async fn each_chain_has_its_path_and_the_only_one_or_the_named_one_has_the_root() {
    let (one, other) = (node().start().await.unwrap(), node_of(10).start().await.unwrap());
    let both = provider(CHAIN, "a", &one.url()) + &provider(10, "b", &other.url());
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId" }).to_string();

    let proxy = Start::with(&both).run().await;
    for (path, want) in [("/31337", "0x7a69"), ("/10", "0xa")] {
        assert_eq!(proxy.post_to(path, &ask).await.json()["result"], want);
    }
    for (path, hint) in
        [("/", "--chain"), ("/1", "10, 31337"), ("/x", "10, 31337"), ("/010x", "10")]
    {
        let got = proxy.post_to(path, &ask).await;
        let answer = got.json();
        assert_eq!((got.status, &answer["error"]["code"]), (404, &json!(-32_600)), "{path}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(hint), "{answer}");
    }

    let proxy = Start::with(&both).args(["--chain", "10"]).run().await;
    assert_eq!(proxy.post(&ask).await.json()["result"], "0xa");
    let proxy = Start::with(&file(&[&one])).run().await;
    assert_eq!(proxy.post(&ask).await.json()["result"], "0x7a69");
    assert_eq!(proxy.post_to("/31337", &ask).await.json()["result"], "0x7a69");
}

#[tokio::test]
async fn without_a_file_the_nodes_say_which_chain_they_are_on() {
    let (one, other) = (node_of(10).start().await.unwrap(), node_of(10).start().await.unwrap());
    let proxy = Start::bare().args(["--rpc-url", &one.url(), "-r", &other.url()]).run().await;
    assert_eq!(proxy.ask("eth_chainId").await.json()["result"], "0xa");
    one.door(Door::Refused).await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x5");
    let status = proxy.get("/status").await.json();
    assert_eq!(status["chains"][0]["endpoints"][1]["provider"], "127.0.0.1_2");
}

#[tokio::test]
async fn without_a_file_nodes_that_are_away_are_waited_for() {
    let node = node().door(Door::Refused).start().await.unwrap();
    let mut proxy = Start::bare().args(["-r", &node.url()]).spawn();
    proxy.says("no node has told its chain yet").await;
    node.door(Door::Open).await;
    proxy.says("chain 31337 at http://127.0.0.1:").await;
    proxy.signal("TERM");
    assert_eq!(proxy.ended().await, Some(0));
}

#[tokio::test]
async fn an_error_of_the_node_is_returned_as_it_is() {
    let error = RpcError::new(3, "execution reverted: no").data("0x08c379a0");
    let node = node().rule(on("eth_call").error(error)).start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let got = proxy.ask("eth_call").await;
    let want = r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}}"#;
    assert_eq!((got.status, got.text.as_str()), (200, want));
}

#[tokio::test]
async fn a_subscription_is_refused_with_the_reason() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let got = proxy.ask("eth_subscribe").await;
    let error = &got.json()["error"];
    assert_eq!((got.status, &error["code"]), (200, &json!(-32_601)));
    assert!(error["message"].as_str().unwrap().contains("lose what happens during a reconnect"));
    node.assert_never("eth_subscribe");
}

/// Code, reason and status of one call, and whether both headers say the same about when to come back.
fn refusal(got: &super::proxy::Got) -> (i64, String, u16) {
    let error = &got.json()["error"];
    let data = &error["data"];
    let seconds = got.header("retry-after").map(|seconds| seconds.parse::<u64>().unwrap());
    let ms = data["retry_after_ms"].as_u64();
    assert_eq!(seconds, ms.map(|ms| ms.div_ceil(1_000).max(1)), "{got:?}");
    (error["code"].as_i64().unwrap(), data["reason"].as_str().unwrap().to_owned(), got.status)
}

#[tokio::test]
async fn a_lone_open_endpoint_is_told_apart_from_several() {
    let breaker = "[breaker]\nfailure_threshold = 1\ncategory_thresholds = {}\n";
    let dead = || async {
        node().rule(on("eth_gasPrice").http(HttpReply::new(500))).start().await.unwrap()
    };
    let one = dead().await;
    let proxy = Start::with(&format!("{breaker}{}", file(&[&one]))).run().await;
    // The pool asks a lone endpoint up to three times; its breaker opens at the first failure.
    assert_eq!(refusal(&proxy.ask("eth_gasPrice").await), (-32_603, "exhausted".to_owned(), 502));
    let (first, second) = (proxy.ask("eth_gasPrice").await, proxy.ask("eth_gasPrice").await);
    let refused: Vec<_> =
        [first, second].iter().map(refusal).filter(|got| got.0 != -32_603).collect();
    assert!(refused.contains(&(-32_081, "circuit_open".to_owned(), 503)), "{refused:?}");

    let (one, other) = (dead().await, dead().await);
    let proxy = Start::with(&format!("{breaker}{}", file(&[&one, &other]))).run().await;
    assert_eq!(refusal(&proxy.ask("eth_gasPrice").await), (-32_603, "exhausted".to_owned(), 502));
    // One of these may be the last resort, which is tried once a second.
    let (first, second) = (proxy.ask("eth_gasPrice").await, proxy.ask("eth_gasPrice").await);
    let refused: Vec<_> =
        [first, second].iter().map(refusal).filter(|got| got.0 != -32_603).collect();
    assert!(refused.contains(&(-32_083, "all_open".to_owned(), 503)), "{refused:?}");
    // A whole batch of it, too.
    let call = r#"{"jsonrpc":"2.0","id":9,"method":"eth_gasPrice"}"#;
    let got = proxy.post(format!("[{call},{call}]")).await;
    let answers = got.json();
    assert_eq!((got.status, answers.as_array().unwrap().len()), (503, 2), "{answers}");
    assert_eq!(
        (&answers[1]["id"], &answers[1]["error"]["data"]["reason"]),
        (&json!(9), &json!("all_open"))
    );
    // Half of it: each says its own.
    let got = proxy
        .post(format!(r#"[{call},{{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}}]"#))
        .await;
    let answers = got.json();
    assert_eq!(got.status, 200);
    assert_eq!(answers[0]["error"]["data"]["reason"], "all_open");
    assert_eq!(answers[1]["result"], "0x5");
}

#[tokio::test]
async fn a_pause_that_a_node_asks_for_is_passed_on() {
    let reply = HttpReply::new(429).header("retry-after", "7").body("slow down");
    let node = node().rule(on("eth_gasPrice").http(reply)).start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    proxy.ask("eth_gasPrice").await;
    let got = proxy.ask("eth_gasPrice").await;
    assert_eq!(refusal(&got), (-32_085, "throttled".to_owned(), 429));
    let wait = got.header("retry-after").unwrap().parse::<u64>().unwrap();
    assert!((5..=8).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_call_ends_at_its_deadline() {
    let node = node().rule(on("eth_gasPrice").hang()).start().await.unwrap();
    let deadlines = "[profile.default.chain.31337]\ndeadlines = { connect = \"200ms\", attempt = \"200ms\", logs = \"300ms\", call = \"300ms\" }\n";
    let proxy = Start::with(&format!("{deadlines}{}", file(&[&node]))).run().await;
    let got = proxy.ask("eth_gasPrice").await;
    assert_eq!(refusal(&got), (-32_084, "deadline".to_owned(), 504));
}

#[tokio::test]
async fn a_client_that_hangs_up_is_no_failure_of_the_node() {
    let slow = on("eth_gasPrice").first(8).delay(Duration::from_millis(400));
    let node = node().rule(slow).start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    for _ in 0..8 {
        let call = proxy.ask("eth_gasPrice");
        tokio::time::timeout(Duration::from_millis(50), call).await.unwrap_err();
    }
    node.called("eth_gasPrice", 8).await;
    // Two timeouts would have opened it.
    assert_eq!(proxy.ask("eth_gasPrice").await.json()["error"], Value::Null);
    let classes = proxy.endpoint("a").await["classes"].clone();
    assert!(
        classes.as_array().unwrap().iter().all(|class| class["state"] == "closed"),
        "{classes}"
    );
}
