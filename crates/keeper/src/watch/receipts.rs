//! All logs of a block, proven by the receipts root in its header.

use alloy::{
    consensus::{EMPTY_ROOT_HASH, proofs::calculate_receipt_root},
    primitives::{B256, Bloom},
    rpc::types::{Header, Log, TransactionReceipt},
};

/// Its receipts' logs, with where they are from. `None` where the root is another one: they are not all, or not true, or
/// of a chain that reckons otherwise.
pub(super) fn proven(receipts: Vec<TransactionReceipt>, header: &Header) -> Option<Vec<Log>> {
    let (logs, envelopes): (Vec<_>, Vec<_>) = receipts
        .into_iter()
        .map(|receipt| (receipt.logs().to_vec(), receipt.inner.map_logs(|log| log.inner)))
        .unzip();
    let is_root = calculate_receipt_root(&envelopes) == header.receipts_root;
    is_root.then(|| logs.into_iter().flatten().collect())
}

/// Whether the block's hash is that of the header, so that its bloom is the true one. Chains with headers of their own
/// have hashes that cannot be recomputed here.
pub(super) fn is_sealed(header: &Header) -> bool {
    header.inner.hash_slow() == header.hash
}

/// Whether the bloom tells nothing: there are chains with empty ones above blocks with logs.
pub(super) fn is_mute(header: &Header) -> bool {
    header.logs_bloom == Bloom::ZERO
        && header.receipts_root != EMPTY_ROOT_HASH
        && header.receipts_root != B256::ZERO
}
