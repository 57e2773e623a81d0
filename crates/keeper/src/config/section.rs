//! Reads tables key by key and keeps going after a problem, so that all of them are told at once.
//!
//! Each table is there twice, as it is written and with its references filled in. While it is read a third one grows:
//! what is in effect, with defaults and without secrets, for `keeper check --json`.

use super::{effective, value};
use alloy::primitives::Address;
use fusebox_rpc::{SecretText, SecretUrl};
use serde_json::{Map, Value};
use std::{cell::RefCell, ops::RangeInclusive, time::Duration};

/// What is wrong, by key.
pub(super) type Problems = RefCell<Vec<(String, String)>>;

/// One table of the file, under the key that leads to it.
pub(super) struct Section<'p> {
    key: String,
    written: Map<String, Value>,
    filled: Map<String, Value>,
    effective: Map<String, Value>,
    known: Vec<&'static str>,
    problems: &'p Problems,
}

/// What kind of URL is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Web {
    /// It *is* a key, so it must not stand in the file, and is `https` but on loopback.
    Key,
    /// `https` but on loopback.
    Sealed,
}

/// A value as it is written, and filled in.
struct Given {
    written: Value,
    filled: Value,
}

impl Given {
    fn tables(self) -> Option<(Map<String, Value>, Map<String, Value>)> {
        match (self.written, self.filled) {
            (Value::Object(written), Value::Object(filled)) => Some((written, filled)),
            _ => None,
        }
    }

    fn items(self) -> Option<Vec<Self>> {
        match (self.written, self.filled) {
            (Value::Array(written), Value::Array(filled)) => {
                let pairs = written.into_iter().zip(filled);
                Some(pairs.map(|(written, filled)| Self { written, filled }).collect())
            }
            _ => None,
        }
    }

    fn texts(self) -> Option<(String, String)> {
        match (self.written, self.filled) {
            (Value::String(written), Value::String(filled)) => Some((written, filled)),
            _ => None,
        }
    }
}

impl<'p> Section<'p> {
    /// The table above all.
    pub(super) fn root(
        written: Map<String, Value>,
        filled: Map<String, Value>,
        problems: &'p Problems,
    ) -> Self {
        Self::new(String::new(), written, filled, problems)
    }

    fn new(
        key: String,
        written: Map<String, Value>,
        filled: Map<String, Value>,
        problems: &'p Problems,
    ) -> Self {
        Self { key, written, filled, effective: Map::new(), known: Vec::new(), problems }
    }

    /// The key of a field.
    pub(super) fn path(&self, name: &str) -> String {
        match self.key.as_str() {
            "" => name.to_owned(),
            key => format!("{key}.{name}"),
        }
    }

    /// Tells a problem with a field.
    pub(super) fn fail(&self, name: &str, what: impl Into<String>) {
        self.problems.borrow_mut().push((self.path(name), what.into()));
    }

    /// Tells a problem with the table as a whole.
    pub(super) fn fail_here(&self, what: impl Into<String>) {
        self.problems.borrow_mut().push((self.key.clone(), what.into()));
    }

    /// Whether a field is given, and was not read yet.
    pub(super) fn has(&self, name: &str) -> bool {
        self.filled.contains_key(name)
    }

    /// Whether a field is this text.
    pub(super) fn is(&self, name: &str, text: &str) -> bool {
        self.filled.get(name).and_then(Value::as_str) == Some(text)
    }

    /// The names in a table that was read.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        let table = self.effective.get(name).and_then(Value::as_object);
        table.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    /// Leaves the rest alone, where it cannot be known what belongs there.
    pub(super) fn ignore(&mut self) {
        self.filled.clear();
    }

    fn take(&mut self, name: &'static str) -> Option<Given> {
        self.known.push(name);
        let given =
            Given { written: self.written.remove(name)?, filled: self.filled.remove(name)? };
        self.effective.insert(name.to_owned(), given.written.clone());
        Some(given)
    }

    fn typed<T>(
        &mut self,
        name: &'static str,
        wanted: &str,
        read: impl FnOnce(Given) -> Option<T>,
    ) -> Option<T> {
        let read = read(self.take(name)?);
        if read.is_none() {
            self.fail(name, format!("must be {wanted}"));
        }
        read
    }

    /// Says what is in effect where nothing is given.
    pub(super) fn or_default(&mut self, name: &str, default: impl Into<Value>) {
        self.effective.entry(name).or_insert(default.into());
    }

    /// A key that must be there.
    pub(super) fn needed<T>(&self, name: &str, value: Option<T>, remedy: &str) -> Option<T> {
        // What is there and wrong has been told.
        if value.is_none() && !self.effective.contains_key(name) {
            self.fail(name, format!("missing; {remedy}"));
        }
        value
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.typed(name, "text", |given| given.texts().map(|(_, filled)| filled))
    }

