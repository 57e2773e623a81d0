//! Answers that are not what was asked for.

use crate::support::{ask, call, client, post, refused, whole};
use fusebox_testkit::{Chain, HttpReply, Node, RpcError, any, block, on};
use serde_json::{Value, json};

async fn node(rule: fusebox_testkit::Rule) -> Node {
    Node::scripted(Chain::new()).rule(rule).start().await.unwrap()
}

#[tokio::test]
async fn http_says_what_it_is_told_to() {
    let reply = HttpReply::new(502).header("retry-after", "7").body("<html>bad gateway</html>");
    let node = node(on("eth_chainId").http(reply)).await;
    let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
    assert_eq!(response.status(), 502);
    assert_eq!(response.headers()["retry-after"], "7");
    assert!(!response.headers().contains_key("content-type"));
    assert_eq!(response.text().await.unwrap(), "<html>bad gateway</html>");
    assert_eq!(node.calls("eth_chainId")[0].upstream, None);
}

#[tokio::test]
async fn a_body_may_be_any_bytes_and_a_header_must_be_one() {
    let node = node(on("eth_chainId").http(HttpReply::new(200).body(vec![0xff, 0x00]))).await;
    let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
    assert_eq!(&response.bytes().await.unwrap()[..], [0xff, 0x00]);
    assert!(std::panic::catch_unwind(|| HttpReply::new(200).header("a", "b\n")).is_err());
    assert!(std::panic::catch_unwind(|| RpcError::new(-1, "").status(99)).is_err());
}

#[tokio::test]
async fn an_error_comes_in_200_or_in_what_it_is_told_to() {
    let error = RpcError::new(-32005, "limit exceeded").data(json!({ "rate": 1 }));
    let node = node(on("eth_chainId").first(1).error(error.clone())).await;
    node.add(on("eth_chainId").after(1).error(error.status(429).header("retry-after", "2")));
    for (status, hint) in [(200, None), (429, Some("2"))] {
        let response = post(&node.url(), &call(9, "eth_chainId", json!([]))).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers().get("retry-after").map(|v| v.to_str().unwrap()), hint);
        let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        let error = json!({ "code": -32005, "message": "limit exceeded", "data": { "rate": 1 } });
        assert_eq!(body, json!({ "jsonrpc": "2.0", "id": 9, "error": error }));
    }
}

#[tokio::test]
async fn a_good_answer_may_come_in_a_bad_status() {
    let node = node(on("eth_chainId").status(500)).await;
    let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
    assert_eq!(response.status(), 500);
    assert!(response.text().await.unwrap().contains("0x7a69"));
    assert!(node.calls("eth_chainId")[0].upstream.is_some());
}

#[tokio::test]
async fn invalid_json_is_whole_as_http() {
    let node = node(on("eth_chainId").invalid_json()).await;
    let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_err() && text.len() == 21, "{text}");
}

#[tokio::test]
async fn ids_results_and_fields_are_changed() {
    let node = node(on("eth_chainId").wrong_id()).await;
    assert_ne!(whole(&node.url(), "eth_chainId", json!([])).await["id"], 1);
    node.clear();
    node.add(on("eth_chainId").set("/id", Value::Null));
    assert_eq!(whole(&node.url(), "eth_chainId", json!([])).await["id"], Value::Null);
    node.clear();
    node.add(on("eth_getBlockByNumber").nth(1).null());
    assert_eq!(ask(&node.url(), "eth_getBlockByNumber", json!(["0x0", false])).await, Value::Null);
    node.add(on("eth_getBlockByNumber").set("/result/number", "0x63").remove("/result/hash"));
    let block = ask(&node.url(), "eth_getBlockByNumber", json!(["0x0", false])).await;
    assert_eq!((&block["number"], block.get("hash")), (&json!("0x63"), None));
    assert!(block.get("parentHash").is_some());
    node.add(on("eth_call").answer_by(|params| match params[0]["data"].as_str()? {
        "0x01" => Some(Ok("0x2a".into())),
        _ => Some(Err(RpcError::new(3, "execution reverted"))),
    }));
    node.add(on("eth_call").answer("0x2b"));
    assert_eq!(ask(&node.url(), "eth_call", json!([{ "data": "0x01" }])).await, "0x2a");
    assert_eq!(refused(&node.url(), "eth_call", json!([{ "data": "0x02" }])).await.0, 3);
    assert_eq!(ask(&node.url(), "eth_call", json!([{}])).await, "0x2b");
}

