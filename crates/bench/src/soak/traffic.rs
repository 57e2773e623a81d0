//! What callers of the pool do: all classes, batches, transactions, filters, and giving up.

use std::time::Duration;

use alloy::providers::{DynProvider, Provider};
use alloy::rpc::client::BatchRequest;
use alloy::transports::TransportError;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::tally::End;

/// A contract with [`SLOTS`] words of storage.
pub const ADDRESS: &str = "0x00000000000000000000000000000000000000aa";

/// So many different questions whose answers are known.
pub const SLOTS: u64 = 64;

/// EIP-155's example. Sent again and again, nodes know it, which is an answer too.
const TRANSACTION: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";

/// After which some callers give up.
const PATIENCE_MS: u64 = 100;

/// What is in a slot.
#[must_use]
pub fn word(slot: u64) -> String {
    format!("0x{:064x}", slot + 1)
}

/// How one ended, and what it was if that is a surprise.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub end: End,
    /// For a human.
    pub text: String,
}

/// One call, or several that belong together, as `draw` wants it.
pub async fn one(provider: &DynProvider, draw: u64) -> Ended {
    let (kind, draw) = (draw % 100, draw / 100);
    let address = json!(ADDRESS);
    match kind {
        0..=39 => slot(provider, draw % SLOTS).await,
        40..=49 => any_answer(provider, "eth_blockNumber", json!([])).await,
        50..=59 => {
            any_answer(provider, "eth_call", json!([{ "to": ADDRESS, "data": "0x01" }, "latest"]))
                .await
        }
        60..=74 => {
            let to = format!("{:#x}", 10 + draw % 90);
            let filter = json!({ "fromBlock": "0x1", "toBlock": to, "address": address });
            any_answer(provider, "eth_getLogs", json!([filter])).await
        }
        75..=79 => any_answer(provider, "eth_sendRawTransaction", json!([TRANSACTION])).await,
        80..=83 => any_answer(provider, "debug_traceTransaction", json!([word(0)])).await,
        84..=87 => any_answer(provider, "eth_accounts", json!([])).await,
        88..=91 => filter(provider).await,
        92..=95 => batch(provider, draw % (SLOTS - 1)).await,
        _ => {
            let patience = Duration::from_millis(draw % PATIENCE_MS);
            let given_up = Ended { end: End::GivenUp, text: String::new() };
            timeout(patience, slot(provider, draw % SLOTS)).await.unwrap_or(given_up)
        }
    }
}

async fn slot(provider: &DynProvider, slot: u64) -> Ended {
    let params = json!([ADDRESS, format!("{slot:#x}"), "latest"]);
    let answer = provider.raw_request::<Value, Value>("eth_getStorageAt".into(), params).await;
    ended(&answer, |answer| *answer == json!(word(slot)))
}

async fn any_answer(provider: &DynProvider, method: &'static str, params: Value) -> Ended {
    ended(&provider.raw_request::<Value, Value>(method.into(), params).await, |_| true)
}

/// Made, asked and taken away: the pool remembers where each of them lives.
async fn filter(provider: &DynProvider) -> Ended {
    let made = provider.raw_request::<Value, Value>("eth_newBlockFilter".into(), json!([])).await;
    let Ok(id) = &made else { return ended(&made, |_| true) };
    let changes =
        provider.raw_request::<Value, Value>("eth_getFilterChanges".into(), json!([id])).await;
    let _ = provider.raw_request::<Value, Value>("eth_uninstallFilter".into(), json!([id])).await;
    ended(&changes, Value::is_array)
}

async fn batch(provider: &DynProvider, first: u64) -> Ended {
    let mut batch = BatchRequest::new(provider.client());
    let mut add = |method: &'static str, params: Value| {
        batch.add_call::<Value, Value>(method, &params).expect("JSON is JSON")
    };
    let storage = |slot: u64| json!([ADDRESS, format!("{slot:#x}"), "latest"]);
    let words = [first, first + 1].map(|slot| add("eth_getStorageAt", storage(slot)));
    let head = add("eth_blockNumber", json!([]));
    if let Err(error) = batch.send().await {
        return Ended { end: End::of(&error), text: error.to_string() };
    }
    // The last one that is no answer speaks for all.
    let mut all = ended(&head.await, Value::is_string);
    for (slot, answer) in (first..).zip(words) {
        let one = ended(&answer.await, |answer| *answer == json!(word(slot)));
        if one.end != End::Answered {
            all = one;
        }
    }
    all
}

fn ended(answer: &Result<Value, TransportError>, is_right: impl FnOnce(&Value) -> bool) -> Ended {
    match answer {
        Ok(value) if is_right(value) => Ended { end: End::Answered, text: String::new() },
        Ok(value) => Ended { end: End::Wrong, text: value.to_string() },
        Err(error) => Ended { end: End::of(error), text: error.to_string() },
    }
}
