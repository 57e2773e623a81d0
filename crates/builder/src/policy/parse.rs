//! The text of a policy: `name`, `name(key=value,…)`, `any(p,q,…)`, `all(p,q,…)`.

use super::{
    Compiled, Expr, Leaf,
    kind::{KINDS, Key, Kind},
};
use crate::{clock::SlotsPerEpoch, evidence::View};
use rand::Rng;
use std::{fmt, str::FromStr};

/// How deep `any` and `all` nest. A rule that needs more cannot be explained to whoever is woken by it.
pub const MAX_DEPTH: usize = 4;
/// How many rules a policy combines. Each is judged twice a slot.
pub const MAX_LEAVES: usize = 16;

/// A policy as it was written. It becomes one for a network with [`PolicySpec::compile`].
#[derive(Clone, Debug)]
pub struct PolicySpec {
    text: String,
    expr: Draft,
}

#[derive(Clone, Debug)]
enum Draft {
    Leaf { kind: &'static Kind, numbers: Vec<Number>, view: Option<View> },
    Any(Vec<Draft>),
    All(Vec<Draft>),
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Is(u64),
    Random,
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy `{text}`, at character {at}: {problem}")]
pub struct PolicyError {
    /// The whole text.
    pub text: String,
    /// The character at which the problem is, from 1.
    pub at: usize,
    /// What is wrong there.
    pub problem: PolicyProblem,
}

/// What is wrong with a policy's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyProblem {
    /// Something else had to stand here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// No policy has this name.
    #[error("there is no policy `{given}`; there are any, all, {}", names())]
    UnknownPolicy {
        /// What was written.
        given: String,
    },
    /// The policy does not take this key.
    #[error("{policy} has no `{given}`; it takes {}", list(.allowed))]
    UnknownKey {
        /// The policy.
        policy: &'static str,
        /// What was written.
        given: String,
        /// What it takes.
        allowed: Vec<&'static str>,
    },
    /// The key was there before.
    #[error("`{0}` stands here a second time")]
    Repeated(String),
    /// The policy needs this key.
    #[error("{policy} needs `{key}`")]
    Missing {
        /// The policy.
        policy: &'static str,
        /// The key.
        key: &'static str,
    },
    /// The value is not one that the key can have.
    #[error("`{given}` is no {key}, which is {allowed}")]
    Value {
        /// The key.
        key: String,
        /// What was written.
        given: String,
        /// What can be.
        allowed: String,
    },
    /// More faults are allowed than the window can have.
    #[error("faults={faults} can never be exceeded: it must be below window={window}")]
    NoFault {
        /// The faults that are allowed.
        faults: u64,
        /// The window.
        window: u64,
    },
    /// `any` and `all` are nested too deep.
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// Too many rules.
    #[error("more than {MAX_LEAVES} rules")]
    TooManyLeaves,
}

fn names() -> String {
    list(&KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>())
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no keys".to_owned() } else { names.join(", ") }
}

impl PolicySpec {
    /// The policy for a network. Where a window is `random` it is drawn here, once.
    #[must_use]
    pub fn compile(&self, epoch: SlotsPerEpoch, rng: &mut impl Rng) -> Compiled {
        let expr = self.expr.compile(epoch.get(), rng);
        let (view, latches) = match &self.expr {
            Draft::Leaf { kind, view, .. } => (view.unwrap_or(kind.view), kind.name == "seed"),
            _ => (View::Tree, false),
        };
        Compiled { expr, name: self.text.clone(), view, latches }
    }
}

impl Draft {
    fn compile(&self, epoch: u64, rng: &mut impl Rng) -> Expr {
        match self {
            Self::Leaf { kind, numbers, view } => {
                // Drawn so that operators of one client do not all open in the same slot (lodestar#7481).
                let mut draw = |number: &Number| match number {
                    Number::Is(number) => *number,
                    Number::Random => rng.random_range(epoch..2 * epoch),
                };
                let numbers: Vec<_> = numbers.iter().map(&mut draw).collect();
                let rule = (kind.rule)(&numbers, epoch);
                Expr::Leaf(Leaf { rule, view: view.unwrap_or(kind.view) })
            }
            Self::Any(parts) => {
                Expr::Any(parts.iter().map(|part| part.compile(epoch, rng)).collect())
            }
            Self::All(parts) => {
                Expr::All(parts.iter().map(|part| part.compile(epoch, rng)).collect())
            }
        }
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for PolicySpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let text = text.trim();
        let mut parser = Parser { text, at: 0, leaves: 0 };
        let parsed = parser.policy(0).and_then(|expr| {
            parser.space();
            if parser.at < text.len() {
                return Err(parser.expected("the end"));
            }
            Ok(expr)
        });
        match parsed {
            Ok(expr) => Ok(Self { text: text.to_owned(), expr }),
            Err((at, problem)) => {
                let at = text[..at].chars().count() + 1;
                Err(PolicyError { text: text.to_owned(), at, problem })
            }
        }
    }
}

/// Where, in bytes, and what.
type Problem = (usize, PolicyProblem);

struct Parser<'a> {
    text: &'a str,
    at: usize,
    leaves: usize,
}