#[tokio::test]
async fn a_batch_is_whole_reordered_or_partial() {
    let node = Node::scripted(Chain::new()).start().await.unwrap();
    let methods = ["eth_chainId", "eth_blockNumber", "net_version"];
    let batch: Value = (1..).zip(methods).map(|(id, method)| call(id, method, json!([]))).collect();
    let ids = async || {
        let text = post(&node.url(), &batch).await.unwrap().text().await.unwrap();
        let parts: Vec<Value> = serde_json::from_str(&text).unwrap();
        parts.iter().map(|part| part["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids().await, [1, 2, 3]);
    let reversed = node.add(on("net_version").reverse_batch());
    assert_eq!(ids().await, [3, 2, 1]);
    node.remove(reversed);
    node.add(on("eth_blockNumber").leave_out());
    assert_eq!(ids().await, [1, 3]);
    let requests: Vec<u64> = node.calls("eth_chainId").iter().map(|call| call.request).collect();
    assert_eq!(requests, [0, 1, 2]);
    assert!(node.all_calls()[..3].iter().all(|call| call.request == 0), "a batch is one request");
}

#[tokio::test]
async fn a_status_in_a_batch_is_that_of_the_batch() {
    let node = node(on("eth_chainId").error(RpcError::new(-1, "no").status(503))).await;
    let batch = json!([call(1, "eth_blockNumber", json!([])), call(2, "eth_chainId", json!([]))]);
    let response = post(&node.url(), &batch).await.unwrap();
    assert_eq!(response.status(), 503);
    let parts: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!((&parts[0]["result"], &parts[1]["error"]["code"]), (&json!("0x0"), &json!(-1)));
}

#[tokio::test]
async fn logs_are_omitted_doubled_foreign_and_removed() {
    let chain = Chain::new();
    let vault = alloy::primitives::Address::with_last_byte(1);
    chain.mine(block().log(vault, [], [1]).log(vault, [], [2]));
    let node = Node::scripted(chain).start().await.unwrap();
    let logs = async |rule| {
        node.clear();
        node.add(rule);
        let filter = json!([{ "fromBlock": "0x1", "address": vault }]);
        let logs = ask(&node.url(), "eth_getLogs", filter).await;
        serde_json::from_value::<Vec<Value>>(logs).unwrap()
    };
    let data = |logs: &[Value]| {
        logs.iter().map(|log| log["data"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let rule = || on("eth_getLogs");
    assert_eq!(logs(rule().omit_logs()).await, Vec::<Value>::new());
    assert_eq!(data(&logs(rule().omit_log(0)).await), ["0x02"]);
    assert_eq!(data(&logs(rule().omit_log(2)).await), ["0x01", "0x02"]);
    assert_eq!(data(&logs(rule().double_logs()).await), ["0x01", "0x01", "0x02", "0x02"]);
    let foreign = logs(rule().foreign_log()).await;
    assert_eq!(foreign.len(), 3);
    assert_ne!(foreign[2]["address"], json!(vault));
    let alone = logs(rule().omit_logs().foreign_log()).await;
    assert_eq!(alone[0]["blockNumber"], "0x1");
    serde_json::from_value::<alloy::rpc::types::Log>(alone[0].clone()).unwrap();
    assert!(logs(rule().removed_logs()).await.iter().all(|log| log["removed"] == true));
}

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let node = node(any().named("all")).await;
    for (body, code) in [(json!({ "id": 1 }), -32600), (json!([]), -32600), (json!(3), -32600)] {
        let text = post(&node.url(), &body).await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    let text = client().post(node.url()).body("{").send().await.unwrap().text().await.unwrap();
    assert!(text.contains("-32700"), "{text}");
    assert_eq!(client().get(node.url()).send().await.unwrap().status(), 405);
    // A notification is taken, and not answered.
    let notification = json!({ "jsonrpc": "2.0", "method": "eth_chainId" });
    assert_eq!(post(&node.url(), &notification).await.unwrap().text().await.unwrap(), "");
    assert_eq!(node.calls("eth_chainId").len(), 1);
    assert_eq!(node.fired("all"), 1);
    assert_eq!(refused(&node.url(), "eth_getBalance", json!([])).await.0, -32602);
}
