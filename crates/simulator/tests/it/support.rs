//! What the tests share: an observer, and engines and observers that lie.

use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider, ProviderBuilder, RootProvider},
    rpc::types::{Filter, Log},
};
use fusebox_bindings::{Cause, events};
use fusebox_simulator::{
    Observed, ObservedTransition, Observer, ObserverError, Run, Scenario, drive,
    engine::{AnvilEngine, Engine, EngineError, Sealed},
};

/// Asks for the logs of each block.
pub(crate) struct Logs(RootProvider);

impl Logs {
    pub(crate) fn of(engine: &AnvilEngine) -> Self {
        Self(ProviderBuilder::default().connect_http(engine.url()))
    }
}

impl Observer for Logs {
    async fn observe(&mut self, block: &Sealed) -> Result<Vec<Observed>, ObserverError> {
        let logs = self.0.get_logs(&Filter::new().at_block_hash(block.hash)).await;
        let logs = logs.map_err(|error| ObserverError { reason: error.to_string() })?;
        Ok(logs.iter().filter_map(observed).collect())
    }
}

fn observed(log: &Log) -> Option<Observed> {
    let contract = log.address();
    if let Ok(opened) = log.log_decode::<events::Opened>() {
        let opened = opened.inner.data;
        let transition = ObservedTransition::Opened {
            retry_at: opened.retryAt.to(),
            cause: Cause(opened.cause),
        };
        return Some(Observed { contract, breaker: opened.breaker, transition });
    }
    let closed = log.log_decode::<events::Closed>().ok()?.inner.data;
    let transition = ObservedTransition::Closed;
    Some(Observed { contract, breaker: closed.breaker, transition })
}

/// Sees nothing.
pub(crate) struct Blind;

impl Observer for Blind {
    async fn observe(&mut self, _: &Sealed) -> Result<Vec<Observed>, ObserverError> {
        Ok(Vec::new())
    }
}

/// An engine between the plan and anvil that changes what goes in or comes out.
pub(crate) struct Tampered<D, S> {
    pub(crate) engine: AnvilEngine,
    pub(crate) on_deploy: D,
    pub(crate) on_seal: S,
}

impl<D, S> Engine for Tampered<D, S>
where
    D: FnMut(Bytes) -> Bytes + Send + Sync,
    S: FnMut(&mut Sealed) + Send + Sync,
{
    async fn deploy(&mut self, creation: Bytes) -> Result<Address, EngineError> {
        self.engine.deploy((self.on_deploy)(creation)).await
    }

    async fn submit(&mut self, to: Address, input: Bytes, gas: u64) -> Result<(), EngineError> {
        self.engine.submit(to, input, gas).await
    }

    async fn seal(&mut self, timestamp: u64) -> Result<Sealed, EngineError> {
        let mut sealed = self.engine.seal(timestamp).await?;
        (self.on_seal)(&mut sealed);
        Ok(sealed)
    }

    async fn storage(&self, address: Address, slot: B256) -> Result<U256, EngineError> {
        self.engine.storage(address, slot).await
    }
}

/// The scenario as it stands, on an engine that may lie.
pub(crate) async fn play_tampered(
    on_deploy: impl FnMut(Bytes) -> Bytes + Send + Sync,
    on_seal: impl FnMut(&mut Sealed) + Send + Sync,
) -> Run {
    let scenario = Scenario::builtin("outage-and-recovery").unwrap();
    let engine = AnvilEngine::start().unwrap();
    let mut observer = Logs::of(&engine);
    let mut engine = Tampered { engine, on_deploy, on_seal };
    drive(&scenario, &mut engine, &mut observer, |_| {}).await.unwrap()
}
