//! A plan on anvil: the shipped bytecode on a real node, which a real watcher can watch.

use super::{CallResult, Engine, EngineError, START, Sealed, find_anvil};
use alloy::{
    node_bindings::AnvilInstance,
    primitives::{Address, B256, Bytes, U64, U256},
    providers::{Provider, ProviderBuilder, RootProvider},
    rpc::{
        json_rpc::{RpcRecv, RpcSend},
        types::{TransactionReceipt, TransactionRequest},
    },
    transports::http::reqwest::{self, Url},
};
use serde::Deserialize;

/// The gas that a contract may need to be created.
const DEPLOY_GAS: u64 = 10_000_000;

/// An anvil of our own. It is killed when this is dropped.
#[derive(Debug)]
pub struct AnvilEngine {
    instance: AnvilInstance,
    provider: RootProvider,
    sender: Address,
    /// Transactions for the next block.
    submitted: usize,
    timestamp: u64,
}

impl AnvilEngine {
    /// Starts an anvil on a free port, that makes a block only when told to.
    ///
    /// # Errors
    /// When there is no anvil, or it does not start.
    pub fn start() -> Result<Self, EngineError> {
        let instance = find_anvil()?
            .args(["--order", "fifo", "--no-mining"])
            .args(["--timestamp", &START.to_string(), "--base-fee", "0"])
            .args(["--hardfork", "prague"])
            .try_spawn()?;
        // Our own anvil is on this machine: no proxy stands before it.
        let client = reqwest::Client::builder().no_proxy().build()?;
        let url = instance.endpoint_url();
        let provider = ProviderBuilder::default().connect_reqwest(client, url);
        let sender = *instance.addresses().first().ok_or(EngineError::NoAccount)?;
        Ok(Self { instance, provider, sender, submitted: 0, timestamp: START })
    }

    /// Where it listens.
    pub fn url(&self) -> Url {
        self.instance.endpoint_url()
    }

    async fn request<P: RpcSend, R: RpcRecv>(
        &self,
        method: &'static str,
        params: P,
    ) -> Result<R, EngineError> {
        let answer = self.provider.raw_request(method.into(), params).await;
        answer.map_err(|source| EngineError::Rpc { method, source })
    }

    /// The account is anvil's own, which it signs for: a plan has no keys.
    async fn send(&mut self, transaction: TransactionRequest) -> Result<B256, EngineError> {
        let transaction = transaction.from(self.sender).gas_price(0);
        let hash = self.request("eth_sendTransaction", [transaction]).await?;
        self.submitted += 1;
        Ok(hash)
    }
}

impl Engine for AnvilEngine {
    async fn deploy(&mut self, creation: Bytes) -> Result<Address, EngineError> {
        let transaction =
            TransactionRequest::default().input(creation.into()).gas_limit(DEPLOY_GAS);
        let hash = self.send(transaction).await?;
        let sealed = self.seal(self.timestamp).await?;
        let receipt: Option<TransactionReceipt> =
            self.request("eth_getTransactionReceipt", [hash]).await?;
        receipt
            .filter(TransactionReceipt::status)
            .and_then(|receipt| receipt.contract_address)
            .ok_or_else(|| EngineError::NotDeployed(sealed.results[0].output.clone()))
    }

    async fn submit(&mut self, to: Address, input: Bytes, gas: u64) -> Result<(), EngineError> {
        let transaction = TransactionRequest::default().to(to).input(input.into()).gas_limit(gas);
        self.send(transaction).await.map(drop)
    }

    async fn seal(&mut self, timestamp: u64) -> Result<Sealed, EngineError> {
        self.timestamp = timestamp;
        let _: serde::de::IgnoredAny =
            self.request("evm_setNextBlockTimestamp", [U64::from(timestamp)]).await?;
        let _: serde::de::IgnoredAny = self.request("evm_mine", ()).await?;

        #[derive(Debug, Deserialize)]
        struct Block {
            number: U64,
            hash: B256,
        }
        let block: Block = self.request("eth_getBlockByNumber", ("latest", false)).await?;

        let receipts: Vec<TransactionReceipt> =
            self.request("eth_getBlockReceipts", [block.number]).await?;
        // Return data is in traces only. Their gas is not used: anvil's adds up over the block.
        #[derive(Debug, Deserialize)]
        struct Traced {
            result: Frame,
        }
        #[derive(Debug, Deserialize)]
        struct Frame {
            #[serde(default)]
            output: Bytes,
        }
        let options = serde_json::json!({
            "tracer": "callTracer", "tracerConfig": { "onlyTopCall": true }
        });
        let traces: Vec<Traced> =
            self.request("debug_traceBlockByNumber", (block.number, options)).await?;

        let number = block.number.to();
        let submitted = std::mem::take(&mut self.submitted);
        let found = receipts.len().min(traces.len());
        if found != submitted {
            return Err(EngineError::Incomplete { number, found, submitted });
        }
        let results = receipts
            .iter()
            .zip(traces)
            .map(|(receipt, Traced { result })| CallResult {
                ok: receipt.status(),
                gas_used: receipt.gas_used,
                output: result.output,
            })
            .collect();
        Ok(Sealed { number, hash: block.hash, results })
    }

    async fn storage(&self, address: Address, slot: B256) -> Result<U256, EngineError> {
        self.request("eth_getStorageAt", (address, slot, "latest")).await
    }
}
