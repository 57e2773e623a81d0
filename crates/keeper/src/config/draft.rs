//! A file that is being read: as it is written, as it is filled in, and what is wrong with it so far.

use super::{
    Tree,
    document::{Document, Places},
    effective,
    fill::{Filler, Sources},
    value,
};
use crate::Refusal;
use fusebox_rpc::{ConfigErrors, Problem, RpcConfig, Rules, Scrubber};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The keys of the pool.
pub(super) const POOL: [&str; 3] = ["breaker", "profile", RULES];

/// The keys of the keeper.
pub(super) const KEEPER: [&str; 10] = [
    "chain",
    "signer",
    "probe",
    "channel",
    "route",
    "heartbeat",
    "store",
    "server",
    "builder",
    "log",
];

/// The key of the user's rules.
const RULES: &str = "rules";

/// What was read, and not yet understood.
pub(super) struct Draft {
    pub(super) written: Tree,
    pub(super) filled: Tree,
    file: File,
    unfilled: Vec<(String, String)>,
    problems: Vec<(String, String)>,
}

/// What is needed to point at a problem.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    places: Places,
    /// What was filled in: a message of others may quote it.
    secrets: Scrubber,
}

impl Draft {
    /// Reads a file, and fills in these of its sections; the others are left alone.
    ///
    /// # Errors
    /// [`Refusal::Configuration`] where there is no file, or no TOML in it.
    pub(super) fn open(path: &Path, sections: &[&str]) -> Result<Self, Refusal> {
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
        let Value::Object(mut written) = value else { return Err(refuse("is empty".to_owned())) };
        let known = [&POOL[..], &KEEPER[..]].concat();
        let problems = written.keys().filter(|key| !known.contains(&key.as_str()));
        let problems = problems.map(|key| (key.clone(), value::unknown_key(key, &known))).collect();
        written.retain(|key, _| sections.contains(&key.as_str()));
        let mut filler = Filler::new(Sources::of(path));
        let filled = match filler.fill(Value::Object(written.clone())) {
            Value::Object(filled) => filled,
            _ => Tree::new(),
        };
        let Filler { problems: unfilled, secrets, .. } = filler;
        let file = File { path: path.to_owned(), places, secrets };
        Ok(Self { written, filled, file, unfilled, problems })
    }

    /// Files are named relative to it.
    pub(super) fn folder(&self) -> &Path {
        self.file.path.parent().unwrap_or(Path::new(""))
    }

    /// The pool's part of it, which is taken out.
    pub(super) fn pools(&mut self) -> Option<(RpcConfig, Rules)> {
        let own = self.filled.remove(RULES);
        let rules = own.map_or(Ok(Rules::shipped().clone()), |own| rules(&own, self.folder()));
        let rules = rules.map_err(|problem| self.problems.push((RULES.to_owned(), problem))).ok();
        let mut pool = Tree::new();
        for key in POOL {
            self.written.remove(key);
            pool.extend(self.filled.remove_entry(key));
        }
        match RpcConfig::from_value(Value::Object(pool)) {
            Ok(rpc) => rules.map(|rules| (rpc, rules)),
            Err(ConfigErrors(errors)) => {
                let errors = errors.into_iter().map(|error| {
                    let problem = problem(&error.key, &error.problem);
                    (error.key, problem)
                });
                self.problems.extend(errors);
                None
            }
        }
    }

    /// What may be shown of the pool's part.
    pub(super) fn take_shown_pool(&self) -> Tree {
        let pool = self.written.iter().filter(|(key, _)| POOL.contains(&key.as_str()));
        pool.map(|(key, value)| (key.clone(), effective::pool(value.clone()))).collect()
    }

    /// What is wrong with something that is replaced does not matter.
    pub(super) fn forget(&mut self, key: &str) {
        self.unfilled.retain(|(unfilled, _)| !unfilled.starts_with(key));
    }

    /// More that is wrong.
    pub(super) fn add(&mut self, problems: Vec<(String, String)>) {
        self.problems.extend(problems);
    }

    /// What came of it, unless anything is wrong.
    pub(super) fn settle<T>(self, read: Option<T>) -> Result<(T, File), Refusal> {
        let Self { file, unfilled, mut problems, .. } = self;
        // What could not be filled in is wrong for that reason alone.
        problems.retain(|(key, _)| !unfilled.iter().any(|(unfilled, _)| unfilled == key));
        problems.extend(unfilled);
        match read {
            Some(read) if problems.is_empty() => Ok((read, file)),
            _ => Err(file.refuse(problems)),
        }
    }
}

/// What is wrong with a key of the pool. Of a misspelt one the nearest.
fn problem(key: &str, problem: &Problem) -> String {
    match problem {
        Problem::UnknownKey { known } => {
            let name = key.rsplit('.').next().unwrap_or(key);
            value::unknown_key(name, &known.split(", ").collect::<Vec<_>>())
        }
        other => other.to_string(),
    }
}

/// The shipped rules with those of a file on top, which is named relative to the configuration.
fn rules(named: &Value, folder: &Path) -> Result<Rules, String> {
    let name = named.as_str().ok_or("is no text; name a file of rules")?;
    let path = folder.join(name);
    let shown = path.display();
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("the file {shown} cannot be read: {}", error.kind()))?;
    Rules::shipped().with(&text).map_err(|error| format!("the file {shown}: {error}"))
}

impl File {
    /// Problems by key, in the order of the file.
    pub(super) fn refuse(&self, problems: Vec<(String, String)>) -> Refusal {
        let mut found: Vec<_> = problems
            .into_iter()
            .map(|(key, problem)| (self.places.of(&key), key, self.secrets.scrub(&problem)))
            .collect();
        found.sort();
        let lines = found.iter().map(|(place, key, problem)| {
            let key = if key.is_empty() { "the file" } else { key };
            format!("{}:{place}: {key}: {problem}", self.path.display())
        });
        Refusal::Configuration(lines.collect::<Vec<_>>().join("\n"))
    }
}
