//! The model against the contract: the same life of a breaker through both, the word compared after every operation.
//!
//! The contract is the library as it is compiled, in a harness that passes its functions on, on an EVM in this process.
//! 20,000 operations by default; `make fuzz` asks for more cases by `PROPTEST_CASES`.

use crate::{
    contracts::breaker_harness::BreakerHarness,
    strategies::{Act, life},
};
use alloy::{
    primitives::{Address, Bytes, Log, TxKind, U256, address},
    sol_types::{SolCall, SolEvent},
};
use fusebox_bindings::{Config, Event, NEVER, Outcome, Transition, Word, configure, events, step};
use proptest::{prelude::*, test_runner::Config as Cases};
use revm::{
    Context, ExecuteCommitEvm, MainBuilder, MainContext, MainnetEvm,
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::result::{ExecutionResult, Output},
    database::{CacheDB, EmptyDB},
    handler::MainnetContext,
};

const OWNER: Address = address!("00000000000000000000000000000000000000aa");
const SLOT: U256 = U256::from_limbs([7, 0, 0, 0]);
const GAS: u64 = 10_000_000;

/// A harness on a chain of its own.
struct Host {
    evm: MainnetEvm<MainnetContext<CacheDB<EmptyDB>>>,
    address: Address,
}

impl Host {
    fn deploy() -> Self {
        let cfg = CfgEnv::default();
        let context = Context::mainnet().with_db(CacheDB::new(EmptyDB::new())).with_cfg(cfg);
        let mut host = Self { evm: context.build_mainnet(), address: Address::ZERO };
        let created = host.transact(TxKind::Create, BreakerHarness::BYTECODE.clone());
        let ExecutionResult::Success { output: Output::Create(_, Some(address)), .. } = created
        else {
            panic!("{created:?}")
        };
        host.address = address;
        host
    }

    fn transact(&mut self, kind: TxKind, data: Bytes) -> ExecutionResult {
        let transaction = TxEnv::builder()
            .caller(OWNER)
            .kind(kind)
            .data(data)
            .gas_limit(GAS)
            .gas_price(0)
            .nonce(self.nonce())
            .build()
            .unwrap();
        self.evm.transact_commit(transaction).unwrap()
    }

    fn nonce(&mut self) -> u64 {
        use revm::Database;
        self.evm.ctx.journaled_state.database.basic(OWNER).unwrap().unwrap_or_default().nonce
    }

    /// Calls at a time, and returns the logs.
    fn call(&mut self, now: u64, call: &impl SolCall) -> Vec<Log> {
        self.evm.ctx.block = BlockEnv { timestamp: U256::from(now), ..Default::default() };
        let address = self.address;
        match self.transact(TxKind::Call(address), call.abi_encode().into()) {
            ExecutionResult::Success { logs, .. } => logs,
            other => panic!("{other:?}"),
        }
    }

    fn word(&mut self) -> Word {
        use revm::Database;
        let address = self.address;
        Word(self.evm.ctx.journaled_state.database.storage(address, SLOT).unwrap())
    }

    fn apply(&mut self, act: Act, now: u64) -> Vec<Log> {
        let cause = u8::from(Outcome::Rejected);
        match act {
            Act::Step(Event::Success) => self.call(now, &BreakerHarness::successCall {}),
            Act::Step(Event::Failure { weight }) => {
                self.call(now, &BreakerHarness::fail_2Call { cause, weight })
            }
            Act::Step(Event::Trip { until }) => {
                let until = alloy::primitives::aliases::U40::from(until.min(NEVER));
                self.call(now, &BreakerHarness::tripCall { until, cause })
            }
            Act::Step(Event::Reset) => self.call(now, &BreakerHarness::resetCall {}),
            Act::Configure(config) => self.configure(config, now),
        }
    }

    fn configure(&mut self, config: Config, now: u64) -> Vec<Log> {
        let Config { failure_threshold, cooldown, success_threshold, max_cooldown, window, flags } =
            config;
        let config =
            (failure_threshold, cooldown, success_threshold, max_cooldown, window, flags).into();
        self.call(now, &BreakerHarness::configureCall { config })
    }
}

/// What the logs of a call say, with the word after it.
fn emitted(logs: &[Log], next: Word) -> Transition {
    let [log] = logs else {
        assert!(logs.is_empty(), "{logs:?}");
        return Transition::None;
    };
    if let Ok(opened) = events::Opened::decode_log(log) {
        assert_eq!(opened.retryAt, U256::from(next.retry_at()));
        assert_eq!(opened.cause, u8::from(Outcome::Rejected));
        return Transition::Opened;
    }
    events::Closed::decode_log(log).unwrap();
    Transition::Closed
}

proptest! {
    // 30 acts on average.
    #![proptest_config(Cases { cases: Cases::default().cases.max(256) * 3, ..Cases::default() })]
    #[test]
    fn the_contract_and_the_model_agree_bit_for_bit((config, start, acts) in life()) {
        let mut host = Host::deploy();
        let mut now = start;
        host.configure(config, now);
        let mut word = Word::build(config).unwrap();
        prop_assert_eq!(host.word(), word);
        for (act, passed) in acts {
            now = now.saturating_add_signed(passed);
            let logs = host.apply(act, now);
            match act {
                Act::Configure(config) => word = configure(word, config).unwrap(),
                Act::Step(event) => {
                    let (next, transition) = step(word, event, now).unwrap();
                    word = next;
                    prop_assert_eq!(emitted(&logs, word), transition, "{:?} at {}", act, now);
                }
            }
            prop_assert_eq!(host.word(), word, "{:?} at {}", act, now);
        }
    }
}
