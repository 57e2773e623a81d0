//! The JSON-RPC envelope, read without looking inside the result.
//!
//! A result may be 64 MiB of traces nested hundreds of levels deep. Parsing it only to learn that it is there would cost
//! its size again, and a recursive parser would refuse it. So the fields stay raw text, which is checked to be JSON
//! without recursion, and only the error is taken apart.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::hint_text;

/// Longer texts say nothing more about the endpoint, and every phrase is looked for in every byte.
const LONGEST_TEXT: usize = 8 * 1024;

/// The fields of an answer, as raw JSON; `null` counts as present.
#[derive(Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) result: Option<&'a str>,
    pub(crate) error: Option<&'a str>,
    code: Option<&'a str>,
    message: Option<&'a str>,
    pub(crate) data: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    /// Reads one answer; an array of one element is unwrapped. `None` if it is no JSON object.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.starts_with('[') {
            let [only]: [&RawValue; 1] =
                serde_json::from_str::<Vec<&RawValue>>(text).ok()?.try_into().ok()?;
            return serde_json::from_str(only.get()).ok();
        }
        serde_json::from_str(text).ok()
    }

    /// The error, if the answer has one: an object, a string, or `code` and `message` at the top.
    pub(crate) fn error(&self) -> Option<ErrorParts> {
        if let Some(error) = self.error.filter(|error| !matches!(*error, "null" | "\"\"" | "false"))
        {
            return Some(match serde_json::from_str::<Envelope<'_>>(error) {
                Ok(inner) => ErrorParts::new(inner.code, inner.message, inner.data),
                Err(_) => {
                    let mut parts = ErrorParts::new(self.code, Some(error), self.data);
                    parts.texts.extend(self.message.map(text));
                    parts
                }
            });
        }
        (self.result.is_none() && (self.code.is_some() || self.message.is_some()))
            .then(|| ErrorParts::new(self.code, self.message, self.data))
    }
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Known without a copy of its name: every answer is read here, and its names would be most of the work.
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "lowercase")]
        enum Field {
            Id,
            Result,
            Error,
            Code,
            Message,
            Data,
            #[serde(other)]
            Other,
        }

        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC answer")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(field) = map.next_key()? {
                    let value = map.next_value::<&RawValue>()?.get();
                    match field {
                        Field::Id => envelope.id = Some(value),
                        Field::Result => envelope.result = Some(value),
                        Field::Error => envelope.error = Some(value),
                        Field::Code => envelope.code = Some(value),
                        Field::Message => envelope.message = Some(value),
                        Field::Data => envelope.data = Some(value),
                        Field::Other => {}
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// What an error says.
#[derive(Debug, Default)]
pub(crate) struct ErrorParts {
    pub(crate) code: Option<i64>,
    /// Message first, then what `data` says in words.
    pub(crate) texts: Vec<String>,
    /// `data` begins with the selector of `Error(string)` or `Panic(uint256)`: the EVM ran.
    pub(crate) reverted: bool,
    /// `data.from` and `data.to`, as raw text.
    pub(crate) suggested: Option<(String, String)>,
    /// In seconds: `data.rate.backoff_seconds`, `data.retry_after`, `data.retry_after_ms`, `data.try_again_in`.
    pub(crate) waits: Vec<f64>,
    /// Whether `data.rate` asks for a back-off: then it is about speed, whatever the message says of days.
    pub(crate) backs_off: bool,
}

impl ErrorParts {
    /// The error of an answer that is plain text.
    pub(crate) fn plain(text: &str) -> Self {
        Self { texts: vec![cut(text)], ..Self::default() }
    }

    fn new(code: Option<&str>, message: Option<&str>, data: Option<&str>) -> Self {
        let mut parts = Self { code: code.and_then(integer), ..Self::default() };
        parts.texts.extend(message.map(text));
        let Some(data) = data else { return parts };
        if let Ok(words) = serde_json::from_str::<String>(data) {
            parts.reverted = is_revert(&words);
            parts.texts.push(cut(&words));
        } else if let Ok(fields) = serde_json::from_str::<DataFields<'_>>(data) {
            parts.read(fields);
        }
        parts
    }

    fn read(&mut self, fields: DataFields<'_>) {
        let plain = |raw: Option<&RawValue>| serde_json::from_str::<String>(raw?.get()).ok();
        self.reverted = plain(fields.data).is_some_and(|data| is_revert(&data));
        let words =
            [fields.message, fields.payload, fields.details, fields.data].into_iter().flatten();
        self.texts.extend(
            words.filter_map(|raw| serde_json::from_str::<String>(raw.get()).ok()).map(|s| cut(&s)),
        );
        self.suggested = plain(fields.from).zip(plain(fields.to));
        let backoff =
            fields.rate.and_then(|raw| serde_json::from_str::<RateFields<'_>>(raw.get()).ok());
        let backoff = backoff.and_then(|rate| number(rate.backoff_seconds));
        self.backs_off = backoff.is_some();
        let ms = number(fields.retry_after_ms).map(|ms| ms / 1000.0);
        // Chainstack says "try_again_in": "92.654ms", or a bare number of seconds.
        let again =
            fields.try_again_in.and_then(|raw| hint_text::wait(raw.get().trim_matches('"')));
        let again = again.map(|wait| wait.as_secs_f64());
        self.waits.extend([backoff, number(fields.retry_after), ms, again].into_iter().flatten());
    }
}

/// `Error(string)` and `Panic(uint256)`, in both spellings that nodes use.
const REVERT_SELECTORS: [&str; 4] =
    ["0x08c379a0", "0x4e487b71", "Reverted 0x08c379a0", "Reverted 0x4e487b71"];

fn is_revert(data: &str) -> bool {
    REVERT_SELECTORS.iter().any(|selector| data.trim_start().starts_with(selector))
}

#[derive(Deserialize)]
struct DataFields<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(borrow, default)]
    details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    from: Option<&'a RawValue>,
    #[serde(borrow, default)]
    to: Option<&'a RawValue>,
    #[serde(borrow, default)]
    rate: Option<&'a RawValue>,
    #[serde(borrow, default)]
    retry_after: Option<&'a RawValue>,
    #[serde(borrow, default)]
    retry_after_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    try_again_in: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RateFields<'a> {
    #[serde(borrow, default)]
    backoff_seconds: Option<&'a RawValue>,
}

