//! Transactions, filters and pins: what must not happen twice, and what must stay with one endpoint.

use std::time::Duration;

use alloy::primitives::keccak256;
use fusebox_rpc::{ManualTime, PoolError, Rejection};
use fusebox_testkit::{Door, HttpReply, Node, RpcError, on};
use serde_json::{Value, json};

use super::support::{ask, call, error, node, node_error, of, warm};

const SEND: &str = "eth_sendRawTransaction";
/// Its bytes do not matter to a node that answers in a rule's place.
const RAW: &str = "0x02f8aa";

fn hash() -> String {
    keccak256([0x02, 0xf8, 0xaa]).to_string()
}

/// A node that takes any transaction, and from then on knows it.
async fn taking() -> Node {
    node()
        .rule(on(SEND).answer(hash()))
        .rule(on("eth_getTransactionByHash").null())
        .start()
        .await
        .unwrap()
}

async fn two(time: &ManualTime, a: &Node, b: &Node) -> fusebox_rpc::Pool {
    let pool = of(time, &[("a", a), ("b", b)]).build().unwrap();
    warm(&pool, &["a", "b"]).await;
    pool
}

#[tokio::test]
async fn case_14_a_cut_send_is_looked_up_and_not_repeated_where_it_is_known() {
    let a = node()
        .rule(on(SEND).close_after_forwarding())
        .rule(on("eth_getTransactionByHash").answer(json!({ "hash": hash() })))
        .start()
        .await
        .unwrap();
    let b = taking().await;
    let pool = two(&ManualTime::new(), &a, &b).await;
    assert_eq!(ask(&pool, SEND, json!([RAW])).await.unwrap(), hash());
    assert_eq!(a.calls(SEND).len(), 1);
    b.assert_never(SEND);
}

#[tokio::test]
async fn case_14_an_unknown_transaction_is_sent_once_more_elsewhere() {
    let a = node()
        .rule(on(SEND).close_before_forwarding())
        .rule(on("eth_getTransactionByHash").null())
        .start()
        .await
        .unwrap();
    let b = taking().await;
    let pool = two(&ManualTime::new(), &a, &b).await;
    assert_eq!(ask(&pool, SEND, json!([RAW])).await.unwrap(), hash());
    assert_eq!((a.calls(SEND).len(), b.calls(SEND).len()), (1, 1));
    assert_eq!(b.calls("eth_getTransactionByHash").len(), 1, "asked before it is sent");
}

#[tokio::test]
async fn already_known_after_a_send_of_our_own_is_success() {
    let a = node()
        .rule(on(SEND).http(HttpReply::new(502)))
        .rule(on("eth_getTransactionByHash").null())
        .start()
        .await
        .unwrap();
    let b = node()
        .rule(on(SEND).error(RpcError::new(-32000, "already known")))
        .rule(on("eth_getTransactionByHash").null())
        .start()
        .await
        .unwrap();
    let pool = two(&ManualTime::new(), &a, &b).await;
    assert_eq!(ask(&pool, SEND, json!([RAW])).await.unwrap(), hash());
}

#[tokio::test]
async fn already_known_from_the_first_node_is_its_answer() {
    let a =
        node().rule(on(SEND).error(RpcError::new(-32000, "already known"))).start().await.unwrap();
    let b = taking().await;
    let pool = two(&ManualTime::new(), &a, &b).await;
    let answer = node_error(ask(&pool, SEND, json!([RAW])).await);
    assert_eq!(answer, (-32000, "already known".to_owned()));
    b.assert_never(SEND);
}

#[tokio::test]
async fn a_send_that_was_refused_for_its_rate_goes_elsewhere() {
    let a = node()
        .rule(on(SEND).error(RpcError::new(-32005, "rate limit exceeded")))
        .start()
        .await
        .unwrap();
    let b = taking().await;
    let pool = two(&ManualTime::new(), &a, &b).await;
    assert_eq!(ask(&pool, SEND, json!([RAW])).await.unwrap(), hash());
}

#[tokio::test]
async fn with_nobody_to_ask_an_unclear_send_stays_unclear() {
    let a = node()
        .rule(on(SEND).http(HttpReply::new(502)))
        .rule(on("eth_getTransactionByHash").null())
        .start()
        .await
        .unwrap();
    let pool = of(&ManualTime::new(), &[("a", &a)]).build().unwrap();
    assert!(matches!(error(ask(&pool, SEND, json!([RAW])).await), PoolError::Exhausted { .. }));
    assert_eq!(a.calls(SEND).len(), 1);
}