impl<'a> Parser<'a> {
    fn policy(&mut self, depth: usize) -> Result<Draft, Problem> {
        let (start, name) = self.word();
        if name.is_empty() {
            return Err(self.expected("the name of a policy"));
        }
        if name == "any" || name == "all" {
            if depth == MAX_DEPTH {
                return Err((start, PolicyProblem::TooDeep));
            }
            let parts = self.parts(depth + 1)?;
            return Ok(if name == "any" { Draft::Any(parts) } else { Draft::All(parts) });
        }
        let kind = Kind::named(name)
            .ok_or_else(|| (start, PolicyProblem::UnknownPolicy { given: name.to_owned() }))?;
        self.leaves += 1;
        if self.leaves > MAX_LEAVES {
            return Err((start, PolicyProblem::TooManyLeaves));
        }
        self.leaf(start, kind)
    }

    fn parts(&mut self, depth: usize) -> Result<Vec<Draft>, Problem> {
        if !self.take('(') {
            return Err(self.expected("`(`"));
        }
        let mut parts = vec![self.policy(depth)?];
        while self.take(',') {
            parts.push(self.policy(depth)?);
        }
        if self.take(')') { Ok(parts) } else { Err(self.expected("`,` or `)`")) }
    }

    fn leaf(&mut self, start: usize, kind: &'static Kind) -> Result<Draft, Problem> {
        let mut given: Vec<Option<(usize, Number)>> = vec![None; kind.keys.len()];
        let mut view = None;
        if self.take('(') && !self.take(')') {
            loop {
                self.pair(kind, &mut given, &mut view)?;
                if self.take(')') {
                    break;
                }
                if !self.take(',') {
                    return Err(self.expected("`,` or `)`"));
                }
            }
        }
        no_fault(kind, &given)?;
        let numbers = kind.keys.iter().zip(given).map(|(key, given)| {
            let number = given.map(|(_, number)| number).or(key.default.map(Number::Is));
            number.ok_or((start, PolicyProblem::Missing { policy: kind.name, key: key.name }))
        });
        Ok(Draft::Leaf { kind, numbers: numbers.collect::<Result<_, _>>()?, view })
    }

    fn pair(
        &mut self,
        kind: &'static Kind,
        given: &mut [Option<(usize, Number)>],
        view: &mut Option<View>,
    ) -> Result<(), Problem> {
        let (start, name) = self.word();
        if name.is_empty() {
            return Err(self.expected("a key"));
        }
        let place = kind.keys.iter().position(|key| key.name == name);
        if place.is_none() && !(kind.takes_view && name == "view") {
            let (policy, given, allowed) = (kind.name, name.to_owned(), kind.key_names());
            return Err((start, PolicyProblem::UnknownKey { policy, given, allowed }));
        }
        if !self.take('=') {
            return Err(self.expected("`=`"));
        }
        let (at, value) = self.word();
        let repeated = || (start, PolicyProblem::Repeated(name.to_owned()));
        match place {
            Some(place) if given[place].is_some() => Err(repeated()),
            Some(place) => {
                given[place] = Some((at, number(&kind.keys[place], value, at)?));
                Ok(())
            }
            None if view.is_some() => Err(repeated()),
            None => {
                *view = Some(self.view(value, at)?);
                Ok(())
            }
        }
    }

    fn view(&self, value: &str, at: usize) -> Result<View, Problem> {
        match value {
            "tree" => Ok(View::Tree),
            "canonical" => Ok(View::Canonical),
            _ => Err((at, wrong("view", value, "tree or canonical".to_owned()))),
        }
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// A name, a number, or nothing; and where it begins.
    fn word(&mut self) -> (usize, &'a str) {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || "(),=".contains(c));
        let word = &rest[..end.unwrap_or(rest.len())];
        let start = self.at;
        self.at += word.len();
        (start, word)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expected(&self, what: &'static str) -> Problem {
        (self.at, PolicyProblem::Expected(what))
    }
}

fn number(key: &Key, value: &str, at: usize) -> Result<Number, Problem> {
    if key.random && value == "random" {
        return Ok(Number::Random);
    }
    // `parse` takes a plus sign, the grammar does not.
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| digits);
    match number {
        Some(number) if (key.least..=key.most).contains(&number) => Ok(Number::Is(number)),
        _ => {
            let random = if key.random { ", or random" } else { "" };
            let allowed = format!("a number from {} to {}{random}", key.least, key.most);
            Err((at, wrong(key.name, value, allowed)))
        }
    }
}

fn wrong(key: &str, given: &str, allowed: String) -> PolicyProblem {
    PolicyProblem::Value { key: key.to_owned(), given: given.to_owned(), allowed }
}

/// A window with as many allowed faults as slots can never open.
fn no_fault(kind: &Kind, given: &[Option<(usize, Number)>]) -> Result<(), Problem> {
    let place = |name| kind.keys.iter().position(|key| key.name == name);
    let (Some(window), Some(faults)) = (place("window"), place("faults")) else {
        return Ok(());
    };
    let window = match (given[window], kind.keys[window].default) {
        (Some((_, Number::Is(window))), _) | (None, Some(window)) => window,
        _ => return Ok(()), // random: of an epoch at least, and faults are capped to a quarter
    };
    let default = kind.keys[faults].default.unwrap_or(0);
    match given[faults] {
        Some((at, Number::Is(faults))) if faults >= window => {
            Err((at, PolicyProblem::NoFault { faults, window }))
        }
        // Teku's default of 5 beside a small window. A default that is capped needs no check.
        None if default != u64::MAX && default >= window => {
            Err((0, PolicyProblem::NoFault { faults: default, window }))
        }
        _ => Ok(()),
    }
}
