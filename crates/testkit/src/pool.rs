//! geth's transaction pool, as far as senders trip over it.
//!
//! anvil takes a replacement that raises one fee, or both by 9 %, and answers with other codes. Whoever was tested
//! against anvil alone is stuck on the first busy day; so the rule stands here, in front of it.

use crate::{
    chain,
    rpc::{Answer, Request, RpcError},
};
use alloy::{
    consensus::Transaction,
    primitives::{Address, B256, Bytes},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// geth's `--txpool.pricebump`, in percent, of both fees.
const PRICE_BUMP: u128 = 10;

/// Clones share the pending transactions.
#[derive(Clone, Debug, Default)]
pub(crate) struct GethPool(Arc<Mutex<BTreeMap<(Address, u64), Pending>>>);

/// What is asked of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    hash: B256,
    max_fee: u128,
    tip: u128,
}

/// A transaction on its way into the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entering {
    pub(crate) from: Address,
    nonce: u64,
    pending: Pending,
}

impl Entering {
    /// None if the parameters hold none: then the upstream shall say so.
    pub(crate) fn read(params: &Value) -> Option<Self> {
        let raw: Bytes = serde_json::from_value(params.get(0)?.clone()).ok()?;
        let transaction = chain::decode(&raw).ok()?;
        let max_fee = transaction.max_fee_per_gas();
        // A legacy transaction offers all that it pays as a tip.
        let tip = transaction.max_priority_fee_per_gas().unwrap_or(max_fee);
        let pending = Pending { hash: *transaction.tx_hash(), max_fee, tip };
        Some(Self { from: transaction.signer(), nonce: transaction.nonce(), pending })
    }
}

impl GethPool {
    /// What geth says to it; None if it may enter. `next` is the nonce of the sender's next transaction on the chain.
    pub(crate) fn refuse(&self, entering: &Entering, next: u64) -> Option<RpcError> {
        let Entering { from, nonce, pending } = *entering;
        if nonce < next {
            let message = format!("nonce too low: next nonce {next}, tx nonce {nonce}");
            return Some(RpcError::new(-32000, message));
        }
        let mut waiting = self.lock();
        // What was mined is pending no more.
        waiting.retain(|(account, nonce), _| *account != from || *nonce >= next);
        let old = *waiting.get(&(from, nonce))?;
        if old.hash == pending.hash {
            return Some(RpcError::new(-32000, "already known"));
        }
        let enough = raised(old.max_fee, pending.max_fee) && raised(old.tip, pending.tip);
        (!enough).then(|| RpcError::new(-32000, "replacement transaction underpriced"))
    }

    /// It was sent, and this came of it. An error gets geth's code.
    pub(crate) fn settle(&self, entering: &Entering, answer: &mut Answer) {
        match answer {
            Ok(_) => drop(self.lock().insert((entering.from, entering.nonce), entering.pending)),
            Err(error) if error.http.status.is_success() => error.code = -32000,
            Err(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Address, u64), Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Strictly more, and at least the bump, which is rounded down: from 1 wei, 2 are enough.
fn raised(old: u128, new: u128) -> bool {
    new > old && new >= old.saturating_mul(100 + PRICE_BUMP) / 100
}

/// The hash of a transaction that nobody will ever see; None if it can't be read, so that the upstream says so.
pub(crate) fn swallow(request: &Request) -> Option<Answer> {
    let entering = Entering::read(&request.params)?;
    Some(Ok(entering.pending.hash.to_string().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_percent_rounded_down_and_at_least_one_wei() {
        assert!(!raised(1, 1));
        assert!(raised(1, 2));
        assert!(!raised(100, 109));
        assert!(raised(100, 110));
        assert!(raised(109, 119), "119.9 rounds down");
        assert!(!raised(109, 118));
        assert!(raised(0, 1));
        assert!(!raised(u128::MAX, u128::MAX));
    }
}
