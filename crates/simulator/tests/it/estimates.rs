//! A wallet sends what `eth_estimateGas` says, and not a unit more.
//!
//! The estimator looks for the least gas with which a transaction does not fail. Where a host catches its primary's
//! failure, that is the gas at which the primary starves: without a guard, every honest user of a healthy primary
//! records a failure. With one, too little gas fails, so the estimator ends where the primary answers.

use crate::{
    contracts::{
        decorated_host::DecoratedHost, guarded_host::GuardedHost, plain_try::PlainTry,
        relay::Relay, slow_human::SlowHuman,
    },
    support::Logs,
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider, ProviderBuilder, RootProvider},
    rpc::types::TransactionRequest,
    sol_types::{SolCall, SolConstructor, SolValue},
};
use fusebox_bindings::{FaultTolerantProxy, ProbeRevert, RECORD_CALLS, Stoic, Word};
use fusebox_simulator::{
    Observer,
    engine::{AnvilEngine, Engine, START, Sealed},
};

/// Contracts between the host and the primary's work, the primary included.
const DEPTHS: std::ops::RangeInclusive<usize> = 1..=8;

/// A primary and the budget that it is given.
#[derive(Clone, Copy, Debug)]
struct Primary {
    /// Gas that it spends before it answers.
    work: u64,
    /// Enough through eight calls, each of which keeps a 64th.
    budget: u32,
    /// Whether those in between put an error into one of their own.
    wraps: bool,
}

const LIGHT: Primary = Primary { work: 0, budget: 100_000, wraps: false };
const HEAVY: Primary = Primary { work: 1_500_000, budget: 1_800_000, wraps: false };
const HEAVY_AND_WRAPPED: Primary = Primary { wraps: true, ..HEAVY };

/// Room for the record and the backup.
const RESERVE: u32 = 150_000;

/// What a host is called with, and where.
struct Call {
    kind: &'static str,
    host: Address,
    input: Bytes,
}

struct Chain {
    engine: AnvilEngine,
    provider: RootProvider,
    backup: Address,
}

impl Chain {
    async fn start() -> Self {
        let mut engine = AnvilEngine::start().unwrap();
        let provider = ProviderBuilder::default().connect_http(engine.url());
        let stoic = Stoic::constructorCall { greeting_: "backup".to_owned() };
        let backup = engine.deploy(creation(&Stoic::BYTECODE, &stoic)).await.unwrap();
        Self { engine, provider, backup }
    }

    async fn deploy(&mut self, bytecode: &Bytes, constructor: &impl SolConstructor) -> Address {
        self.engine.deploy(creation(bytecode, constructor)).await.unwrap()
    }

    /// The primary, and before it so many others that there are `depth` calls on the way to its work.
    async fn primary(&mut self, Primary { work, wraps, .. }: Primary, depth: usize) -> Address {
        let greeting_ = "primary".to_owned();
        let slow = SlowHuman::constructorCall { greeting_, work: U256::from(work) };
        let mut next = self.deploy(&SlowHuman::BYTECODE, &slow).await;
        for _ in 1..depth {
            next = self.deploy(&Relay::BYTECODE, &Relay::constructorCall { next, wraps }).await;
        }
        next
    }

    /// Each way to guard a primary, with a breaker that one failure would show in.
    async fn guards(&mut self, primary: Address, budget: u32) -> [Call; 4] {
        let secondary = self.backup;
        let config = (2, 60, 1, 60, 0, 0);
        let limits = (budget, RESERVE, 4096, 64);
        let guarded = GuardedHost::constructorCall {
            primary_: primary,
            secondary_: secondary,
            config: config.into(),
            limits: limits.into(),
        };
        let decorated = DecoratedHost::constructorCall {
            primary_: primary,
            secondary_: secondary,
            config: config.into(),
            limits: limits.into(),
        };
        let proxy = FaultTolerantProxy::constructorCall {
            primary_: primary,
            backup_: secondary,
            owner_: Address::ZERO,
            config: (2, 60, 1, 60, 0, RECORD_CALLS).into(),
            limits: limits.into(),
            probeCalldata: SlowHuman::speakCall {}.abi_encode().into(),
        };
        let guarded = self.deploy(&GuardedHost::BYTECODE, &guarded).await;
        let decorated = self.deploy(&DecoratedHost::BYTECODE, &decorated).await;
        let proxy = self.deploy(&FaultTolerantProxy::BYTECODE, &proxy).await;
        let ask: Bytes = GuardedHost::safeAskCall {}.abi_encode().into();
        let speak: Bytes = SlowHuman::speakCall {}.abi_encode().into();
        [
            Call { kind: "guarded", host: guarded, input: ask.clone() },
            Call { kind: "faultTolerantWith", host: decorated, input: ask },
            Call { kind: "faultTolerant", host: decorated, input: speak.clone() },
            Call { kind: "proxy", host: proxy, input: speak },
        ]
    }

