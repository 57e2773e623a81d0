//! What a node sees of its upstream's chain.
//!
//! A view changes the question where it names a block, and looks at the block that an answer belongs to. The table of
//! methods is [`block_place`]; methods that are not in it, and subscriptions, are passed on as they are.

use crate::{
    rpc::{Answer, RpcError, number, quantity},
    rule::{Effect, Finality},
    upstream::Upstream,
};
use serde_json::{Value, json};

/// An upstream, seen through the effects of the rules that match.
pub(crate) struct View<'a> {
    upstream: &'a Upstream,
    effects: &'a [Effect],
    stale: u64,
}

/// What a method does with a block that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Null,
    Error,
}

/// Where the parameters name a block.
fn block_place(method: &str) -> Option<(usize, Unknown)> {
    Some(match method {
        "eth_getBlockByNumber"
        | "eth_getBlockByHash"
        | "eth_getBlockReceipts"
        | "eth_getBlockTransactionCountByNumber"
        | "eth_getBlockTransactionCountByHash" => (0, Unknown::Null),
        "eth_getBalance"
        | "eth_getCode"
        | "eth_getTransactionCount"
        | "eth_call"
        | "eth_estimateGas"
        | "eth_createAccessList"
        | "eth_feeHistory" => (1, Unknown::Error),
        "eth_getStorageAt" | "eth_getProof" => (2, Unknown::Error),
        _ => return None,
    })
}

impl<'a> View<'a> {
    pub(crate) fn new(upstream: &'a Upstream, effects: &'a [Effect]) -> Self {
        // Two rules that each make it stale make it staler.
        let stale = effects.iter().map(|effect| match effect {
            Effect::Stale(blocks) => *blocks,
            _ => 0,
        });
        Self { upstream, effects, stale: stale.fold(0, u64::saturating_add) }
    }

    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Answer {
        match method {
            "eth_blockNumber" => self.head().await.map(quantity),
            "eth_getLogs" => self.logs(params).await,
            _ => match self.chain_id(method) {
                Some(answer) => Ok(answer),
                None => self.block(method, params).await,
            },
        }
    }

    /// The numbers that an `eth_getLogs` spans; None if it asks by hash, or for a block that is not there.
    pub(crate) async fn range(&self, params: &Value) -> Result<Option<(u64, u64)>, RpcError> {
        let Some(filter) = params.get(0).filter(|filter| filter.get("blockHash").is_none()) else {
            return Ok(None);
        };
        let from = self.resolve(filter.get("fromBlock")).await?;
        let to = self.resolve(filter.get("toBlock")).await?;
        Ok(from.zip(to))
    }

    async fn head(&self) -> Result<u64, RpcError> {
        let head = self.upstream.ask("eth_blockNumber", &json!([])).await?;
        Ok(number(&head).unwrap_or_default().saturating_sub(self.stale))
    }

    /// Whether nothing beyond this number is to be seen. Without staleness the upstream knows best.
    async fn is_beyond(&self, block: u64) -> Result<bool, RpcError> {
        Ok(self.stale > 0 && block > self.head().await?)
    }

