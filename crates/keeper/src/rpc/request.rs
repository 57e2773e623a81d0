//! What a client sends, taken apart as JSON-RPC 2.0 wants it.
//!
//! Ids stay the text they came as: `1e3`, a number of thirty digits and `"1"` are all ids, and a client that finds
//! another text in its answer does not find its call.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// geth's bound: longer batches are refused whole.
pub(super) const MOST_CALLS: usize = 1_000;

/// A body.
#[derive(Debug)]
pub(super) enum Body<'a> {
    One(Part<'a>),
    Batch(Vec<Part<'a>>),
}

/// One request of it, or what is wrong with that.
pub(super) type Part<'a> = Result<Call<'a>, Invalid<'a>>;

/// A valid request.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// Without one it is a notification, which is never answered.
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

/// An invalid one.
#[derive(Debug)]
pub(super) struct Invalid<'a> {
    /// Its id, as far as one can be read.
    pub(super) id: Option<&'a RawValue>,
    pub(super) why: &'static str,
}

/// A body that is no request at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// No JSON.
    Parse,
    /// A batch of nothing.
    Empty,
    /// A batch of more than [`MOST_CALLS`].
    TooMany,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// Null is a value, too: `"id": null` is no notification.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// Takes a body apart.
pub(super) fn parse(body: &[u8]) -> Result<Body<'_>, Unreadable> {
    let whole: &RawValue = serde_json::from_slice(body).map_err(|_| Unreadable::Parse)?;
    if !whole.get().starts_with('[') {
        return Ok(Body::One(part(whole)));
    }
    let parts: Vec<&RawValue> = serde_json::from_str(whole.get()).map_err(|_| Unreadable::Parse)?;
    match parts.len() {
        0 => Err(Unreadable::Empty),
        1..=MOST_CALLS => Ok(Body::Batch(parts.into_iter().map(part).collect())),
        _ => Err(Unreadable::TooMany),
    }
}

