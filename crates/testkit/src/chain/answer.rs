//! The methods of a scripted node.

use super::{
    Chain, Change, Inner,
    block::{self, BASE_FEE, Sealed, to_json},
    logs,
};
use crate::rpc::{Answer, RpcError, quantity};
use alloy::{
    eips::BlockId,
    primitives::{Address, B256, Bytes, U256},
    rpc::types::Filter,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{broadcast::error::RecvError, mpsc};

/// Notifications that may wait for a slow connection. Beyond, the chain's backlog fills, then the subscription ends.
const WAITING: usize = 256;

impl Chain {
    pub(crate) fn answer(&self, method: &str, params: &Value) -> Answer {
        let mut chain = self.lock();
        if let Some(canned) = chain.canned.get(method) {
            return Ok(canned.clone());
        }
        if method == "eth_sendRawTransaction" {
            return chain.send(&param(params, 0)?);
        }
        chain.read(method, params)
    }
}

impl Inner {
    fn read(&self, method: &str, params: &Value) -> Answer {
        match method {
            "eth_chainId" => Ok(quantity(self.id)),
            "net_version" => Ok(self.id.to_string().into()),
            "web3_clientVersion" => Ok("fusebox-testkit".into()),
            "eth_syncing" => Ok(false.into()),
            "eth_accounts" => Ok(json!([])),
            "eth_gasPrice" => Ok(quantity(BASE_FEE)),
            "eth_maxPriorityFeePerGas" => Ok(quantity(0)),
            "eth_blockNumber" => Ok(quantity(self.head().header().number)),
            "eth_getBlockByNumber" | "eth_getBlockByHash" => {
                let full = params.get(1).and_then(Value::as_bool).unwrap_or(false);
                let block = self.block(param(params, 0)?);
                Ok(block.map_or(Value::Null, |block| block.json(full)))
            }
            "eth_getBlockReceipts" => {
                let block = self.block(param(params, 0)?);
                Ok(block.map_or(Value::Null, |block| block.receipts_json()))
            }
            "eth_getTransactionReceipt" => {
                let found = self.find(param(params, 0)?);
                Ok(found.map_or(Value::Null, |(block, index)| block.receipt_json(index)))
            }
            "eth_getTransactionByHash" => {
                let found = self.find(param(params, 0)?);
                Ok(found.map_or(Value::Null, |(block, index)| to_json(block.transaction(index))))
            }
            "eth_getLogs" => logs::get(self, &param::<Filter>(params, 0)?),
            "eth_getBalance" => {
                let balances = &self.state(params, 1)?.state.balances;
                Ok(to_json(
                    balances.get(&param::<Address>(params, 0)?).copied().unwrap_or_default(),
                ))
            }
            "eth_getTransactionCount" => {
                let nonces = &self.state(params, 1)?.state.nonces;
                Ok(quantity(nonces.get(&param::<Address>(params, 0)?).copied().unwrap_or_default()))
            }
            "eth_getCode" => {
                let codes = &self.state(params, 1)?.state.codes;
                Ok(to_json(codes.get(&param::<Address>(params, 0)?).cloned().unwrap_or_default()))
            }
            "eth_getStorageAt" => {
                let storage = &self.state(params, 2)?.state.storage;
                let place: (Address, U256) = (param(params, 0)?, param(params, 1)?);
                Ok(to_json(storage.get(&place).copied().unwrap_or_default()))
            }
            "eth_call" => self.call(params),
            unknown => Err(RpcError::new(
                -32601,
                format!("the method {unknown} does not exist/is not available"),
            )),
        }
    }

    fn call(&self, params: &Value) -> Answer {
        let block = self.state(params, 1)?;
        let call = params.get(0).cloned().unwrap_or_default();
        let Some(to) = call.get("to") else { return Ok("0x".into()) };
        let data = call.get("input").or_else(|| call.get("data")).cloned().unwrap_or("0x".into());
        let key: (Address, Bytes) = (read(to.clone())?, read(data)?);
        Ok(to_json(block.state.calls.get(&key).cloned().unwrap_or_default()))
    }

    /// Takes it and says its hash. Only what can't be read is refused: there is no EVM to judge the rest.
    fn send(&mut self, raw: &Bytes) -> Answer {
        let transaction = block::decode(raw).map_err(RpcError::invalid_params)?;
        if self.pool.contains(raw) {
            return Err(RpcError::new(-32000, "already known"));
        }
        self.pool.push(raw.clone());
        Ok(to_json(transaction.tx_hash()))
    }

    fn block(&self, id: BlockId) -> Option<&Arc<Sealed>> {
        match id {
            BlockId::Hash(hash) => self.by_hash.get(&hash.block_hash),
            BlockId::Number(tag) => self.at(self.number(tag)),
        }
    }

    /// The block that is named at `index`, the latest if none is.
    fn state(&self, params: &Value, index: usize) -> Result<&Arc<Sealed>, RpcError> {
        let id = match params.get(index) {
            None | Some(Value::Null) => BlockId::latest(),
            Some(id) => read(id.clone())?,
        };
        self.block(id).ok_or_else(RpcError::header_not_found)
    }

    fn find(&self, transaction: B256) -> Option<(&Arc<Sealed>, usize)> {
        self.canonical.iter().find_map(|block| Some((block, block.find(transaction)?)))
    }
}

/// What happens on the chain, as `eth_subscribe` of this kind tells it. Ends with the receiver.
pub(crate) fn subscribe(chain: &Chain, params: &Value) -> Result<mpsc::Receiver<Value>, RpcError> {
    let filter = match params.get(0).and_then(Value::as_str) {
        Some("newHeads") => None,
        Some("logs") => match params.get(1) {
            None | Some(Value::Null) => Some(Filter::new()),
            Some(filter) => Some(read(filter.clone())?),
        },
        _ => return Err(RpcError::invalid_params("subscribe to newHeads or logs")),
    };
    let (sender, receiver) = mpsc::channel(WAITING);
    let mut changes = chain.changes();
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = sender.closed() => return,
            };
            let messages = match change {
                Ok(change) => notifications(&change, filter.as_ref()),
                // It can't be told what it missed, so it is told no more.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            };
            for message in messages {
                if sender.send(message).await.is_err() {
                    return;
                }
            }
        }
    });
    Ok(receiver)
}

fn notifications(change: &Change, filter: Option<&Filter>) -> Vec<Value> {
    let (block, removed) = match change {
        Change::Added(block) => (block, false),
        Change::Removed(block) => (block, true),
    };
    match filter {
        None if removed => Vec::new(),
        None => vec![block.head_json()],
        Some(filter) => block
            .logs()
            .filter(|log| filter.matches(&log.inner))
            .map(|log| to_json(alloy::rpc::types::Log { removed, ..log }))
            .collect(),
    }
}

fn param<T: DeserializeOwned>(params: &Value, index: usize) -> Result<T, RpcError> {
    let missing = || RpcError::invalid_params(format!("missing value for argument {index}"));
    read(params.get(index).cloned().ok_or_else(missing)?)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value).map_err(RpcError::invalid_params)
}
