//! What goes into a block, and the block that comes of it.

use super::state::State;
use alloy::{
    consensus::{
        Header, Receipt, ReceiptEnvelope, ReceiptWithBloom, Sealable, Sealed as SealedHeader,
        SignableTransaction, Transaction, TxEnvelope, TxLegacy, TxType,
        constants::EMPTY_WITHDRAWALS,
        proofs::{calculate_receipt_root, calculate_transaction_root},
        transaction::{Recovered, SignerRecoverable},
    },
    eips::eip2718::Decodable2718,
    primitives::{
        Address, B256, Bloom, Bytes, Log as RawLog, LogData, Signature, TxKind, U256, keccak256,
    },
    rpc::types::{Block, BlockTransactions, Log, Transaction as RpcTransaction},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// 2026-01-01: after every fork, and the same on each run.
const GENESIS_TIME: u64 = 1_767_225_600;

/// Ethereum's.
const BLOCK_SECONDS: u64 = 12;

const GAS_LIMIT: u64 = 30_000_000;

/// 1 gwei, in every block.
pub(crate) const BASE_FEE: u64 = 1_000_000_000;

/// What each transaction is said to have used; a transfer's.
const GAS_USED: u64 = 21_000;

/// Which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BlockId {
    pub number: u64,
    pub hash: B256,
}

/// What shall go into a block; empty unless told.
#[derive(Clone, Debug, Default)]
#[must_use = "give it to Chain::mine"]
pub struct BlockPlan {
    logs: Vec<RawLog>,
    timestamp: Option<u64>,
}

/// An empty block, to be filled.
pub fn block() -> BlockPlan {
    BlockPlan::default()
}

impl BlockPlan {
    /// A log. All logs of a block belong to one transaction, its first.
    ///
    /// # Panics
    /// With more than four topics.
    pub fn log(
        mut self,
        address: Address,
        topics: impl IntoIterator<Item = B256>,
        data: impl Into<Bytes>,
    ) -> Self {
        let data = LogData::new(topics.into_iter().collect(), data.into());
        self.logs.push(RawLog { address, data: data.expect("the EVM has no LOG5") });
        self
    }

    /// Its timestamp, in seconds; 12 after its parent unless told.
    pub fn at(mut self, timestamp: u64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    pub(super) fn seal(self, parent: &Sealed, chain: u64, salt: u64, sent: Vec<Bytes>) -> Sealed {
        let mut state = Arc::clone(&parent.state);
        let mut transactions = Vec::new();
        let mut receipts = Vec::new();
        if let Some(first) = self.logs.first() {
            transactions.push(made_up(first.address, chain, salt));
            receipts.push(self.logs);
        }
        for raw in sent {
            let transaction = decode(&raw).expect("the pool takes none that can't be read");
            let nonces = &mut Arc::make_mut(&mut state).nonces;
            nonces.insert(transaction.signer(), transaction.nonce() + 1);
            transactions.push(transaction);
            receipts.push(Vec::new());
        }
        let receipts: Vec<_> = (1..)
            .zip(receipts)
            .zip(&transactions)
            .map(|((nth, logs), transaction)| receipt(nth * GAS_USED, logs, transaction.tx_type()))
            .collect();
        let envelopes: Vec<&TxEnvelope> = transactions.iter().map(Recovered::inner).collect();
        let header = Header {
            parent_hash: parent.hash(),
            number: parent.header().number + 1,
            timestamp: self.timestamp.unwrap_or(parent.header().timestamp + BLOCK_SECONDS),
            transactions_root: calculate_transaction_root(&envelopes),
            receipts_root: calculate_receipt_root(&receipts),
            logs_bloom: receipts.iter().fold(Bloom::ZERO, |all, next| all | *next.logs_bloom()),
            gas_used: GAS_USED * receipts.len() as u64,
            extra_data: salt.to_be_bytes().into(),
            ..header(chain)
        };
        Sealed { header: header.seal_slow(), transactions, receipts, state }
    }
}

/// A block with all that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    header: SealedHeader<Header>,
    transactions: Vec<Recovered<TxEnvelope>>,
    receipts: Vec<ReceiptEnvelope>,
    pub(crate) state: Arc<State>,
}

