//! A log of events, as the watcher records it: the same machine decides.

use super::lines::{InputError, InputProblem, Lines};
use crate::{
    breaker::Decision,
    machine::{Machine, Observation, Output, Spec, Transition},
    policy::{PolicySpec, Recovery},
};
use fusebox_breaker::State;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::io::BufRead;

/// A snapshot of a node's whole tree may be as long as its answer, which is bounded by 32 MiB.
const LONGEST: u64 = 32 << 20;

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLine {
    /// Milliseconds since genesis.
    pub ms: i64,
    /// What happened.
    #[serde(flatten)]
    pub observation: Observation,
}

/// A file of events, one JSON object a line, of which the first is `spec`.
#[derive(Debug)]
pub struct EventLog<R> {
    lines: Lines<R>,
    start: i64,
    spec: Spec,
}

impl<R: BufRead> EventLog<R> {
    /// Opens it: reads the first line.
    ///
    /// # Errors
    /// Where that is not `spec`.
    pub fn new(reader: R, file: &str) -> Result<Self, InputError> {
        let mut lines = Lines::new(reader, file, LONGEST);
        let first = parse(&mut lines)?;
        match first {
            Some(EventLine { ms, observation: Observation::Spec(spec) }) => {
                Ok(Self { lines, start: ms, spec })
            }
            _ => Err(lines.error(InputProblem::Spec("the first event must be `spec`"))),
        }
    }

    /// The network and the options of the log.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// When it begins, in milliseconds since genesis.
    #[must_use]
    pub fn start(&self) -> i64 {
        self.start
    }

    /// The next event.
    ///
    /// # Errors
    /// Where the line is none.
    pub fn next_event(&mut self) -> Result<Option<EventLine>, InputError> {
        let event = parse(&mut self.lines)?;
        if matches!(event, Some(EventLine { observation: Observation::Spec(_), .. })) {
            return Err(self.lines.error(InputProblem::Spec("`spec` stands here a second time")));
        }
        Ok(event)
    }
}

fn parse<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<EventLine>, InputError> {
    let parsed = lines.next()?.map(serde_json::from_str);
    parsed.transpose().map_err(|error| lines.error(InputProblem::Event(error)))
}

/// What is asked of a log.
#[derive(Clone, Debug)]
pub struct EventOptions {
    /// The policies; each has a machine of its own.
    pub policies: Vec<PolicySpec>,
    /// How they recover, unless each as is usual for it.
    pub recovery: Option<Recovery>,
    /// What a `random` window is drawn from.
    pub seed: u64,
}

/// A line of what came of a log: the answer to a header request, or a transition.
#[derive(Clone, Debug, Serialize)]
pub struct Told<'a> {
    /// Whose, where there are several policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<Transition>,
}

/// Plays a log, and says what each policy answers and does. The number of trips.
///
/// # Errors
/// Where a line is no event, or `tell` fails.
pub fn replay_events<R: BufRead, E: From<InputError>>(
    log: &mut EventLog<R>,
    options: &EventOptions,
    mut tell: impl FnMut(&Told<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    let spec = *log.spec();
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut machines: Vec<_> = options
        .policies
        .iter()
        .map(|policy| {
            let policy = policy.compile(spec.slots_per_epoch, &mut rng);
            let recovery = options.recovery.unwrap_or(policy.default_recovery());
            Machine::new(&spec, policy, recovery, log.start())
        })
        .collect();
    let several = machines.len() > 1;
    let (mut out, mut trips) = (Vec::new(), 0);
    while let Some(EventLine { ms, observation }) = log.next_event()? {
        for machine in &mut machines {
            machine.observe(ms, &observation, &mut out);
            let name = several.then(|| machine.breaker().policy().name());
            for output in out.drain(..) {
                let told = match output {
                    Output::Answer(decision) => {
                        Told { policy: name, decision: Some(decision), transition: None }
                    }
                    Output::Transition(change) => {
                        let tripped = (change.from, change.to) == (State::Closed, State::Open);
                        trips += u64::from(tripped);
                        Told { policy: name, decision: None, transition: Some(change) }
                    }
                    Output::Tick(_) | Output::Late { .. } => continue,
                };
                tell(&told)?;
            }
        }
    }
    Ok(trips)
}