    async fn estimate(&self, to: Address, input: &Bytes) -> u64 {
        let request = TransactionRequest::default().to(to).input(input.clone().into());
        self.provider.estimate_gas(request).await.unwrap()
    }

    async fn send(&mut self, to: Address, input: &Bytes, gas: u64) -> Sealed {
        self.engine.submit(to, input.clone(), gas).await.unwrap();
        self.engine.seal(START).await.unwrap()
    }

    /// The breaker of a host: each of them has its only one in its first slot.
    async fn word(&self, host: Address) -> Word {
        Word(self.engine.storage(host, B256::ZERO).await.unwrap())
    }
}

fn creation(bytecode: &Bytes, constructor: &impl SolConstructor) -> Bytes {
    [&bytecode[..], &constructor.abi_encode()].concat().into()
}

/// Sends exactly what was estimated, and sees the primary's answer and no trace of it in the breaker; with one unit less
/// it is the guard that refuses, so that is where the estimator ended.
async fn sent_as_estimated(primary: Primary) {
    let mut chain = Chain::start().await;
    let mut logs = Logs::of(&chain.engine);
    for depth in DEPTHS {
        let address = chain.primary(primary, depth).await;
        for Call { kind, host, input } in chain.guards(address, primary.budget).await {
            let case = format!("{kind}, depth {depth}, {primary:?}");
            let before = chain.word(host).await;
            assert_eq!(before.failure_threshold(), 2, "{case}: no breaker");

            let gas = chain.estimate(host, &input).await;
            assert!(gas > primary.work + u64::from(RESERVE), "{case}: {gas}");
            let sealed = chain.send(host, &input, gas).await;

            assert!(sealed.results[0].ok, "{case}: failed with {gas}");
            assert_eq!(sealed.results[0].output, "primary".abi_encode(), "{case}");
            assert_eq!(chain.word(host).await, before, "{case}");
            assert_eq!(logs.observe(&sealed).await.unwrap(), [], "{case}");

            let less = &chain.send(host, &input, gas - 1).await.results[0];
            let refusal = ProbeRevert::decode(&less.output);
            assert!(!less.ok, "{case}: {gas} is not the least");
            assert!(
                matches!(refusal, Some(ProbeRevert::InsufficientGas { .. })),
                "{case}: {refusal:?}"
            );
            assert_eq!(chain.word(host).await, before, "{case}");
        }
    }
}

#[tokio::test]
async fn row_04_an_estimate_suffices_for_a_light_primary() {
    sent_as_estimated(LIGHT).await;
}

#[tokio::test]
async fn row_04_an_estimate_suffices_for_a_heavy_primary() {
    sent_as_estimated(HEAVY).await;
}

#[tokio::test]
async fn row_04_an_estimate_suffices_for_a_heavy_primary_whose_errors_are_wrapped() {
    sent_as_estimated(HEAVY_AND_WRAPPED).await;
}

/// What the others are measured against: the same way without a guard, where the estimate starves the primary.
#[tokio::test]
async fn row_04_without_a_guard_an_estimate_makes_a_healthy_primary_fail() {
    let mut chain = Chain::start().await;
    for depth in DEPTHS {
        let primary = chain.primary(HEAVY, depth).await;
        let host = chain.deploy(&PlainTry::BYTECODE, &PlainTry::constructorCall { primary }).await;
        let ask: Bytes = PlainTry::askCall {}.abi_encode().into();

        let gas = chain.estimate(host, &ask).await;
        assert!(gas < HEAVY.work, "depth {depth}: {gas}");
        let sealed = chain.send(host, &ask, gas).await;
        assert!(sealed.results[0].ok, "depth {depth}: {gas}");
        // The count of failures is all that it stores.
        let failures = chain.engine.storage(host, B256::ZERO).await.unwrap();
        assert_eq!(failures, U256::ONE, "depth {depth}: {gas}");
    }
}
