//! A TOML file as a tree, with the place of each key.
//!
//! Errors of the parser are not repeated: they quote the line, where a key may be.

use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};
use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

/// A place in a file, both numbers from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    line: usize,
    column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Place {
    const START: Self = Self { line: 1, column: 1 };

    fn at(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let (lines, last) = match before.rsplit_once('\n') {
            Some((lines, last)) => (lines.matches('\n').count() + 1, last),
            None => (0, before),
        };
        Self { line: lines + 1, column: last.chars().count() + 1 }
    }
}

/// Where each key is, by its path: `profile.default.chain.1.provider[0].http`.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<String, Place>);

impl Places {
    /// The place of a key. Of one that is missing, the place of the table where it should be.
    pub(super) fn of(&self, key: &str) -> Place {
        let mut at = key;
        loop {
            if let Some(place) = self.0.get(at) {
                return *place;
            }
            match at.rfind(['.', '[']) {
                Some(end) => at = &at[..end],
                None => return Place::START,
            }
        }
    }
}

/// The tree of a file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) places: Places,
}

impl Document {
    /// # Errors
    /// The place from which on the text makes no sense.
    pub(super) fn parse(text: &str) -> Result<Self, Place> {
        let root = DeTable::parse(text).map_err(|error| {
            error.span().map_or(Place::START, |span| Place::at(text, span.start))
        })?;
        let mut reader = Reader { text, places: Places::default() };
        let value = reader.table(root.into_inner(), "");
        Ok(Self { value, places: reader.places })
    }
}

struct Reader<'t> {
    text: &'t str,
    places: Places,
}

impl Reader<'_> {
    fn table(&mut self, table: DeTable<'_>, path: &str) -> Value {
        let mut fields = Map::new();
        for (name, value) in table {
            let at = name.span().start;
            let name = name.into_inner().into_owned();
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.places.0.insert(path.clone(), Place::at(self.text, at));
            let value = self.value(value, &path);
            fields.insert(name, value);
        }
        Value::Object(fields)
    }

    fn value(&mut self, value: Spanned<DeValue<'_>>, path: &str) -> Value {
        match value.into_inner() {
            DeValue::String(text) => text.into_owned().into(),
            DeValue::Integer(number) => integer(&number),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok().into(),
            DeValue::Boolean(flag) => flag.into(),
            DeValue::Datetime(time) => time.to_string().into(),
            DeValue::Table(table) => self.table(table, path),
            DeValue::Array(items) => {
                let item = |(i, item): (usize, Spanned<DeValue<'_>>)| {
                    let path = format!("{path}[{i}]");
                    self.places.0.insert(path.clone(), Place::at(self.text, item.span().start));
                    self.value(item, &path)
                };
                items.into_iter().enumerate().map(item).collect()
            }
        }
    }
}

/// Beyond 64 bits it is null, which no key takes.
fn integer(number: &DeInteger<'_>) -> Value {
    let (digits, radix) = (number.as_str(), number.radix());
    i64::from_str_radix(digits, radix)
        .map(Value::from)
        .or_else(|_| u64::from_str_radix(digits, radix).map(Value::from))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILE: &str = "\
a = 1
'ö' = { b = 0x10 }
[[t.list]]
name = \"x\"
[[t.list]]
c = [1.5, true, 2026-01-02, 18446744073709551615, 18446744073709551616]
";

    #[test]
    fn values_of_every_kind_are_read() {
        let document = Document::parse(FILE).unwrap();
        let want = json!({
            "a": 1,
            "ö": { "b": 16 },
            "t": { "list": [
                { "name": "x" },
                { "c": [1.5, true, "2026-01-02", 18_446_744_073_709_551_615_u64, null] },
            ] },
        });
        assert_eq!(document.value, want);
    }

    #[test]
    fn each_key_has_its_place_and_a_missing_one_that_of_its_table() {
        let places = Document::parse(FILE).unwrap().places;
        for (key, want) in [
            ("a", "1:1"),
            ("ö.b", "2:9"),
            ("t.list[0].name", "4:1"),
            ("t.list[1].c", "6:1"),
            ("t.list[1].c[1]", "6:11"),
            ("t.list[0].http", "3:1"),
            ("t.list[1].http", "5:1"),
            ("nowhere", "1:1"),
            ("", "1:1"),
        ] {
            assert_eq!(places.of(key).to_string(), want, "{key}");
        }
    }

    #[test]
    fn what_is_no_toml_is_pointed_at() {
        for (text, want) in [
            ("a = 1\nb = secret\n", "2:5"),
            ("a = 1\n[b\nc = 2\n", "2:3"),
            ("a = 1\na = 2\n", "2:1"),
            ("", "nothing"),
        ] {
            let found = Document::parse(text).map(|_| ()).map_err(|place| place.to_string());
            assert_eq!(found.err().unwrap_or_else(|| "nothing".to_owned()), want, "{text}");
        }
    }
}
