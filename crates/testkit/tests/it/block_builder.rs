//! An execution client and a block builder, asked as a beacon node asks them.

use crate::support::call;
use fusebox_testkit::{BlockBuilder, BuilderNetwork, Engine};
use serde_json::{Value, json};

const NETWORK: BuilderNetwork =
    BuilderNetwork { genesis: 1_000, seconds_per_slot: 12, genesis_fork_version: [0; 4] };
const PARENT: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
const HEADER: &str = "/eth/v1/builder/header/5";
const SUBMIT: &str = "/eth/v1/builder/blinded_blocks";

async fn ask(url: String, body: Option<Value>) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = match body {
        Some(body) => client.post(url).body(body.to_string()),
        None => client.get(url),
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
}

/// The id of the payload for slot 5.
async fn wanted(engine: &Engine) -> Value {
    let state =
        json!({ "headBlockHash": PARENT, "safeBlockHash": PARENT, "finalizedBlockHash": PARENT });
    let attributes = json!({
        "timestamp": "0x424", "prevRandao": PARENT,
        "suggestedFeeRecipient": "0xcccccccccccccccccccccccccccccccccccccccc",
    });
    let params = json!([state, attributes]);
    let (_, answer) = ask(engine.url(), Some(call(1, "engine_forkchoiceUpdatedV1", params))).await;
    assert_eq!(answer["result"]["payloadStatus"]["status"], "VALID");
    answer["result"]["payloadId"].clone()
}

#[tokio::test]
async fn an_engine_builds_an_empty_payload_of_what_is_wanted() {
    let engine = Engine::start().await.unwrap();
    let seen = json!({ "blockHash": PARENT, "blockNumber": "0x7" });
    ask(engine.url(), Some(call(1, "engine_newPayloadV1", json!([seen])))).await;
    let id = wanted(&engine).await;
    assert_eq!(id, wanted(&engine).await, "the same attributes have the same id");
    let (_, answer) = ask(engine.url(), Some(call(2, "engine_getPayloadV1", json!([id])))).await;
    let payload = &answer["result"];
    assert_eq!(payload["parentHash"], PARENT);
    assert_eq!((&payload["blockNumber"], &payload["timestamp"]), (&json!("0x8"), &json!("0x424")));
    assert_eq!(payload["transactions"], json!([]));
    let (_, answer) =
        ask(engine.url(), Some(call(3, "engine_getPayloadV1", json!(["0x00"])))).await;
    assert_eq!(answer["error"]["code"], -32601);
}

#[tokio::test]
async fn a_builder_bids_for_what_is_wanted_and_reveals_what_it_bid() {
    let engine = Engine::start().await.unwrap();
    let builder = BlockBuilder::start(&engine, NETWORK).await.unwrap();
    let url = |path: &str| format!("{}{path}", builder.relay().url());
    let header = url(&format!("{HEADER}/{PARENT}/0xab"));
    assert_eq!(ask(header.clone(), None).await.0, 204, "nobody wants such a block");
    wanted(&engine).await;
    let (status, bid) = ask(header, None).await;
    let header = &bid["data"]["message"]["header"];
    assert_eq!((status, &header["parent_hash"]), (200, &json!(PARENT)));
    let paid = format!("{:?}", BlockBuilder::FEE_RECIPIENT);
    assert_eq!(header["fee_recipient"].as_str().unwrap().to_lowercase(), paid);
    let signed = json!({ "message": { "body": { "execution_payload_header": header } } });
    let (status, payload) = ask(url(SUBMIT), Some(signed)).await;
    assert_eq!((status, &payload["data"]["block_hash"]), (200, &header["block_hash"]));
    assert_eq!(ask(url(SUBMIT), Some(json!({}))).await.0, 400, "it bid no such payload");
}
