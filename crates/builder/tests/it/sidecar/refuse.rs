//! What is refused, and when.

use super::{Setup, header};
use fusebox_builder::OnUnknown;
use fusebox_testkit::{Door, HttpReply, RelayAnswer};
use std::time::Duration;

const BID: &str = "/eth/v1/builder/execution_payload_bid/107/0xab/0xcd/0xef";

#[tokio::test]
async fn case_15_an_open_breaker_refuses_headers_without_a_word_to_the_relay() {
    let setup = Setup::start().await;
    setup.trip().await;
    let mut client = setup.client().await;
    for path in [header(107), header(107).replace("v1", "v9"), header(108)] {
        let got = client.get(&path).await;
        assert_eq!((got.status, got.headers.len(), got.body.len()), (204, 0, 0), "{got:?}");
    }
    assert_eq!(setup.relay.connections(), 0, "the relay was not even connected to");
}

#[tokio::test]
async fn case_20_an_open_breaker_refuses_bids_and_forwards_the_blocks_of_gloas() {
    let setup = Setup::start().await;
    setup.trip().await;
    let mut client = setup.client().await;
    let got = client.post(BID, &["Content-Type: application/octet-stream"], &[7; 300_000]).await;
    assert_eq!((got.status, got.body.len()), (204, 0));
    assert_eq!(setup.relay.connections(), 0);
    setup.relay.answer("beacon_blocks", HttpReply::new(202));
    assert_eq!(client.post("/eth/v1/builder/beacon_blocks", &[], b"block").await.status, 202);
    assert_eq!(
        client.post("/eth/v1/builder/builder_preferences/0xab", &[], b"{}").await.status,
        200
    );
    let bodies: Vec<_> = setup.relay.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, ["block", "{}"]);
}

#[tokio::test]
async fn a_closed_breaker_forwards_headers_and_bids() {
    let setup = Setup::start().await;
    setup.relay.answer(
        "header",
        HttpReply::new(200).header("Eth-Consensus-Version", "electra").body("bid"),
    );
    let mut client = setup.client().await;
    let got = client.get(&header(101)).await;
    assert_eq!((got.status, got.body.as_slice()), (200, &b"bid"[..]));
    assert_eq!(client.post(BID, &[], b"x").await.status, 200);
    assert_eq!(setup.relay.requests().len(), 2);
}

#[tokio::test]
async fn before_any_node_was_heard_the_answer_is_the_one_for_the_unknown() {
    let setup = Setup::unknown(OnUnknown::Local).await;
    let mut client = setup.client().await;
    assert_eq!(client.get(&header(101)).await.status, 204);
    assert_eq!(client.get("/ready").await.status, 503);
    assert_eq!(client.get("/health").await.status, 200);
    let setup = Setup::unknown(OnUnknown::Forward).await;
    assert_eq!(setup.client().await.get(&header(101)).await.status, 200);
    setup.join();
    assert_eq!(setup.client().await.get("/ready").await.status, 200);
}

#[tokio::test]
async fn a_slot_that_is_no_number_is_a_bad_request_in_every_state() {
    let setup = Setup::start().await;
    let mut client = setup.client().await;
    for slot in ["x", "-1", "18446744073709551616"] {
        let got = client.get(&header(1).replace("/1/", &format!("/{slot}/"))).await;
        assert_eq!((got.status, &got.json()["code"]), (400, &400.into()));
    }
    assert!(setup.relay.requests().is_empty());
}

#[tokio::test]
async fn a_slot_out_of_reach_is_decided_as_the_current_one_and_passed_on_as_it_is() {
    let setup = Setup::start().await;
    let mut client = setup.client().await;
    assert_eq!(client.get(&header(9_999)).await.status, 200);
    assert_eq!(setup.relay.requests()[0].target(), header(9_999));
    assert_eq!(client.get("/status").await.json()["decision"]["slot"], 100);
    assert_eq!(client.get("/status").await.json()["counts"]["requests_out_of_reach"], 1);
}

#[tokio::test]
async fn case_16_a_relay_that_hangs_costs_a_header_980_ms() {
    let setup = Setup::start().await;
    setup.relay.answer("header", RelayAnswer::Hang);
    let mut client = setup.client().await;
    let got = client.get(&header(101)).await;
    assert_eq!((got.status, got.body.len()), (204, 0));
    assert!((930..=1_030).contains(&got.took.as_millis()), "{:?}", got.took);
    let got = client.send("GET", &header(101), &["X-Timeout-Ms: 320"], b"").await;
    assert_eq!(got.status, 204);
    assert!((250..=350).contains(&got.took.as_millis()), "{:?}", got.took);
}

#[tokio::test]
async fn case_16_a_relay_that_is_down_is_no_bid_at_once_and_no_second_try_for_a_block() {
    let setup = Setup::start().await;
    setup.relay.set_door(Door::Refused).await.unwrap();
    let mut client = setup.client().await;
    let got = client.get(&header(101)).await;
    assert_eq!(got.status, 204);
    assert!(got.took < Duration::from_millis(300), "{:?}", got.took);
    let got = client.post("/eth/v1/builder/blinded_blocks", &[], b"signed").await;
    assert_eq!((got.status, &got.json()["code"]), (502, &502.into()));
    setup.relay.set_door(Door::Open).await.unwrap();
    setup.relay.answer("blinded_blocks", RelayAnswer::Close);
    let got = client.post("/eth/v1/builder/blinded_blocks", &[], b"signed").await;
    assert_eq!(got.status, 502);
    assert_eq!(setup.relay.requests_for("blinded_blocks").len(), 1, "one attempt");
    assert_eq!(client.get("/eth/v1/builder/status").await.status, 200);
}

#[tokio::test]
async fn case_16_while_open_the_relay_is_nobody_to_wait_for() {
    let setup = Setup::start().await;
    setup.trip().await;
    setup.relay.set_door(Door::Silent).await.unwrap();
    let mut client = setup.client().await;
    client.get(&header(107)).await;
    // The best of some, since the machine may be busy with other tests.
    let mut best = Duration::MAX;
    for _ in 0..20 {
        best = best.min(client.get(&header(107)).await.took);
    }
    assert!(best < Duration::from_millis(5), "{best:?}");
}
