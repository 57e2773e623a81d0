//! Nodes, a clock that stands still, and a pool in front of them.

use std::time::Duration;

use alloy::rpc::json_rpc::RpcError as AlloyError;
use alloy::transports::TransportError;
use fusebox_rpc::{ManualTime, Pool, PoolBuilder, PoolError, PoolEvent, Servers, pool_error};
use fusebox_testkit::{Chain, Node, NodeBuilder, block};
use serde_json::{Value, json};

/// Chain 31337 with this many blocks on its genesis.
pub(crate) const BLOCKS: u64 = 100;

pub(crate) fn chain() -> Chain {
    let chain = Chain::new();
    chain.mine_empty(BLOCKS - 1);
    chain.mine(block().log([0xaa; 20].into(), [], [1]));
    chain
}

pub(crate) fn node() -> NodeBuilder {
    Node::scripted(chain())
}

/// A pool with the breakers of the design's cases: threshold 5, success 2, 60 s to 600 s, no jitter.
pub(crate) fn pool(time: &ManualTime) -> PoolBuilder {
    Pool::builder(31_337)
        .servers(&Servers::new(std::sync::Arc::new(time.clone())))
        .breaker("category_thresholds", json!({}))
        .breaker("time_window", Value::Null)
        .breaker("jitter_percent", 0)
}

pub(crate) fn of(time: &ManualTime, nodes: &[(&str, &Node)]) -> PoolBuilder {
    nodes.iter().fold(pool(time), |pool, (name, node)| pool.provider(name, &node.url()))
}

pub(crate) async fn ask(pool: &Pool, method: &str, params: Value) -> Result<Value, TransportError> {
    pool.client().request(method.to_owned(), params).await
}

/// A call for state.
pub(crate) async fn call(pool: &Pool) -> Result<Value, TransportError> {
    ask(pool, "eth_call", json!([{}, "latest"])).await
}

/// Asks every node for its chain, so that tests count only what they send.
pub(crate) async fn warm(pool: &Pool, providers: &[&str]) {
    for name in providers {
        let others = providers.iter().find(|other| *other != name);
        let options = others
            .into_iter()
            .fold(fusebox_rpc::CallOptions::new(), |options, other| options.not(other));
        let only = pool.with(options);
        ask(&only, "eth_blockNumber", json!([])).await.unwrap();
    }
}

pub(crate) fn error(result: Result<Value, TransportError>) -> PoolError {
    let error = result.unwrap_err();
    pool_error(&error).unwrap_or_else(|| panic!("not the pool's: {error}")).clone()
}

/// The code and message of the node's own error.
pub(crate) fn node_error(result: Result<Value, TransportError>) -> (i64, String) {
    match result {
        Err(AlloyError::ErrorResp(error)) => (error.code, error.message.into_owned()),
        other => panic!("no error of a node: {other:?}"),
    }
}

pub(crate) fn events(pool: &Pool) -> Vec<PoolEvent> {
    let mut events = Vec::new();
    pool.drain(|event| events.push(event));
    events
}

/// How many breakers opened since the last look, by provider.
pub(crate) fn opened(pool: &Pool) -> Vec<(String, Option<fusebox_rpc::MethodClass>)> {
    let opened = events(pool).into_iter().filter_map(|event| match event {
        PoolEvent::Breaker { provider, class, event, .. }
            if matches!(event.kind, fusebox_breaker::EventKind::Opened { .. }) =>
        {
            Some((provider.to_string(), class))
        }
        _ => None,
    });
    opened.collect()
}

/// Lets time pass in small steps while a call waits for nothing but time.
pub(crate) async fn passing<T>(time: &ManualTime, call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    loop {
        tokio::select! {
            biased;
            done = &mut call => return done,
            () = time.sleeping(1) => {}
        }
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        time.advance(Duration::from_millis(1));
    }
}

/// Lets everything happen that needs no time.
pub(crate) async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

/// Waits for what needs no time to pass, but something to happen.
pub(crate) async fn until(what: &str, happened: impl Fn() -> bool) {
    for _ in 0..1_000_000 {
        if happened() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("waited in vain for {what}");
}
