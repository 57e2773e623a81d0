//! One endpoint for one logical operation.
//!
//! Two reads that belong together must not come from two nodes that stand on different blocks. A pin gives one endpoint
//! and never switches silently: when it is lost, the operation starts over.

use std::collections::BTreeSet;

use alloy::rpc::client::RpcClient;

use super::Pool;
use super::call::Call;
use super::error::{Name, Rejection};
use super::options::CallOptions;
use super::pick::Pick;

/// A pool of one endpoint; see [`Pool::pin`]. Calls through it fail with [`PoolError::PinLost`](crate::PoolError::PinLost) once the endpoint no
/// longer serves.
#[derive(Debug, Clone)]
pub struct Pinned(Pool);

impl Pinned {
    /// Whose endpoint it is.
    #[must_use]
    pub fn provider(&self) -> Name {
        let index = self.0.options.pin.unwrap_or_default();
        self.0.shared.targets[index].name.clone()
    }

    /// A client for alloy's providers.
    #[must_use]
    pub fn client(&self) -> RpcClient {
        self.0.client()
    }

    /// The same endpoint, for calls with these options.
    #[must_use]
    pub fn with(&self, options: CallOptions) -> Self {
        Self(self.0.with(CallOptions { pin: self.0.options.pin, ..options }))
    }
}

impl Pool {
    /// The endpoint that a call for state would be sent to now.
    ///
    /// # Errors
    ///
    /// Nobody would be asked.
    pub fn pin(&self) -> Result<Pinned, Rejection> {
        // A balance, which every node has to be able to tell.
        let call = Call::make("eth_getBalance", &serde_json::Value::Null);
        match self.shared.pick(&call, &self.options, &BTreeSet::new(), self.deadline()) {
            Pick::Ask { index, wait } if wait.is_zero() => Ok(Pinned(self.pinned_to(index))),
            Pick::Ask { wait, .. } => Err(Rejection::Throttled { retry_in: wait }),
            Pick::Nobody(rejection) => Err(rejection),
            // A last resort is for one call, and a balance has no range.
            Pick::LastResort { .. } | Pick::Split { .. } => {
                Err(Rejection::AllOpen { retry_in: self.shared.cfg.last_resort_interval })
            }
        }
    }

    pub(crate) fn pinned_to(&self, index: usize) -> Self {
        self.with(CallOptions { pin: Some(index), ..self.options.clone() })
    }
}
