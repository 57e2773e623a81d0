//! Numbers and hashes as databases have them.

use super::StoreError;
use alloy::primitives::FixedBytes;

/// A number that a signed column can hold. Beyond it are only values that hostile contracts name, which mean "never".
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The number in a column of ours.
pub(crate) fn uint(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|_| StoreError::Corrupt(format!("the number {value}")))
}

/// A hash or an address as a blob.
pub(crate) fn blob<const N: usize>(value: FixedBytes<N>) -> Vec<u8> {
    value.to_vec()
}

/// The hash in a column of ours.
pub(crate) fn hash<const N: usize>(value: &[u8]) -> Result<FixedBytes<N>, StoreError> {
    FixedBytes::try_from(value)
        .map_err(|_| StoreError::Corrupt(format!("{} bytes in place of {N}", value.len())))
}
