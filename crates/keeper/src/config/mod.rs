//! The configuration file: `[breaker]` and `[profile]`, which say whom to ask on which chain, and how; and `rules`, a file
//! of rules about what nodes' errors mean.
//!
//! What the keys mean and which values are valid is the business of `fusebox-rpc`. Here the file is found, secrets are
//! filled in from where they are kept, and each problem gets the line it is on. All problems are told at once, and none
//! of them with a value: it may be a key.

mod document;
mod fill;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod settings;

#[allow(unused_imports, reason = "grows into `run` step by step")]
pub(crate) use settings::*;

use crate::Refusal;
use document::{Document, Places};
use fill::{Filler, Sources};
use fusebox_rpc::{ConfigErrors, RpcConfig, Rules, Scrubber};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The key of the user's rules.
const RULES: &str = "rules";

/// A valid configuration, and where in the file its keys are.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) rpc: RpcConfig,
    /// The shipped ones, with the user's on top.
    pub(crate) rules: Rules,
    file: File,
}

/// What is needed to point at a problem.
#[derive(Debug)]
struct File {
    path: PathBuf,
    places: Places,
    /// What was filled in: a message of others may quote it.
    secrets: Scrubber,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Refusal::Configuration`] with all that is wrong, a line each: `file:line:column: key: what, and what to do`.
    pub(crate) fn read(path: &Path) -> Result<Self, Refusal> {
        let refuse = |why| Refusal::Configuration(format!("{}: {why}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| {
            refuse(format!("cannot be read: {error}; give the file with --config"))
        })?;
        let Document { value, places } = Document::parse(&text).map_err(|place| {
            Refusal::Configuration(format!(
                "{}:{place}: is not TOML from here on: look for a missing quote or bracket, and for a key that is there twice",
                path.display()
            ))
        })?;
        let mut filler = Filler::new(Sources::of(path));
        let mut value = filler.fill(value);
        let Filler { problems: unfilled, secrets, .. } = filler;
        let file = File { path: path.to_owned(), places, secrets };
        let mut problems: Vec<(String, String)> = Vec::new();
        let own = value.as_object_mut().and_then(|fields| fields.remove(RULES));
        let rules = own.map_or(Ok(Rules::shipped().clone()), |own| rules(&own, path));
        let rules = rules.map_err(|problem| problems.push((RULES.to_owned(), problem))).ok();
        let rpc = match RpcConfig::from_value(value) {
            Ok(rpc) => Some(rpc),
            Err(ConfigErrors(errors)) => {
                // What could not be filled in is wrong for that reason alone.
                let errors = errors
                    .into_iter()
                    .filter(|error| !unfilled.iter().any(|(key, _)| *key == error.key));
                problems.extend(errors.map(|error| (error.key, error.problem.to_string())));
                None
            }
        };
        problems.extend(unfilled);
        match rpc.zip(rules) {
            Some((rpc, rules)) if problems.is_empty() => Ok(Self { rpc, rules, file }),
            _ => Err(file.refuse(problems)),
        }
    }

    /// What is wrong with a valid file all the same, as settings that a breaker cannot have.
    pub(crate) fn refuse(&self, ConfigErrors(errors): ConfigErrors) -> Refusal {
        self.file.refuse(
            errors.into_iter().map(|error| (error.key, error.problem.to_string())).collect(),
        )
    }
}

/// The shipped rules with those of a file on top, which is named relative to the configuration.
fn rules(named: &Value, config: &Path) -> Result<Rules, String> {
    let name = named.as_str().ok_or("is no text; name a file of rules")?;
    let path = config.parent().unwrap_or(Path::new("")).join(name);
    let shown = path.display();
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("the file {shown} cannot be read: {}", error.kind()))?;
    Rules::shipped().with(&text).map_err(|error| format!("the file {shown}: {error}"))
}

impl File {
    /// Problems by key, in the order of the file.
    fn refuse(&self, problems: Vec<(String, String)>) -> Refusal {
        let mut found: Vec<_> = problems
            .into_iter()
            .map(|(key, problem)| (self.places.of(&key), key, self.secrets.scrub(&problem)))
            .collect();
        found.sort();
        let lines = found.iter().map(|(place, key, problem)| {
            format!("{}:{place}: {key}: {problem}", self.path.display())
        });
        Refusal::Configuration(lines.collect::<Vec<_>>().join("\n"))
    }
}