impl Sealed {
    pub(super) fn genesis(chain: u64) -> Self {
        let header = Header { timestamp: GENESIS_TIME, ..header(chain) }.seal_slow();
        let state = Arc::default();
        Self { header, transactions: Vec::new(), receipts: Vec::new(), state }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn hash(&self) -> B256 {
        self.header.hash()
    }

    pub(crate) fn id(&self) -> BlockId {
        BlockId { number: self.header.number, hash: self.hash() }
    }

    /// As `newHeads` gives it.
    pub(crate) fn head_json(&self) -> Value {
        to_json(alloy::rpc::types::Header::from_sealed(self.header.clone()))
    }

    /// As `eth_getBlockBy…` gives it.
    pub(crate) fn json(&self, full: bool) -> Value {
        let transactions = if full {
            BlockTransactions::Full(
                (0..self.transactions.len()).map(|i| self.transaction(i)).collect(),
            )
        } else {
            BlockTransactions::Hashes(self.transactions.iter().map(|tx| *tx.tx_hash()).collect())
        };
        let header = alloy::rpc::types::Header::from_sealed(self.header.clone());
        to_json(Block {
            header,
            uncles: Vec::new(),
            transactions,
            withdrawals: Some(Vec::new().into()),
        })
    }

    /// The place of the transaction with this hash.
    pub(crate) fn find(&self, hash: B256) -> Option<usize> {
        self.transactions.iter().position(|tx| *tx.tx_hash() == hash)
    }

    /// # Panics
    /// Beyond the last one.
    pub(crate) fn transaction(&self, index: usize) -> RpcTransaction {
        RpcTransaction {
            inner: self.transactions[index].clone(),
            block_hash: Some(self.hash()),
            block_number: Some(self.header.number),
            transaction_index: Some(index as u64),
            effective_gas_price: Some(u128::from(BASE_FEE)),
            block_timestamp: Some(self.header.timestamp),
        }
    }

    /// As `eth_getTransactionReceipt` gives it.
    ///
    /// # Panics
    /// Beyond the last one.
    pub(crate) fn receipt_json(&self, index: usize) -> Value {
        let (receipt, transaction) = (&self.receipts[index], &self.transactions[index]);
        let logs: Vec<Log> =
            self.logs().filter(|log| log.transaction_index == Some(index as u64)).collect();
        json!({
            "type": format!("{:#x}", receipt.tx_type() as u8),
            "status": "0x1",
            "cumulativeGasUsed": format!("{:#x}", receipt.cumulative_gas_used()),
            "logs": to_json(logs),
            "logsBloom": receipt.logs_bloom(),
            "transactionHash": transaction.tx_hash(),
            "transactionIndex": format!("{index:#x}"),
            "blockHash": self.hash(),
            "blockNumber": format!("{:#x}", self.header.number),
            "gasUsed": format!("{GAS_USED:#x}"),
            "effectiveGasPrice": format!("{BASE_FEE:#x}"),
            "from": transaction.signer(),
            "to": transaction.to(),
            "contractAddress": null,
        })
    }

    pub(crate) fn receipts_json(&self) -> Value {
        (0..self.receipts.len()).map(|index| self.receipt_json(index)).collect()
    }

    /// All logs, with their places.
    pub(crate) fn logs(&self) -> impl Iterator<Item = Log> {
        let of = (0..).zip(&self.receipts).zip(&self.transactions);
        let logs = of.flat_map(|((index, receipt), tx)| {
            receipt.logs().iter().map(move |log| (index, *tx.tx_hash(), log))
        });
        (0..).zip(logs).map(|(log_index, (transaction_index, hash, log))| Log {
            inner: log.clone(),
            block_hash: Some(self.hash()),
            block_number: Some(self.header.number),
            block_timestamp: Some(self.header.timestamp),
            transaction_hash: Some(hash),
            transaction_index: Some(transaction_index),
            log_index: Some(log_index),
            removed: false,
        })
    }
}

/// What all blocks have in common.
fn header(chain: u64) -> Header {
    Header {
        gas_limit: GAS_LIMIT,
        base_fee_per_gas: Some(BASE_FEE),
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        // Never checked, since no EVM runs. It keeps the blocks of different chains apart, from the genesis on.
        state_root: keccak256(chain.to_be_bytes()),
        ..Header::default()
    }
}

fn receipt(cumulative_gas_used: u64, logs: Vec<RawLog>, kind: TxType) -> ReceiptEnvelope {
    let receipt = Receipt { status: true.into(), cumulative_gas_used, logs };
    ReceiptEnvelope::from_typed(kind, ReceiptWithBloom::from(receipt))
}

/// A transaction that somebody must have sent for there to be logs. `salt` makes its hash another in each block.
fn made_up(to: Address, chain: u64, salt: u64) -> Recovered<TxEnvelope> {
    let transaction = TxLegacy {
        chain_id: Some(chain),
        nonce: salt,
        gas_price: u128::from(BASE_FEE),
        gas_limit: GAS_USED,
        to: TxKind::Call(to),
        value: U256::ZERO,
        input: Bytes::new(),
    };
    let signed = TxEnvelope::from(transaction.into_signed(Signature::test_signature()));
    // Nobody holds the key; but what anyone recovers from the signature shall be what the node says.
    let from = signed.recover_signer().unwrap_or(Address::ZERO);
    Recovered::new_unchecked(signed, from)
}

/// A signed transaction as `eth_sendRawTransaction` takes it, with who signed it; an error says what is wrong with it.
pub(crate) fn decode(raw: &[u8]) -> Result<Recovered<TxEnvelope>, String> {
    let transaction = TxEnvelope::decode_2718_exact(raw).map_err(|error| error.to_string())?;
    let from = transaction.recover_signer().map_err(|error| error.to_string())?;
    Ok(Recovered::new_unchecked(transaction, from))
}

/// # Panics
/// Never: alloy's types have no map whose keys are no text, which is all that JSON refuses.
pub(super) fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("alloy's types are JSON")
}
