//! What providers allow.

use crate::support::{Socket, ask, call, post};
use alloy::primitives::Address;
use fusebox_testkit::{Chain, ManualClock, Node, RangeWording, ResultWording, Rule, block, on};
use serde_json::{Value, json};
use std::time::Duration;

async fn thirty(rule: Rule) -> Node {
    let chain = Chain::new();
    for _ in 0..30 {
        chain.mine(block().log(Address::ZERO, [], []));
    }
    Node::scripted(chain).rule(rule).start().await.unwrap()
}

/// The status, the code, the message, or how many logs there are.
async fn get(node: &Node, filter: Value) -> (u16, Result<usize, (i64, String)>) {
    let response = post(&node.url(), &call(1, "eth_getLogs", json!([filter]))).await.unwrap();
    let status = response.status().as_u16();
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    let said = match body.get("error") {
        None => Ok(body["result"].as_array().unwrap().len()),
        Some(error) => {
            Err((error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned()))
        }
    };
    (status, said)
}

#[tokio::test]
async fn a_range_beyond_the_cap_is_refused_in_the_words_of_its_provider() {
    for (wording, status, code, words) in [
        (RangeWording::Alchemy, 400, -32600, "this block range should work: [0x5, 0xb]"),
        (RangeWording::SameRange, 400, -32600, "this block range should work: [0x5, 0xc]"),
        (RangeWording::Drpc, 200, -32000, "from 5 to 12, maximum is set to 7"),
        (RangeWording::QuickNode, 413, -32614, "eth_getLogs is limited to a 7 range"),
        (RangeWording::LlamaRpc, 200, -32603, "eth_getLogs range is too large, max is 7 blocks"),
        (RangeWording::AlchemyFree, 400, -32600, "Under the Free tier plan, you can make"),
        (RangeWording::Ankr, 200, -32600, "block range is too wide"),
        (RangeWording::Bnb, 200, -32005, "limit exceeded"),
        (RangeWording::PublicNode, 403, -32701, "Please specify an address in your request"),
        (RangeWording::Unknown, 200, -32099, "more than we care to look for"),
    ] {
        let node = thirty(on("eth_getLogs").range_cap(7, wording)).await;
        assert_eq!(get(&node, json!({ "fromBlock": "0x5", "toBlock": "0xb" })).await, (200, Ok(7)));
        let (said, error) = get(&node, json!({ "fromBlock": "0x5", "toBlock": "0xc" })).await;
        let (number, message) = error.unwrap_err();
        assert_eq!((said, number), (status, code), "{wording:?}");
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn tags_count_as_the_numbers_that_they_are() {
    let node = thirty(on("eth_getLogs").range_cap(7, RangeWording::Bnb)).await;
    assert_eq!(get(&node, json!({ "fromBlock": "0x18", "toBlock": "latest" })).await.1, Ok(7));
    assert!(get(&node, json!({ "fromBlock": "0x17", "toBlock": "latest" })).await.1.is_err());
    assert!(get(&node, json!({ "fromBlock": "earliest" })).await.1.is_err());
    let hash = ask(&node.url(), "eth_getBlockByNumber", json!(["0x1", false])).await;
    assert_eq!(get(&node, json!({ "blockHash": hash["hash"] })).await.1, Ok(1));
}

#[tokio::test]
async fn an_answer_beyond_the_cap_is_refused_in_the_words_of_its_provider() {
    for (wording, code, words) in [
        (ResultWording::Alchemy, -32602, "this block range should work: [0x1, 0x2]"),
        (ResultWording::Infura, -32005, "than 3 results. Try with this block range [0x1, 0x2]."),
        (ResultWording::Unknown, -32099, "more than we care to look for"),
    ] {
        let node = thirty(on("eth_getLogs").result_cap(3, wording)).await;
        assert_eq!(get(&node, json!({ "fromBlock": "0x1", "toBlock": "0x3" })).await.1, Ok(3));
        let refused = get(&node, json!({ "fromBlock": "0x1", "toBlock": "0x4" })).await.1;
        let (said, message) = refused.unwrap_err();
        assert_eq!((said, message.contains(words)), (code, true), "{message}");
    }
}

#[tokio::test]
async fn a_token_bucket_says_when_to_come_back() {
    let clock = ManualClock::new(Duration::ZERO);
    let second = Duration::from_secs(1);
    let rule = on("eth_chainId").throttle(2, 3 * second);
    let builder = Node::scripted(Chain::new()).clock(clock.clone());
    let node = builder.rule(rule).start().await.unwrap();
    let once = async || {
        let response = post(&node.url(), &call(1, "eth_chainId", json!([]))).await.unwrap();
        let hint = response.headers().get("retry-after").map(|v| v.to_str().unwrap().to_owned());
        (response.status().as_u16(), hint)
    };
    assert_eq!(once().await, (200, None));
    assert_eq!(once().await, (200, None));
    assert_eq!(once().await, (429, Some("3".into())));
    clock.advance(second / 2);
    assert_eq!(once().await, (429, Some("3".into())), "2.5 s, rounded up");
    clock.advance(5 * second / 2);
    assert_eq!(once().await, (200, None));
    // Over WebSocket there is only the error.
    let mut socket = Socket::open(&node.ws_url()).await.unwrap();
    socket.send(&call(1, "eth_chainId", json!([]))).await;
    assert_eq!(socket.json().await["error"]["code"], -32005);
    assert_eq!(node.calls("eth_chainId").iter().filter(|call| call.upstream.is_some()).count(), 3);
}
