//! One JSON-RPC request, with what the pool has to know about it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use alloy::rpc::json_rpc::{Id, Request, SerializedRequest};
use bytes::Bytes;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::context::{block_asked_for, quantity};
use crate::method::{MethodClass, is_idempotent};
use crate::span::BlockSpan;

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) id: Id,
    /// The id as JSON text.
    pub(crate) id_text: String,
    pub(crate) body: Bytes,
    pub(crate) class: MethodClass,
    pub(crate) idempotent: bool,
    /// Headers that the caller attached to this one request.
    pub(crate) headers: HeaderMap,
    params_text: Option<Box<str>>,
    params: OnceLock<Value>,
}

impl Call {
    /// A request as alloy hands it over.
    pub(crate) fn new(request: &SerializedRequest, extra: &BTreeSet<String>) -> Self {
        let method = request.method().to_owned();
        let id = request.id().clone();
        Self {
            class: MethodClass::of(&method),
            idempotent: is_idempotent(&method, extra),
            id_text: serde_json::to_string(&id).unwrap_or_default(),
            id,
            body: Bytes::copy_from_slice(request.serialized().get().as_bytes()),
            headers: request.headers().cloned().unwrap_or_default(),
            params_text: request.params().map(|params| params.get().into()),
            params: OnceLock::new(),
            method,
        }
    }

    /// A request of our own.
    pub(crate) fn make(method: &str, params: &Value) -> Self {
        // Serialising a `Value` cannot fail.
        let request = Request::new(method.to_owned(), Id::Number(0), params).serialize();
        let request = request.expect("a JSON value is JSON");
        Self::new(&request, &BTreeSet::new())
    }

    /// The same request with other parameters.
    pub(crate) fn with_params(&self, params: &Value) -> Self {
        let mut call = Self::make(&self.method, params);
        call.headers = self.headers.clone();
        call.idempotent = self.idempotent;
        call.class = self.class;
        call
    }

    /// The request as JSON, under another id.
    pub(crate) fn under(&self, id: u64) -> String {
        let method = Value::from(self.method.as_str());
        match &self.params_text {
            Some(params) => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
            }
            None => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}}}"#),
        }
    }

    /// The parameters; null where there are none.
    pub(crate) fn params(&self) -> &Value {
        self.params.get_or_init(|| {
            let text = self.params_text.as_deref();
            text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        })
    }

    /// Whether it is a read of logs by range, which may be split.
    pub(crate) fn is_logs(&self) -> bool {
        self.method == "eth_getLogs"
    }

    /// The range of a log query.
    pub(crate) fn span(&self, head: Option<u64>) -> Option<BlockSpan> {
        self.is_logs().then(|| BlockSpan::of_logs(self.params(), head)).flatten()
    }

    /// Whether a log query names an address. Other calls have nothing to name.
    pub(crate) fn has_address(&self) -> bool {
        let address = || self.params().get(0).and_then(|filter| filter.get("address"));
        !self.is_logs()
            || address().is_some_and(|address| match address {
                Value::String(_) => true,
                Value::Array(all) => !all.is_empty(),
                _ => false,
            })
    }

    /// The block whose absence would be `null`.
    pub(crate) fn block(&self) -> Option<u64> {
        match self.class {
            MethodClass::Head | MethodClass::State => block_asked_for(&self.method, self.params()),
            _ => None,
        }
    }

    /// The number of the block that a read is pinned to: an endpoint that has it cannot be behind for this call.
    pub(crate) fn pinned_block(&self) -> Option<u64> {
        let at = match self.method.as_str() {
            "eth_getBlockByNumber" | "eth_getBlockReceipts" => 0,
            "eth_call"
            | "eth_estimateGas"
            | "eth_getBalance"
            | "eth_getCode"
            | "eth_getTransactionCount"
            | "eth_createAccessList" => 1,
            "eth_getStorageAt" | "eth_getProof" => 2,
            "eth_getLogs" => return self.span(None).map(BlockSpan::to),
            _ => return None,
        };
        let block = self.params().get(at)?;
        quantity(block.as_str().or_else(|| block.get("blockNumber")?.as_str())?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_read_is_pinned_to_the_block_it_names() {
        for (method, params, want) in [
            ("eth_call", json!([{}, "0x10"]), Some(16)),
            ("eth_call", json!([{}, { "blockNumber": "0x10" }]), Some(16)),
            ("eth_call", json!([{}, "latest"]), None),
            ("eth_call", json!([{}]), None),
            ("eth_getStorageAt", json!(["0x", "0x", "0x5"]), Some(5)),
            ("eth_getLogs", json!([{ "fromBlock": "0x1", "toBlock": "0x9" }]), Some(9)),
            ("eth_getLogs", json!([{ "fromBlock": "0x1" }]), None),
            ("eth_chainId", Value::Null, None),
        ] {
            assert_eq!(Call::make(method, &params).pinned_block(), want, "{method} {params}");
        }
    }

    #[test]
    fn an_address_is_one_that_is_named() {
        for (filter, want) in [
            (json!({ "address": "0x1" }), true),
            (json!({ "address": ["0x1"] }), true),
            (json!({ "address": [] }), false),
            (json!({ "address": null }), false),
            (json!({}), false),
        ] {
            assert_eq!(Call::make("eth_getLogs", &json!([filter])).has_address(), want, "{filter}");
        }
        assert!(Call::make("eth_call", &json!([])).has_address());
    }
}
