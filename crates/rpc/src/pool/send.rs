//! Transactions: sent once, and what became of one is found out before it is sent again.
//!
//! A connection that breaks during `eth_sendRawTransaction` leaves it open whether the node has the transaction. An error
//! would make callers send another one with the next nonce, and pay twice. But a signed transaction has a name, its
//! hash, and every node can be asked for it.

use alloy::primitives::{hex, keccak256};
use alloy::rpc::json_rpc::ResponsePayload;
use fusebox_breaker::Tick;
use serde_json::json;

use super::Pool;
use super::answer::{Payload, text_result};
use super::attempt::{Held, Tried};
use super::call::Call;
use super::ending::Ended;
use super::error::PoolError;
use super::failover::Run;
use crate::verdict::{Category, Reason};

/// The rule for "already known", which after a send of our own is good news.
const ALREADY_KNOWN: &str = "tx.known";

/// What the nodes know of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// One of them has it.
    Known,
    /// This healthy one, which is not the one it was sent to, does not.
    UnknownAt(usize),
    /// Nobody could say.
    Unclear,
}

impl Pool {
    /// `eth_sendRawTransaction`.
    pub(crate) async fn send_raw(&self, call: &Call, deadline: Tick) -> Result<Payload, PoolError> {
        let Some(hash) = hash(call) else { return self.ask(call, deadline).await };
        let (index, error) = match Run::new(self, call, deadline).end().await {
            Ended::Answer(payload) => return Ok(payload),
            Ended::Failed(error) => return Err(error),
            Ended::Unclear { index, error } => (index, error),
        };
        let second = match self.find(&hash, index, deadline).await {
            Found::Known => return text_result(&hash).ok_or(error),
            Found::Unclear => return Err(error),
            Found::UnknownAt(second) => second,
        };
        // Not through a run, which would go on to a third: one send, there.
        let Some(tried) = self.once(second, call, deadline).await else { return Err(error) };
        let is_known = matches!(&tried.verdict.rule, Reason::Rule(id) if **id == *ALREADY_KNOWN);
        match (tried.verdict.category, tried.payload) {
            (Category::TxPool, _) if is_known => text_result(&hash).ok_or(error),
            (Category::Success, Some(payload)) => Ok(payload),
            (_, payload) => {
                // "Nonce too low" also is what a node says that has just seen the first send mined.
                if self.find(&hash, second, deadline).await == Found::Known {
                    return text_result(&hash).ok_or(error);
                }
                payload.ok_or(error)
            }
        }
    }

    /// Asks for a transaction where it was sent, then elsewhere.
    async fn find(&self, hash: &str, sent_to: usize, deadline: Tick) -> Found {
        let lookup = Call::make("eth_getTransactionByHash", &json!([hash]));
        let others = self.shared.eligible(&self.options).into_iter().filter(|i| *i != sent_to);
        let mut found = Found::Unclear;
        for index in std::iter::once(sent_to).chain(others) {
            let Some(tried) = self.once(index, &lookup, deadline).await else { continue };
            match tried.payload {
                Some(ResponsePayload::Success(result))
                    if tried.verdict.category == Category::Success =>
                {
                    if result.get() != "null" {
                        return Found::Known;
                    }
                    if index != sent_to && found == Found::Unclear {
                        found = Found::UnknownAt(index);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// One attempt at one endpoint, if it may be asked now.
    pub(crate) async fn once(&self, index: usize, call: &Call, deadline: Tick) -> Option<Tried> {
        let target = &self.shared.targets[index];
        self.shared.identify(target, deadline).await.ok()?;
        let now = self.shared.time.now();
        // Past the deadline the attempt would fail at once, and the endpoint would pay for it.
        if now >= deadline || !target.take_pace(now) {
            return None;
        }
        let held = Held::acquire(target.breaker(call.class))?;
        Some(self.shared.attempt(target, call, held, deadline).await)
    }
}

/// The hash of the transaction that a call sends.
fn hash(call: &Call) -> Option<String> {
    let raw = hex::decode(call.params().get(0)?.as_str()?).ok()?;
    Some(hex::encode_prefixed(keccak256(raw)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_named_by_the_hash_of_its_bytes() {
        let named = |params| hash(&Call::make("eth_sendRawTransaction", &params));
        let empty = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
        assert_eq!(named(json!(["0x"])).as_deref(), Some(empty));
        assert_eq!(named(json!(["0xzz"])), None);
        assert_eq!(named(json!([1])), None);
        assert_eq!(named(json!([])), None);
    }
}
