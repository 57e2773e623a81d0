//! What accounts have. Each block has its own, shared with the next one until something is set.

use alloy::primitives::{Address, B256, Bytes, U256};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) balances: BTreeMap<Address, U256>,
    pub(crate) nonces: BTreeMap<Address, u64>,
    pub(crate) codes: BTreeMap<Address, Bytes>,
    pub(crate) storage: BTreeMap<(Address, U256), B256>,
    pub(crate) calls: BTreeMap<(Address, Bytes), Bytes>,
}
