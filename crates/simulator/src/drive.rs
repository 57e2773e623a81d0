//! Walks a plan over an engine and compares every block with the model.
//!
//! What had to come is never computed from the contract: the model `step` is fed with what each call did, as told by who
//! answered it, and its word, its transitions and the next answerer are compared with the chain's.

use crate::{
    engine::{CallResult, Engine, EngineError, START},
    observe::{Observed, ObservedTransition, Observer, ObserverError},
    plan::{Action, Plan},
    result::{Answerer, Difference, ModelEvent, Row, Run, Summary},
    scenario::Scenario,
};
use alloy::{
    primitives::{Address, B256, Bytes},
    sol_types::{SolCall, SolConstructor, SolValue},
};
use fusebox_bindings::{
    Cause, Config, ConfigError, Event, Moody, NotConfigured, Outcome, Resilient, State, Stoic,
    Transition, Word, step,
};

/// More than any call of the trio needs, and far below a block's limit.
const AMPLE_GAS: u64 = 1_000_000;

const PRIMARY_SAYS: &str = "Sup.";
const BACKUP_SAYS: &str = "Huzzah!";

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Blocks made.
    pub done: usize,
    /// Blocks in the plan.
    pub blocks: usize,
}

/// A run that could not be finished. A difference is no error: it is a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The chain failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The observer failed.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The policy is one that the contract rejects.
    #[error("the policy is not valid: {0}")]
    Policy(#[from] ConfigError),
    /// The model has no breaker; its word was never configured.
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
}

/// Plays a scenario and compares.
///
/// `progress` is called after each block.
///
/// # Errors
/// When the engine or the observer fails, or the policy is invalid.
pub async fn drive<E: Engine, O: Observer>(
    scenario: &Scenario,
    engine: &mut E,
    observer: &mut O,
    mut progress: impl FnMut(Progress),
) -> Result<Run, DriveError> {
    let plan = Plan::new(scenario);
    let trio = Trio::deploy(scenario, engine).await?;
    let mut model = Model::new(scenario, &trio)?;
    let mut timeline = Vec::new();
    let mut differences = Vec::new();

    for (done, planned) in plan.blocks.iter().enumerate() {
        for action in &planned.actions {
            let (to, input) = trio.transaction(action);
            engine.submit(to, input, AMPLE_GAS).await?;
        }
        let sealed = engine.seal(START + planned.time).await?;
        let (block, time) = (sealed.number, planned.time);

        let mut expected = Vec::new();
        for (action, result) in planned.actions.iter().zip(&sealed.results) {
            let row = model.apply(block, time, action, result, &mut expected, &mut differences)?;
            timeline.push(row);
        }

        let found = observer.observe(&sealed).await?;
        if found != expected {
            differences.push(Difference::Events { block, time, expected, found });
        }
        let found = Word(engine.storage(trio.host, trio.breaker).await?);
        if found != model.word {
            differences.push(Difference::Word { block, time, expected: model.word, found });
        }
        progress(Progress { done: done + 1, blocks: plan.blocks.len() });
    }

    let summary = Summary::new(scenario, &timeline);
    differences.extend(unmet(scenario, &summary));
    let Trio { host, breaker, .. } = trio;
    Ok(Run { scenario: scenario.clone(), host, breaker, timeline, summary, differences })
}

/// The deployed contracts.
struct Trio {
    moody: Address,
    host: Address,
    /// The id of the host's breaker.
    breaker: B256,
}

impl Trio {
    async fn deploy<E: Engine>(scenario: &Scenario, engine: &mut E) -> Result<Self, DriveError> {
        let moody = Moody::constructorCall { greeting_: PRIMARY_SAYS.to_owned() };
        let moody = engine.deploy(creation(&Moody::BYTECODE, &moody)).await?;
        let stoic = Stoic::constructorCall { greeting_: BACKUP_SAYS.to_owned() };
        let stoic = engine.deploy(creation(&Stoic::BYTECODE, &stoic)).await?;
        let host = Resilient::constructorCall {
            primary_: moody,
            secondary_: stoic,
            failureThreshold: scenario.policy.failure_threshold,
            cooldown: scenario.policy.cooldown,
        };
        let host = engine.deploy(creation(&Resilient::BYTECODE, &host)).await?;
        // Resilient's only storage variable.
        Ok(Self { moody, host, breaker: B256::ZERO })
    }

