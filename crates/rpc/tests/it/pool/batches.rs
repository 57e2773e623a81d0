//! Batches: one request per class, each element judged by itself.

use alloy::rpc::client::RpcClient;
use fusebox_rpc::{BadRequest, CallOptions, ManualTime, PoolError, pool_error};
use fusebox_testkit::{HttpReply, Node, RangeWording, RpcError, on};
use serde_json::{Value, json};

use super::support::{node, of, opened, pool, warm};

/// The answers to these calls in one batch, in their order.
pub(crate) async fn batch(
    client: &RpcClient,
    calls: &[(&'static str, Value)],
) -> Vec<Result<Value, String>> {
    let mut batch = client.new_batch();
    let waiting: Vec<_> = calls
        .iter()
        .map(|(method, params)| batch.add_call::<_, Value>(*method, params).unwrap())
        .collect();
    if let Err(error) = batch.send().await {
        return vec![Err(error.to_string())];
    }
    let mut answers = Vec::new();
    for answer in waiting {
        answers.push(answer.await.map_err(|error| error.to_string()));
    }
    answers
}

pub(crate) fn three() -> [(&'static str, Value); 3] {
    let account = "0x0000000000000000000000000000000000000000";
    [
        ("eth_getBalance", json!([account, "latest"])),
        ("eth_call", json!([{}, "latest"])),
        ("eth_getTransactionCount", json!([account, "latest"])),
    ]
}

async fn two(a: &Node, b: &Node) -> fusebox_rpc::Pool {
    let pool = of(&ManualTime::new(), &[("a", a), ("b", b)]).build().unwrap();
    warm(&pool, &["a", "b"]).await;
    pool
}

#[tokio::test]
async fn a_batch_is_one_request_per_class_in_the_callers_order() {
    let a = node().rule(on("eth_call").reverse_batch()).start().await.unwrap();
    let b = node().start().await.unwrap();
    let pool = two(&a, &b).await;
    let mut calls = three().to_vec();
    calls.push(("eth_blockNumber", json!([])));
    calls.push(("eth_getBlockByNumber", json!(["0x1", false])));
    let answers = batch(&pool.client(), &calls).await;
    assert_eq!(answers[0], Ok(json!("0x0")));
    assert_eq!(answers[1], Ok(json!("0x")));
    assert_eq!(answers[3], Ok(json!("0x64")));
    assert_eq!(answers[4].as_ref().unwrap()["number"], "0x1");
    let request = |method: &str| a.calls(method).last().unwrap().request;
    assert_eq!(request("eth_call"), request("eth_getBalance"));
    assert_eq!(request("eth_blockNumber"), request("eth_getBlockByNumber"));
    assert_ne!(request("eth_call"), request("eth_blockNumber"));
    b.assert_never("eth_call");
}

#[tokio::test]
async fn only_what_failed_is_asked_elsewhere() {
    let behind = RpcError::new(-32000, "header not found");
    for rule in [on("eth_call").error(behind), on("eth_call").leave_out()] {
        let a = node().rule(rule).start().await.unwrap();
        let b = node().start().await.unwrap();
        let pool = two(&a, &b).await;
        let answers = batch(&pool.client(), &three()).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(b.calls("eth_call").len(), 1);
        b.assert_never("eth_getBalance");
        assert!(opened(&pool).is_empty());
    }
}

#[tokio::test]
async fn a_batch_that_fails_as_a_whole_goes_elsewhere_as_a_whole_and_counts_once() {
    let a = node().rule(on("eth_call").http(HttpReply::new(502))).start().await.unwrap();
    let b = node().start().await.unwrap();
    let pool = two(&a, &b).await;
    for _ in 0..4 {
        let answers = batch(&pool.client(), &three()).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
    assert!(opened(&pool).is_empty(), "four failures of twelve elements");
    batch(&pool.client(), &three()).await;
    assert_eq!(opened(&pool).len(), 1);
    let request = |method: &str| b.calls(method).last().unwrap().request;
    assert_eq!(request("eth_call"), request("eth_getBalance"));
}

#[tokio::test]
async fn a_batch_with_a_good_element_ends_a_streak() {
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let pool = two(&a, &b).await;
    let streak = || pool.status()[0].classes[1].breaker.total_streak;
    let gone = a.add(on("eth_call").http(HttpReply::new(502)));
    for _ in 0..4 {
        batch(&pool.client(), &three()).await;
    }
    assert_eq!(streak(), 4);
    a.remove(gone);
    let behind = RpcError::new(-32000, "header not found");
    let behind_all = ["eth_call", "eth_getBalance", "eth_getTransactionCount"];
    let rules = behind_all.map(|method| a.add(on(method).error(behind.clone())));
    batch(&pool.client(), &three()).await;
    assert_eq!(streak(), 4, "nothing can be concluded from being behind");
    a.remove(rules[1]);
    batch(&pool.client(), &three()).await;
    assert_eq!(streak(), 0);
}

#[tokio::test]
async fn one_element_that_nobody_serves_spoils_no_other() {
    let gone = || on("eth_call").http(HttpReply::new(502));
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let pool = two(&a, &b).await;
    a.add(gone());
    b.add(gone());
    let answers = batch(&pool.client(), &three()).await;
    assert_eq!(answers[0], Ok(json!("0x0")));
    let spoiled = answers[1].as_ref().unwrap_err();
    assert!(spoiled.contains("-32603"), "{spoiled}");
    assert_eq!(answers[2], Ok(json!("0x0")));
}

#[tokio::test]
async fn sends_leave_a_batch_one_by_one_and_in_order() {
    let a = node().rule(on("evm_mine").answer("0x0")).start().await.unwrap();
    let b = node().start().await.unwrap();
    let pool = two(&a, &b).await;
    let calls: Vec<_> = (0..5).map(|i| ("evm_mine", json!([i]))).collect();
    let answers = batch(&pool.client(), &calls).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let seen: Vec<_> =
        a.calls("evm_mine").iter().map(|call| call.params[0].as_u64().unwrap()).collect();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn a_whole_batch_is_one_request() {
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let pool = two(&a, &b).await;
    let pinned = pool.pin().unwrap().with(CallOptions::new().whole_batch());
    let mut calls = three().to_vec();
    calls.push(("eth_blockNumber", json!([])));
    let answers = batch(&pinned.client(), &calls).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let request = |method: &str| a.calls(method).last().unwrap().request;
    assert_eq!(request("eth_call"), request("eth_blockNumber"));
}

#[tokio::test]
async fn a_range_that_is_too_long_is_refused_in_a_whole_batch_and_its_limit_known() {
    let node = node().rule(on("eth_getLogs").range_cap(7, RangeWording::Alchemy));
    let a = node.start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &a)]).build().unwrap();
    let pinned = pool.pin().unwrap().with(CallOptions::new().whole_batch());
    let whole = |blocks: u64| {
        let range = json!([{ "fromBlock": "0x0", "toBlock": format!("{:#x}", blocks - 1) }]);
        [("eth_blockNumber", json!([])), ("eth_getLogs", range)]
    };
    assert_eq!(pool.longest_log_range(), None);
    for _ in 0..2 {
        let before = a.calls("eth_getLogs").len();
        let answers = batch(&pinned.client(), &whole(8)).await;
        assert!(answers[0].is_ok() && answers[1].is_err(), "{answers:?}");
        assert_eq!(a.calls("eth_getLogs").len(), before + 1, "nothing went alone");
        assert_eq!(pool.longest_log_range(), Some(7));
    }
    let answers = batch(&pinned.client(), &whole(7)).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

#[tokio::test]
async fn a_send_in_a_whole_batch_is_sent_once_all_the_same() {
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let pool = two(&a, &b).await;
    a.add(on("evm_mine").close_before_forwarding());
    let pinned = pool.pin().unwrap().with(CallOptions::new().whole_batch());
    let mut calls = three().to_vec();
    calls.push(("evm_mine", json!([])));
    batch(&pinned.client(), &calls).await;
    assert_eq!((a.calls("evm_mine").len(), b.calls("evm_mine").len()), (1, 0));
}

#[tokio::test]
async fn an_empty_batch_is_refused_here() {
    use tower_service::Service as _;
    let a = node().start().await.unwrap();
    let mut pool = of(&ManualTime::new(), &[("a", &a)]).build().unwrap();
    let refused = pool.call(alloy::rpc::json_rpc::RequestPacket::Batch(vec![])).await.unwrap_err();
    assert_eq!(pool_error(&refused), Some(&PoolError::BadRequest(BadRequest::EmptyBatch)));
}

#[tokio::test]
async fn a_batch_that_is_refused_for_its_rate_goes_elsewhere_as_a_whole() {
    let a = node().rule(on("eth_call").http(HttpReply::new(429))).start().await.unwrap();
    let b = node().start().await.unwrap();
    let pool = two(&a, &b).await;
    let answers = batch(&pool.client(), &three()).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let request = |method: &str| b.calls(method).last().unwrap().request;
    assert_eq!(request("eth_call"), request("eth_getBalance"));
    assert!(opened(&pool).is_empty());
}

#[tokio::test]
async fn where_no_batches_are_served_its_elements_go_alone() {
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch requests are not supported"}}"#;
    let a = node().start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &a)]).build().unwrap();
    warm(&pool, &["a"]).await;
    a.add(on("eth_call").first(1).http(HttpReply::new(200).body(refusal)));
    let answers = batch(&pool.client(), &three()).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(a.calls("eth_call").len(), 2);
}