    fn is_hidden(&self, block: u64) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Hide(range) if range.contains(&block)))
    }

    fn chain_id(&self, method: &str) -> Option<Value> {
        let id = self.effects.iter().find_map(|effect| match effect {
            Effect::ChainId(id) => Some(*id),
            _ => None,
        })?;
        match method {
            "eth_chainId" => Some(quantity(id)),
            "net_version" => Some(id.to_string().into()),
            _ => None,
        }
    }

    fn finality(&self) -> Option<Finality> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Finality(finality) => Some(*finality),
            _ => None,
        })
    }

    /// Everything that names a block, or whose answer belongs to one.
    async fn block(&self, method: &str, params: &Value) -> Answer {
        let mut params = params.clone();
        if let Some((index, unknown)) = block_place(method) {
            let named = params.get(index).filter(|named| !named.is_null()).cloned();
            let seen = self.named(named.as_ref()).await?;
            match (seen, unknown) {
                (Named::Missing, Unknown::Null) => return Ok(Value::Null),
                (Named::Missing, Unknown::Error) => return Err(RpcError::header_not_found()),
                (Named::AsAsked, _) => {}
                (Named::Number(number), _) => {
                    let list = params.as_array_mut();
                    let list = list.ok_or_else(|| RpcError::invalid_params("no array"))?;
                    list.resize(list.len().max(index + 1), Value::Null);
                    list[index] = quantity(number);
                }
            }
        }
        let mut answer = self.upstream.ask(method, &params).await?;
        let Some(block) = belongs_to(&answer) else { return Ok(answer) };
        if self.is_hidden(block) || self.is_beyond(block).await? {
            return Ok(Value::Null);
        }
        let genesis = self.effects.iter().find_map(|effect| match effect {
            Effect::Genesis(hash) => Some(hash),
            _ => None,
        });
        if let (0, Some(hash), true) = (block, genesis, method.starts_with("eth_getBlockBy")) {
            answer["hash"] = hash.to_string().into();
        }
        Ok(answer)
    }

    async fn named(&self, block: Option<&Value>) -> Result<Named, RpcError> {
        let inner =
            block.and_then(|block| block.get("blockHash").or(block.get("blockNumber"))).or(block);
        // 32 bytes are a hash.
        if let Some(hash) = inner.filter(|id| id.as_str().is_some_and(|text| text.len() == 66)) {
            let found = self.upstream.ask("eth_getBlockByHash", &json!([hash, false])).await?;
            let Some(number) = found.get("number").and_then(number) else {
                return Ok(Named::AsAsked);
            };
            let missing = self.is_hidden(number) || self.is_beyond(number).await?;
            return Ok(if missing { Named::Missing } else { Named::AsAsked });
        }
        let is_number = inner.is_some_and(|id| number(id).is_some());
        if !is_number && self.stale == 0 && self.finality().is_none() {
            return Ok(Named::AsAsked);
        }
        let Some(number) = self.resolve(inner).await? else { return Ok(Named::Missing) };
        if self.is_hidden(number) || self.is_beyond(number).await? {
            return Ok(Named::Missing);
        }
        Ok(if is_number { Named::AsAsked } else { Named::Number(number) })
    }

    /// Which number this is, or None if the node has no such block; without a tag, the head.
    async fn resolve(&self, tag: Option<&Value>) -> Result<Option<u64>, RpcError> {
        if let Some(number) = tag.and_then(number) {
            return Ok(Some(number));
        }
        match (tag.and_then(Value::as_str), self.finality()) {
            (Some("earliest"), _) => Ok(Some(0)),
            (Some("safe" | "finalized"), Some(Finality::At(number))) => Ok(Some(number)),
            (Some("safe" | "finalized"), Some(Finality::Null)) => Ok(None),
            (Some("safe" | "finalized"), Some(Finality::Unsupported)) => {
                Err(RpcError::invalid_params("unknown block tag"))
            }
            (Some("safe" | "finalized"), None) => {
                let block = self.upstream.ask("eth_getBlockByNumber", &json!([tag, false])).await?;
                let Some(number) = block.get("number").and_then(number) else { return Ok(None) };
                let head = if self.stale > 0 { self.head().await? } else { u64::MAX };
                Ok(Some(number.min(head)))
            }
            _ => self.head().await.map(Some),
        }
    }

    async fn logs(&self, params: &Value) -> Answer {
        let mut params = params.clone();
        if let Some(hash) = params.pointer("/0/blockHash") {
            if let Named::Missing = self.named(Some(hash)).await? {
                return Ok(json!([]));
            }
        } else if self.stale > 0 || self.finality().is_some() {
            let Some((from, to)) = self.range(&params).await? else { return Ok(json!([])) };
            if self.is_beyond(from).await? {
                return Ok(json!([]));
            }
            let to = if self.is_beyond(to).await? { self.head().await? } else { to };
            params[0]["fromBlock"] = quantity(from);
            params[0]["toBlock"] = quantity(to);
        }
        let mut answer = self.upstream.ask("eth_getLogs", &params).await?;
        if let Some(logs) = answer.as_array_mut() {
            logs.retain(|log| !belongs_to(log).is_some_and(|block| self.is_hidden(block)));
        }
        Ok(answer)
    }
}

/// What a named block is in this view.
enum Named {
    AsAsked,
    Number(u64),
    Missing,
}

/// The number of the block that this is, or is in; of a list, its first element's.
fn belongs_to(answer: &Value) -> Option<u64> {
    let one = answer.get(0).unwrap_or(answer);
    number(one.get("number").or_else(|| one.get("blockNumber"))?)
}