    fn transaction(&self, action: &Action) -> (Address, Bytes) {
        match action {
            Action::Switch { .. } => (self.moody, Moody::toggleMoodCall {}.abi_encode().into()),
            Action::Call { .. } => (self.host, Resilient::safeAskCall {}.abi_encode().into()),
        }
    }
}

fn creation(bytecode: &Bytes, constructor: &impl SolConstructor) -> Bytes {
    [bytecode.as_ref(), &constructor.abi_encode()].concat().into()
}

/// What must be true of the chain.
struct Model {
    word: Word,
    primary_down: bool,
    contract: Address,
    breaker: B256,
}

impl Model {
    fn new(scenario: &Scenario, trio: &Trio) -> Result<Self, DriveError> {
        let policy = &scenario.policy;
        let word = Word::build(Config::simple(policy.failure_threshold, policy.cooldown))?;
        Ok(Self { word, primary_down: false, contract: trio.host, breaker: trio.breaker })
    }

    /// One transaction: its row, the event it must have emitted, and a difference if somebody else had to answer.
    fn apply(
        &mut self,
        block: u64,
        time: u64,
        action: &Action,
        result: &CallResult,
        events: &mut Vec<Observed>,
        differences: &mut Vec<Difference>,
    ) -> Result<Row, DriveError> {
        let now = START + time;
        let before = self.word.state(now)?;
        let mut row = Row {
            block,
            time,
            sender: String::new(),
            call: String::new(),
            answerer: None,
            gas: result.gas_used,
            before,
            after: before,
            event: None,
        };
        let traffic = match action {
            Action::Switch { active, .. } => {
                self.primary_down = *active;
                row.sender.push_str("fault");
                row.call.push_str("toggleMood()");
                return Ok(row);
            }
            Action::Call { traffic } => traffic,
        };
        row.sender.push_str(traffic);
        row.call.push_str("safeAsk()");

        let found = answerer(result);
        let expected = match before {
            State::Closed | State::HalfOpen if !self.primary_down => Answerer::Primary,
            _ => Answerer::Backup,
        };
        if found != expected {
            differences.push(Difference::Answerer { block, time, expected, found });
        }
        row.answerer = Some(found);

        // A backup that answers while open was not preceded by an attempt: to `step`, a failure then is nothing.
        let event = match found {
            Answerer::Primary => Some(Event::Success),
            Answerer::Backup => Some(Event::Failure { weight: 1 }),
            Answerer::Nobody => None,
        };
        if let Some(event) = event {
            let (word, transition) = step(self.word, event, now)?;
            self.word = word;
            row.after = word.state(now)?;
            let seen = match transition {
                Transition::None => None,
                Transition::Opened => {
                    let retry_at = word.retry_at();
                    row.event = Some(ModelEvent::Opened { retry_at: retry_at - START });
                    let cause = Cause::from(Outcome::Reverted);
                    Some(ObservedTransition::Opened { retry_at, cause })
                }
                Transition::Closed => {
                    row.event = Some(ModelEvent::Closed);
                    Some(ObservedTransition::Closed)
                }
            };
            events.extend(seen.map(|transition| Observed {
                contract: self.contract,
                breaker: self.breaker,
                transition,
            }));
        }
        Ok(row)
    }
}

/// Who answered, told from the answer: the two say different things.
fn answerer(result: &CallResult) -> Answerer {
    match String::abi_decode(&result.output).as_deref() {
        Ok(PRIMARY_SAYS) if result.ok => Answerer::Primary,
        Ok(BACKUP_SAYS) if result.ok => Answerer::Backup,
        _ => Answerer::Nobody,
    }
}

fn unmet(scenario: &Scenario, summary: &Summary) -> Vec<Difference> {
    let expect = &scenario.expect;
    [
        ("opened", expect.opened, summary.opened),
        ("closed", expect.closed, summary.closed),
        ("by_primary", expect.by_primary, summary.by_primary),
        ("by_backup", expect.by_backup, summary.by_backup()),
        ("failed", expect.failed, summary.failed),
    ]
    .into_iter()
    .filter(|(_, expected, found)| expected != found)
    .map(|(key, expected, found)| Difference::Expectation { key, expected, found })
    .collect()
}