/// A code as number or as text: some gateways quote it.
fn integer(raw: &str) -> Option<i64> {
    let raw = raw.trim_matches('"').trim();
    raw.parse().ok().or_else(|| {
        // -32000.0 is the same code; a fraction or 1e99 is none.
        let float: f64 = raw.parse().ok()?;
        (float.fract() == 0.0 && float.abs() < 1e9).then_some(float as i64)
    })
}

fn number(raw: Option<&RawValue>) -> Option<f64> {
    raw?.get().trim_matches('"').parse().ok()
}

/// A message, which should be a string; whatever else it is, its JSON text is better than nothing.
fn text(raw: &str) -> String {
    cut(&serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned()))
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned()
}

/// Whether more may have followed a text of an error.
pub(crate) fn was_cut(text: &str) -> bool {
    // A character has 4 bytes at most.
    text.len() > LONGEST_TEXT - 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ErrorParts {
        Envelope::parse(text).unwrap().error().unwrap()
    }

    #[test]
    fn an_error_is_found_in_every_place() {
        for (text, code, message) in [
            (r#"{"error":{"code":-32000,"message":"m"}}"#, Some(-32000), "m"),
            (r#"{"error":{"code":"-32000","message":"m"}}"#, Some(-32000), "m"),
            (r#"{"error":{"code":-32000.0,"message":"m"}}"#, Some(-32000), "m"),
            (r#"{"error":{"message":"m"}}"#, None, "m"),
            (r#"{"error":"m"}"#, None, "m"),
            (r#"{"code":401,"error":"m","message":"n"}"#, Some(401), "m"),
            (r#"{"code":429,"message":"m"}"#, Some(429), "m"),
            (r#"{"message":"m"}"#, None, "m"),
            (r#"[{"error":{"code":1,"message":"m"}}]"#, Some(1), "m"),
            ("\u{feff} {\"error\":\"m\"}\n", None, "m"),
            (r#"{"result":null,"error":{"code":1,"message":"m"}}"#, Some(1), "m"),
            (r#"{"error":{"code":1e99,"message":"m"}}"#, None, "m"),
            (r#"{"error":{"code":1.5,"message":"m"}}"#, None, "m"),
            (r#"{"error":{"message":{"nested":"m"}}}"#, None, r#"{"nested":"m"}"#),
        ] {
            let parts = error(text);
            assert_eq!((parts.code, parts.texts[0].as_str()), (code, message), "{text}");
        }
    }

    #[test]
    fn no_error_is_no_error() {
        for text in [
            r#"{"result":"0x1"}"#,
            r#"{"result":"0x1","error":null}"#,
            r#"{"result":"0x1","error":""}"#,
            r#"{"result":{"code":1,"message":"x"}}"#,
            r#"{"result":null,"message":"x"}"#,
            r#"{"id":1,"jsonrpc":"2.0"}"#,
        ] {
            assert!(Envelope::parse(text).unwrap().error().is_none(), "{text}");
        }
    }

    #[test]
    fn what_is_no_single_object_is_no_envelope() {
        for text in
            ["", "[]", "[{},{}]", "null", "1", "\"x\"", "{", r#"{"result":"0x"#, "[1]", "{} {}"]
        {
            assert!(Envelope::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_result_may_be_nested_deeper_than_any_parser_recurses() {
        let deep = format!("{{\"result\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Envelope::parse(&deep).unwrap().result.is_some());
    }

    #[test]
    fn data_gives_words_waits_and_ranges() {
        let parts = error(
            r#"{"error":{"message":"m","data":{"payload":"p","see":"not read","from":"0x1","to":"0x2",
                "rate":{"backoff_seconds":30},"retry_after":"2.5","retry_after_ms":40,"try_again_in":"92.5ms"}}}"#,
        );
        assert_eq!(parts.texts, ["m", "p"]);
        assert_eq!(parts.suggested, Some(("0x1".to_owned(), "0x2".to_owned())));
        assert_eq!(parts.waits, [30.0, 2.5, 0.04, 0.0925]);
        assert!(parts.backs_off);
        assert!(error(r#"{"error":{"data":"0x08c379a0"}}"#).reverted);
        assert!(error(r#"{"error":{"data":{"data":"0x4e487b71"}}}"#).reverted);
        assert!(!error(r#"{"error":{"data":"0x12345678"}}"#).reverted);
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let text = format!(r#"{{"error":"{}"}}"#, "ü".repeat(LONGEST_TEXT));
        assert_eq!(error(&text).texts[0].len(), LONGEST_TEXT);
        let odd = format!(r#"{{"error":"x{}"}}"#, "ü".repeat(LONGEST_TEXT));
        assert_eq!(error(&odd).texts[0].len(), LONGEST_TEXT - 1);
    }
}