    /// A text of a form of its own.
    pub(super) fn parsed<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(name)?;
        parse(&text).map_err(|why| self.fail(name, why)).ok()
    }

    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> bool {
        let flag = self.typed(name, "true or false", |given| given.filled.as_bool());
        self.or_default(name, default);
        flag.unwrap_or(default)
    }

    pub(super) fn number(
        &mut self,
        name: &'static str,
        default: u64,
        bounds: RangeInclusive<u64>,
    ) -> u64 {
        let number = self.given_number(name, bounds);
        self.or_default(name, default);
        number.unwrap_or(default)
    }

    pub(super) fn given_number(
        &mut self,
        name: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Option<u64> {
        let wanted = format!("a whole number, {} … {}", bounds.start(), bounds.end());
        self.typed(name, &wanted, |given| given.filled.as_u64().filter(|got| bounds.contains(got)))
    }

    /// A number, or one of some words.
    pub(super) fn number_or_word<T: Copy>(
        &mut self,
        name: &'static str,
        bounds: RangeInclusive<u64>,
        number: fn(u64) -> T,
        words: &[(&str, T)],
    ) -> Option<T> {
        let named = quoted(words.iter().map(|(word, _)| *word));
        let wanted = format!("{named}, or a number, {} … {}", bounds.start(), bounds.end());
        self.typed(name, &wanted, |given| match &given.filled {
            Value::String(text) => {
                words.iter().find(|(word, _)| word == text).map(|(_, meaning)| *meaning)
            }
            other => other.as_u64().filter(|got| bounds.contains(got)).map(number),
        })
    }

    /// One of some words, the first by default.
    pub(super) fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> T {
        let (default, meaning) = words[0];
        let got = self.given_word(name, words);
        self.or_default(name, default);
        got.unwrap_or(meaning)
    }

    pub(super) fn given_word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let wanted = quoted(words.iter().map(|(word, _)| *word));
        self.typed(name, &wanted, |given| {
            let got = given.filled.as_str()?.to_owned();
            words.iter().find(|(word, _)| *word == got).map(|(_, meaning)| *meaning)
        })
    }

    /// A duration within bounds, all of them as the file would have them.
    pub(super) fn duration(
        &mut self,
        name: &'static str,
        default: &str,
        bounds: [&str; 2],
    ) -> Duration {
        let got = self.given_duration(name, bounds);
        self.or_default(name, default);
        got.or_else(|| value::duration(default)).unwrap_or_default()
    }

    pub(super) fn given_duration(
        &mut self,
        name: &'static str,
        bounds: [&str; 2],
    ) -> Option<Duration> {
        let wanted = format!(
            "a duration with its unit, such as \"30s\" or \"1m30s\", {} … {}",
            bounds[0], bounds[1]
        );
        self.typed(name, &wanted, |given| {
            let [least, most] = bounds.map(|bound| value::duration(bound).unwrap_or_default());
            value::duration(given.filled.as_str()?).filter(|got| (least..=most).contains(got))
        })
    }

    /// An address with its checksum.
    pub(super) fn address(&mut self, name: &'static str) -> Option<Address> {
        self.parsed(name, value::address)
    }

    /// Texts, each with its own key.
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<(String, String)> {
        let texts = self.typed(name, "a list of texts", |given| {
            let texts = given.items()?.into_iter().map(Given::texts);
            texts.map(|text| text.map(|(_, filled)| filled)).collect::<Option<Vec<_>>>()
        });
        self.or_default(name, Vec::<Value>::new());
        let path = self.path(name);
        let texts = texts.into_iter().flatten().enumerate();
        texts.map(|(at, text)| (format!("{path}[{at}]"), text)).collect()
    }

    /// Tells a problem with an element of a list.
    pub(super) fn fail_at(&self, key: String, what: impl Into<String>) {
        self.problems.borrow_mut().push((key, what.into()));
    }

    /// A secret: one reference, and nothing beside it.
    pub(super) fn secret(&mut self, name: &'static str) -> Option<SecretText> {
        let (written, filled) = self.typed(name, "text", Given::texts)?;
        self.effective.insert(name.to_owned(), effective::references(&written).into());
        if !value::is_reference(&written) {
            self.fail(name, NO_REFERENCE);
            return None;
        }
        Some(SecretText::new(filled))
    }

    /// A list of secrets, at least one, each with its key.
    pub(super) fn secrets(&mut self, name: &'static str) -> Option<Vec<(String, SecretText)>> {
        let texts = self.typed(name, "a list of texts, at least one", |given| {
            let texts = given.items()?.into_iter().map(Given::texts).collect::<Option<Vec<_>>>();
            texts.filter(|texts| !texts.is_empty())
        });
        // A literal must not get into what is printed, whatever it is.
        let shown = texts.iter().flatten().map(|(written, _)| effective::references(written));
        let shown: Vec<Value> = shown.map(Value::from).collect();
        if self.effective.contains_key(name) {
            self.effective.insert(name.to_owned(), shown.into());
        }
        let path = self.path(name);
        let mut secrets = Vec::new();
        for (at, (written, filled)) in texts?.into_iter().enumerate() {
            let key = format!("{path}[{at}]");
            if !value::is_reference(&written) {
                self.fail_at(key.clone(), NO_REFERENCE);
            }
            secrets.push((key, SecretText::new(filled)));
        }
        Some(secrets)
    }

    /// An address of the web.
    pub(super) fn url(&mut self, name: &'static str, kind: Web) -> Option<SecretUrl> {
        let (written, filled) = self.typed(name, "text", Given::texts)?;
        self.effective.insert(name.to_owned(), effective::url(&written).into());
        let url = SecretUrl::new(filled);
        if let Err(why) = value::web(&url) {
            self.fail(name, why);
            return None;
        }
        if kind == Web::Key && !value::has_reference(&written) && !value::is_loopback(&url) {
            self.fail(
                name,
                "holds a key, so it has no place in the file: write it, or its secret part, as ${NAME} or ${file:PATH}",
            );
            return None;
        }
        Some(url)
    }

    /// A table, which may be missing where its keys may.
    pub(super) fn section<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'_>) -> T,
    ) -> T {
        let tables = match self.take(name) {
            None => Some((Map::new(), Map::new())),
            Some(given) => given.tables(),
        };
        let Some((written, filled)) = tables else {
            self.fail(name, "must be a table");
            // To have a value: whatever is told of it is not the file's fault.
            return read(&mut Section::root(Map::new(), Map::new(), &Problems::default()));
        };
        let mut section = Section::new(self.path(name), written, filled, self.problems);
        let read = read(&mut section);
        self.effective.insert(name.to_owned(), section.finish());
        read
    }

    /// A table of tables with names of their own.
    pub(super) fn entries<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&str, &mut Section<'_>) -> T,
    ) -> Vec<T> {
        let Some(given) = self.take(name) else { return Vec::new() };
        let Some((written, filled)) = given.tables() else {
            self.fail(name, "must be a table of tables");
            return Vec::new();
        };
        let (mut entries, mut shown) = (Vec::new(), Map::new());
        let filled = written.into_iter().zip(filled.into_iter().map(|(_, filled)| filled));
        for ((entry, written), filled) in filled {
            let key = format!("{}.{entry}", self.path(name));
            if !value::is_name(&entry) {
                self.fail_at(key.clone(), value::NAME_RULE);
            }
            match (Given { written, filled }).tables() {
                Some((written, filled)) => {
                    let mut section = Section::new(key, written, filled, self.problems);
                    entries.push(read(&entry, &mut section));
                    shown.insert(entry, section.finish());
                }
                None => self.fail_at(key, "must be a table"),
            }
        }
        self.effective.insert(name.to_owned(), shown.into());
        entries
    }

    /// A list of tables.
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Section<'_>) -> T,
    ) -> Vec<T> {
        let items = self.typed(name, "a list of tables, as [[…]] makes one", Given::items);
        let (mut list, mut shown) = (Vec::new(), Vec::new());
        for (at, item) in items.into_iter().flatten().enumerate() {
            let key = format!("{}[{at}]", self.path(name));
            match item.tables() {
                Some((written, filled)) => {
                    let mut section = Section::new(key, written, filled, self.problems);
                    list.push(read(&mut section));
                    shown.push(section.finish());
                }
                None => self.fail_at(key, "must be a table"),
            }
        }
        if self.effective.contains_key(name) {
            self.effective.insert(name.to_owned(), shown.into());
        }
        list
    }

    /// What is left, for tables whose keys are values.
    pub(super) fn pairs(&mut self) -> Vec<(String, String, Value)> {
        self.effective.append(&mut self.written);
        let pairs = std::mem::take(&mut self.filled);
        pairs.into_iter().map(|(name, value)| (self.path(&name), name, value)).collect()
    }

    /// A key that means nothing yet.
    pub(super) fn later(&mut self, name: &'static str, why: &str) {
        if self.take(name).is_some() {
            self.fail(name, why);
        }
    }

    /// Tells every key that nobody has taken, and gives what is in effect.
    pub(super) fn finish(&mut self) -> Value {
        for name in self.filled.keys() {
            self.fail(name, value::unknown_key(name, &self.known));
        }
        Value::Object(std::mem::take(&mut self.effective))
    }
}

const NO_REFERENCE: &str = "is a secret, so it has no place in the file: write ${NAME} or ${file:PATH}, and nothing beside it";

/// `"a", "b" or "c"`.
fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.map(|word| format!("{word:?}")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
