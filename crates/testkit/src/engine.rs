//! An execution client, as far as a beacon node sees one: its engine API.
//!
//! All payloads are valid, and those that it builds are empty. What a beacon node wants built is also what a block builder
//! has to know, so [`BlockBuilder`](crate::BlockBuilder) asks here.

use crate::{
    relay::{Relay, RelayAnswer, RelayRequest},
    reply::HttpReply,
};
use alloy::{
    consensus::Header,
    primitives::{Address, B256, Bytes, U64, U256, hex},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// What stands in the extra data of payloads that were built here.
const EXTRA_DATA: &[u8] = b"local";
/// Gas of a block: any number does, as long as it is the same in all.
const GAS_LIMIT: u64 = 30_000_000;
/// Wei: the least that the rules allow.
const BASE_FEE: u64 = 7;

/// An execution client that runs. Dropping it closes all that belongs to it.
///
/// It takes any token: who asks is not what is tested with it.
#[derive(Debug)]
pub struct Engine {
    relay: Relay,
    shared: Arc<Building>,
}

/// What is being built, and on what.
#[derive(Debug, Default)]
pub(crate) struct Building {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Of every block that was seen, by its hash.
    numbers: HashMap<B256, u64>,
    /// By the id that was given.
    payloads: HashMap<String, Header>,
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attributes {
    timestamp: U64,
    prev_randao: B256,
    suggested_fee_recipient: Address,
}

impl Engine {
    /// Starts one on a free port of the loopback.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start() -> io::Result<Self> {
        let (relay, shared) = (Relay::start().await?, Arc::<Building>::default());
        let building = Arc::clone(&shared);
        relay.answer_by("", move |request| {
            let answer = building.answer(&request);
            async move { answer }
        });
        Ok(Self { relay, shared })
    }

    /// Where its engine API is.
    #[must_use]
    pub fn url(&self) -> String {
        self.relay.url()
    }

    pub(crate) fn building(&self) -> Arc<Building> {
        Arc::clone(&self.shared)
    }
}

impl Building {
    /// The payload on this block for this time, as soon as a beacon node wants one.
    pub(crate) async fn payload(&self, parent: B256, timestamp: u64) -> Header {
        let mut changed = self.changed.subscribe();
        loop {
            let fits =
                |header: &&Header| header.parent_hash == parent && header.timestamp == timestamp;
            if let Some(header) = self.lock().payloads.values().find(fits) {
                return header.clone();
            }
            // An error is the end of the engine: nothing will come.
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn answer(&self, request: &RelayRequest) -> RelayAnswer {
        let Ok(call) = serde_json::from_slice::<Call>(&request.body) else {
            return HttpReply::new(400).into();
        };
        let mut answer = json!({ "jsonrpc": "2.0", "id": call.id });
        match self.result(&call) {
            Some(result) => answer["result"] = result,
            None => {
                let message = format!("{} is not answered so", call.method);
                answer["error"] = json!({ "code": -32601, "message": message });
            }
        }
        let reply = HttpReply::new(200).header("content-type", "application/json");
        reply.body(answer.to_string()).into()
    }

    /// None for what no beacon node asks, and for what is not understood.
    fn result(&self, call: &Call) -> Option<Value> {
        let first = call.params.first()?;
        // Versions differ in fields that are of no account here.
        match call.method.trim_end_matches(|end: char| end.is_ascii_digit()) {
            "engine_exchangeTransitionConfigurationV" => Some(first.clone()),
            "engine_newPayloadV" => {
                let hash: B256 = field(first, "blockHash")?;
                let number: U64 = field(first, "blockNumber")?;
                self.lock().numbers.insert(hash, number.to());
                Some(json!({ "status": "VALID", "latestValidHash": hash, "validationError": null }))
            }
            "engine_forkchoiceUpdatedV" => {
                let head: B256 = field(first, "headBlockHash")?;
                let id = match call.params.get(1).filter(|attributes| !attributes.is_null()) {
                    Some(attributes) => {
                        Some(self.build(head, serde_json::from_value(attributes.clone()).ok()?))
                    }
                    None => None,
                };
                let status =
                    json!({ "status": "VALID", "latestValidHash": head, "validationError": null });
                Some(json!({ "payloadStatus": status, "payloadId": id }))
            }
            "engine_getPayloadV" => self.lock().payloads.get(first.as_str()?).map(to_engine),
            _ => None,
        }
    }

    /// The id of the payload with these attributes; the same ones have the same.
    fn build(&self, parent: B256, attributes: Attributes) -> String {
        let mut state = self.lock();
        let header = Header {
            parent_hash: parent,
            beneficiary: attributes.suggested_fee_recipient,
            number: state.numbers.get(&parent).map_or(1, |number| number + 1),
            gas_limit: GAS_LIMIT,
            timestamp: attributes.timestamp.to(),
            extra_data: Bytes::from_static(EXTRA_DATA),
            mix_hash: attributes.prev_randao,
            base_fee_per_gas: Some(BASE_FEE),
            ..Header::default()
        };
        let id = hex::encode_prefixed(&header.hash_slow()[..8]);
        state.payloads.insert(id.clone(), header);
        drop(state);
        self.changed.send_replace(());
        id
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn field<T: for<'de> Deserialize<'de>>(value: &Value, name: &str) -> Option<T> {
    T::deserialize(value.get(name)?).ok()
}

/// A payload without transactions, as the engine API writes it.
fn to_engine(header: &Header) -> Value {
    json!({
        "parentHash": header.parent_hash,
        "feeRecipient": header.beneficiary,
        "stateRoot": header.state_root,
        "receiptsRoot": header.receipts_root,
        "logsBloom": header.logs_bloom,
        "prevRandao": header.mix_hash,
        "blockNumber": U64::from(header.number),
        "gasLimit": U64::from(header.gas_limit),
        "gasUsed": U64::from(header.gas_used),
        "timestamp": U64::from(header.timestamp),
        "extraData": header.extra_data,
        "baseFeePerGas": U256::from(header.base_fee_per_gas.unwrap_or_default()),
        "blockHash": header.hash_slow(),
        "transactions": [],
    })
}