/// Refuses batches of more than four, as geth does.
fn four_at_most() -> fusebox_testkit::Rule {
    let refusal =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}"#;
    on("eth_call").batch_cap(4, HttpReply::new(200).body(refusal))
}

/// How many calls each request had, in order.
fn pieces(node: &Node) -> Vec<usize> {
    let calls = node.calls("eth_call");
    calls.chunk_by(|a, b| a.request == b.request).map(<[_]>::len).collect()
}

#[tokio::test]
async fn a_batch_that_is_too_large_goes_in_pieces_and_so_do_later_ones() {
    let a = node().rule(four_at_most()).start().await.unwrap();
    let answer = |params: &Value| Some(Ok(params[0]["n"].clone()));
    a.add(on("eth_call").answer_by(answer));
    let time = ManualTime::new();
    let by_http = of(&time, &[("a", &a)]).build().unwrap();
    let ws = json!({ "name": "a", "ws": a.ws_url() });
    let by_ws = pool(&time).provider_with(ws).build().unwrap();
    for pool in [by_http, by_ws] {
        warm(&pool, &["a"]).await;
        let calls: Vec<_> = (0..10).map(|n| ("eth_call", json!([{ "n": n }]))).collect();
        let want: Vec<_> = (0..10).map(|n| Ok(json!(n))).collect();
        let mut before = pieces(&a).len();
        // Five were refused too, which leaves two; after three pieces of two, three are tried.
        for sizes in [&[10, 5, 2, 2, 2, 3, 1][..], &[3, 3, 4]] {
            assert_eq!(batch(&pool.client(), &calls).await, want);
            assert_eq!(&pieces(&a)[before..], sizes);
            before += sizes.len();
        }
        assert!(opened(&pool).is_empty());
    }
}