fn part(text: &RawValue) -> Part<'_> {
    let invalid = |id, why| Err(Invalid { id, why });
    // serde would read an array as the fields in their order.
    let fields =
        text.get().starts_with('{').then(|| serde_json::from_str::<Fields<'_>>(text.get()));
    let Some(Ok(Fields { jsonrpc, id, method, params })) = fields else {
        return invalid(None, "must be an object with each of jsonrpc, id, method and params once");
    };
    if id.is_some_and(|id| id.get().starts_with(['[', '{', 't', 'f'])) {
        return invalid(None, "id must be a string, a number or null");
    }
    let text =
        |value: Option<&'_ RawValue>| -> Option<String> { serde_json::from_str(value?.get()).ok() };
    if text(jsonrpc).as_deref() != Some("2.0") {
        return invalid(id, "jsonrpc must be \"2.0\"");
    }
    let Some(method) = text(method).filter(|method| !method.is_empty()) else {
        return invalid(id, "method must be a string that is not empty");
    };
    // Null for none is common, and geth takes it.
    let params = params.filter(|params| params.get() != "null");
    if params.is_some_and(|params| !params.get().starts_with(['[', '{'])) {
        return invalid(id, "params must be an array or an object");
    }
    Ok(Call { id, method: method.into(), params })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is understood, in short.
    fn read(body: &str) -> String {
        let raw = |value: Option<&RawValue>| value.map_or("–", RawValue::get).to_owned();
        let part = |part: &Part<'_>| match part {
            Ok(Call { id, method, params }) => format!("{} {method} {}", raw(*id), raw(*params)),
            Err(Invalid { id, why }) => format!("{} invalid: {why}", raw(*id)),
        };
        match parse(body.as_bytes()) {
            Ok(Body::One(one)) => part(&one),
            Ok(Body::Batch(parts)) => parts.iter().map(part).collect::<Vec<_>>().join(" | "),
            Err(unreadable) => format!("{unreadable:?}"),
        }
    }

    #[test]
    fn ids_stay_the_text_they_came_as() {
        for id in [
            "1",
            "1e3",
            "1.50",
            "-0",
            "0",
            "123456789012345678901234567890",
            "\"a\"",
            "\"\\u0061\"",
            "\"\"",
            "null",
        ] {
            let body = format!(r#" {{"jsonrpc":"2.0","id": {id} ,"method":"m"}} "#);
            assert_eq!(read(&body), format!("{id} m –"));
        }
    }

    #[test]
    fn a_request_has_a_version_a_method_and_perhaps_the_rest() {
        for (body, want) in [
            (r#"{"jsonrpc":"2.0","method":"m"}"#, "– m –"),
            (r#"{"jsonrpc":"2.0","method":"m","params":[1, 2],"id":7}"#, "7 m [1, 2]"),
            (r#"{"jsonrpc":"2.0","method":"m","params":{"a":1},"id":7}"#, "7 m {\"a\":1}"),
            (r#"{"jsonrpc":"2.0","method":"m","params":null,"id":7}"#, "7 m –"),
            (r#"{"jsonrpc":"2.\u0030","method":"\u006d","id":7,"more":[]}"#, "7 m –"),
            (
                r#"{"jsonrpc":"2.0","method":"m","params":1,"id":7}"#,
                "7 invalid: params must be an array or an object",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"","id":7}"#,
                "7 invalid: method must be a string that is not empty",
            ),
            (
                r#"{"jsonrpc":"2.0","method":1,"id":7}"#,
                "7 invalid: method must be a string that is not empty",
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, "7 invalid: method must be a string that is not empty"),
            (r#"{"jsonrpc":"1.0","method":"m","id":7}"#, "7 invalid: jsonrpc must be \"2.0\""),
            (r#"{"method":"m","id":7}"#, "7 invalid: jsonrpc must be \"2.0\""),
            (
                r#"{"jsonrpc":"2.0","method":"m","id":[7]}"#,
                "– invalid: id must be a string, a number or null",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"m","id":true}"#,
                "– invalid: id must be a string, a number or null",
            ),
        ] {
            assert_eq!(read(body), want, "{body}");
        }
        let shapeless =
            "– invalid: must be an object with each of jsonrpc, id, method and params once";
        for body in ["1", "null", "\"m\"", r#"{"id":1,"id":2,"jsonrpc":"2.0","method":"m"}"#] {
            assert_eq!(read(body), shapeless, "{body}");
        }
        assert_eq!(read(r#"[["2.0",1,"m",[]]]"#), shapeless);
    }

    #[test]
    fn a_batch_is_judged_part_by_part() {
        let body = r#"[{"jsonrpc":"2.0","method":"m","id":1}, 1, {"jsonrpc":"2.0","method":"n"}]"#;
        assert_eq!(
            read(body),
            "1 m – | – invalid: must be an object with each of jsonrpc, id, method and params once | – n –"
        );
    }

    #[test]
    fn what_is_no_json_is_told_apart_from_what_is_no_request() {
        for body in ["", "{", "{} x", "[1,", "<html>", "[1] [2]"] {
            assert_eq!(read(body), "Parse", "{body}");
        }
        assert!(matches!(parse(b"\"\xff\""), Err(Unreadable::Parse)));
        assert_eq!(read(" [ ] "), "Empty");
        let batch = |calls: usize| format!("[{}]", vec!["1"; calls].join(","));
        assert_eq!(read(&batch(MOST_CALLS)).matches("invalid").count(), MOST_CALLS);
        assert_eq!(read(&batch(MOST_CALLS + 1)), "TooMany");
    }

    #[test]
    fn depth_is_no_way_to_the_end_of_the_stack() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let call = format!(r#"{{"jsonrpc":"2.0","method":"m","id":1,"params":{deep}}}"#);
        assert!(read(&call).starts_with("1 m [["));
        assert_eq!(read(&deep).matches("invalid").count(), 1);
    }
}