#[tokio::test]
async fn a_filter_is_read_where_it_was_made_under_an_id_of_ours() {
    let filters = |id: &'static str| {
        node()
            .rule(on("eth_newFilter").answer(id))
            .rule(on("eth_getFilterChanges").param("/0", id).answer(json!([id])))
            .start()
    };
    let (a, b) = (filters("0xaa").await.unwrap(), filters("0xbb").await.unwrap());
    let pool = two(&ManualTime::new(), &a, &b).await;
    let first = ask(&pool, "eth_newFilter", json!([{}])).await.unwrap();
    let second =
        ask(&pool.with(fusebox_rpc::CallOptions::new().not("a")), "eth_newFilter", json!([{}]))
            .await
            .unwrap();
    assert_ne!(first, second);
    assert_eq!(ask(&pool, "eth_getFilterChanges", json!([second])).await.unwrap(), json!(["0xbb"]));
    assert_eq!(ask(&pool, "eth_getFilterChanges", json!([first])).await.unwrap(), json!(["0xaa"]));
    let unknown = node_error(ask(&pool, "eth_getFilterChanges", json!(["0x99"])).await);
    assert!(unknown.1.contains("filter not found"), "{unknown:?}");
}

#[tokio::test]
async fn a_lost_filter_is_said_at_once_and_forgotten() {
    let lost = RpcError::new(-32000, "filter not found");
    let a = node()
        .rule(on("eth_newFilter").answer("0x1"))
        .rule(on("eth_getFilterChanges").error(lost))
        .start()
        .await
        .unwrap();
    let b = taking().await;
    let pool = two(&ManualTime::new(), &a, &b).await;
    let id = ask(&pool, "eth_newFilter", json!([{}])).await.unwrap();
    for _ in 0..2 {
        let (code, _) = node_error(ask(&pool, "eth_getFilterChanges", json!([id])).await);
        assert_eq!(code, -32000);
    }
    assert_eq!(a.calls("eth_getFilterChanges").len(), 1);
    b.assert_never("eth_getFilterChanges");
}

#[tokio::test]
async fn a_pin_stays_with_its_endpoint_and_is_lost_with_it() {
    let (a, b) = (node().start().await.unwrap(), node().start().await.unwrap());
    let time = ManualTime::new();
    let pool = two(&time, &a, &b).await;
    let pin = pool.pin().unwrap();
    assert_eq!(&*pin.provider(), "a");
    let ask = |params: Value| {
        let client = pin.client();
        async move { client.request::<_, Value>("eth_getBalance", params).await }
    };
    let params = json!(["0x0000000000000000000000000000000000000000", "latest"]);
    ask(params.clone()).await.unwrap();
    a.door(Door::Refused).await;
    let lost = super::support::passing(&time, ask(params)).await;
    assert_eq!(error(lost), PoolError::PinLost { provider: "a".into() });
    call(&pool).await.unwrap();
    assert_eq!(b.calls("eth_getBalance").len(), 0);
}

#[tokio::test]
async fn our_own_rate_bound_is_a_throttle() {
    let a = node().start().await.unwrap();
    let time = ManualTime::new();
    let provider = json!({ "name": "a", "http": a.url(), "max_rps": 1 });
    let pool = super::support::pool(&time)
        .provider_with(provider)
        .set("max_inline_wait", "500ms")
        .build()
        .unwrap();
    super::support::passing(&time, call(&pool)).await.unwrap_err();
    time.advance(Duration::from_secs(1));
    call(&pool).await.unwrap();
    let rejected = error(call(&pool).await);
    assert_eq!(
        rejected,
        PoolError::Rejected(Rejection::Throttled { retry_in: Duration::from_secs(1) })
    );
    assert_eq!(a.all_calls().len(), 2);
}

#[tokio::test]
async fn after_the_deadline_nobody_is_asked_and_nobody_pays() {
    let a = node().rule(on(SEND).hang()).start().await.unwrap();
    let b = taking().await;
    let time = ManualTime::new();
    let pool = two(&time, &a, &b).await;
    let hasty = pool.with(fusebox_rpc::CallOptions::new().deadline(Duration::from_secs(1)));
    let asked = tokio::spawn(async move { ask(&hasty, SEND, json!([RAW])).await });
    a.called(SEND, 1).await;
    time.advance(Duration::from_secs(1));
    assert!(matches!(error(asked.await.unwrap()), PoolError::Exhausted { .. }));
    b.assert_never("eth_getTransactionByHash");
    let streaks =
        pool.status().into_iter().map(|endpoint| endpoint.classes[1].breaker.total_streak);
    assert_eq!(streaks.collect::<Vec<_>>(), [0, 0]);
}

#[tokio::test]
async fn after_a_seal_a_dropped_call_counts_for_nothing() {
    let a = node().rule(on("evm_mine").hang()).start().await.unwrap();
    let pool = of(&ManualTime::new(), &[("a", &a)]).build().unwrap();
    warm(&pool, &["a"]).await;
    pool.seal();
    for i in 1..=6 {
        let pool = pool.clone();
        let asked = tokio::spawn(async move { ask(&pool, "evm_mine", json!([])).await });
        a.called("evm_mine", i).await;
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
    }
}