#[tokio::test]
async fn a_length_that_is_named_is_the_length_of_the_pieces() {
    for (words, first, later) in [
        ("batch limit 4 exceeded: 10 requests given", &[10, 4, 4, 2][..], &[4, 4, 2][..]),
        // What was refused already is not tried again.
        ("batch too large, max is 10", &[10, 5, 2, 2, 2, 3, 1], &[3, 3, 4]),
    ] {
        let error =
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": words } });
        let refusal = HttpReply::new(200).body(error.to_string());
        let a = node().rule(on("eth_call").batch_cap(4, refusal)).start().await.unwrap();
        let pool = of(&ManualTime::new(), &[("a", &a)]).build().unwrap();
        warm(&pool, &["a"]).await;
        let calls: Vec<_> = (0..10).map(|n| ("eth_call", json!([{ "n": n }, "latest"]))).collect();
        assert!(batch(&pool.client(), &calls).await.iter().all(Result::is_ok));
        assert_eq!(pieces(&a), first, "{words}");
        batch(&pool.client(), &calls).await;
        assert_eq!(&pieces(&a)[first.len()..], later, "{words}");
    }
}

#[tokio::test]
async fn what_no_piece_gets_an_answer_to_goes_elsewhere_together() {
    let a = node().rule(four_at_most()).start().await.unwrap();
    let b = node().start().await.unwrap();
    let pool = two(&a, &b).await;
    let calls: Vec<_> = (0..8).map(|n| ("eth_call", json!([{ "n": n }, "latest"]))).collect();
    a.add(on("eth_call").param("/0/n", 4).http(HttpReply::new(502)));
    let answers = batch(&pool.client(), &calls).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((pieces(&a), pieces(&b)), (vec![8, 4, 4], vec![4]));
}
