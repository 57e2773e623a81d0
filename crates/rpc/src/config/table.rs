//! Reads tables key by key and keeps going after an error.
//!
//! `#[derive(Deserialize)]` stops at the first problem. An operator who edits a file over a slow connection wants all of
//! them, so values are taken out by hand, and what is left over at the end was misspelled.

use std::cell::RefCell;
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Map, Value};

use super::error::{ConfigError, Problem};

/// Where problems are collected.
pub(super) type Problems = RefCell<Vec<ConfigError>>;

/// One table of the file, under the key that leads to it.
pub(super) struct Table<'e> {
    pub(super) key: String,
    fields: Map<String, Value>,
    known: Vec<&'static str>,
    pub(super) problems: &'e Problems,
}

impl<'e> Table<'e> {
    /// `None`, and a problem, if the value is no table.
    pub(super) fn new(key: String, value: Value, problems: &'e Problems) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Self { key, fields, known: Vec::new(), problems }),
            _ => {
                problems
                    .borrow_mut()
                    .push(ConfigError { key, problem: Problem::WrongType { wanted: "a table" } });
                None
            }
        }
    }

    /// The key of a field.
    pub(super) fn path(&self, name: &str) -> String {
        match self.key.as_str() {
            "" => name.to_owned(),
            key => format!("{key}.{name}"),
        }
    }

    /// Reports a problem with a field.
    pub(super) fn fail(&self, name: &str, problem: Problem) {
        self.problems.borrow_mut().push(ConfigError { key: self.path(name), problem });
    }

    /// Reports a problem with the table as a whole.
    pub(super) fn fail_here(&self, problem: Problem) {
        self.problems.borrow_mut().push(ConfigError { key: self.key.clone(), problem });
    }

    /// Takes a field out, whatever it is.
    pub(super) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.fields.remove(name)
    }

    fn typed<T>(
        &mut self,
        name: &'static str,
        wanted: &'static str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let read = read(self.value(name)?);
        if read.is_none() {
            self.fail(name, Problem::WrongType { wanted });
        }
        read
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.typed(name, "text", text)
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.typed(name, "true or false", |value| value.as_bool())
    }

    pub(super) fn number(&mut self, name: &'static str, min: u64, max: u64) -> Option<u64> {
        let got = self.typed(name, "a whole number, not negative", |value| value.as_u64())?;
        if !(min..=max).contains(&got) {
            self.fail(name, Problem::OutOfRange { min, max, got });
            return None;
        }
        Some(got)
    }

    pub(super) fn duration(&mut self, name: &'static str) -> Option<Duration> {
        let wanted = "a duration with its unit that is longer than nothing, such as \"300ms\", \"5s\" or \"1m30s\"";
        self.typed(name, wanted, |value| duration(value.as_str()?))
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        wanted: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        self.typed(name, wanted, |value| {
            let got = value.as_str()?.to_owned();
            words.iter().find(|(word, _)| *word == got).map(|(_, meaning)| *meaning)
        })
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.typed(name, "a list of texts", |value| match value {
            Value::Array(items) => items.into_iter().map(text).collect(),
            _ => None,
        })
    }

    pub(super) fn table(&mut self, name: &'static str) -> Option<Table<'e>> {
        let value = self.value(name)?;
        Table::new(self.path(name), value, self.problems)
    }

    /// The elements of a list of tables.
    pub(super) fn tables(&mut self, name: &'static str) -> Vec<Table<'e>> {
        let items = self.typed(name, "a list of tables", |value| match value {
            Value::Array(items) => Some(items),
            _ => None,
        });
        let path = self.path(name);
        let element = |(i, value)| Table::new(format!("{path}[{i}]"), value, self.problems);
        items.into_iter().flatten().enumerate().filter_map(element).collect()
    }

    /// Whether a field is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Whether nothing is left in it.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// All fields, for tables whose keys are names.
    pub(super) fn entries(self) -> impl Iterator<Item = (String, String, Value)> {
        let Self { key, fields, .. } = self;
        fields.into_iter().map(move |(name, value)| (format!("{key}.{name}"), name, value))
    }

    /// Reports every field that nobody has taken.
    pub(super) fn finish(self) {
        for name in self.fields.keys() {
            self.fail(name, Problem::UnknownKey { known: self.known.join(", ") });
        }
    }
}

pub(super) fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Not zero: every duration of a configuration is one that something waits for.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let parsed: SignedDuration = text.trim().parse().ok()?;
    Duration::try_from(parsed).ok().filter(|duration| !duration.is_zero())
}
