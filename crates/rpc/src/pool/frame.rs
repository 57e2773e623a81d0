//! What goes through a WebSocket, as text.
//!
//! HTTP pairs an answer with its request by the connection. A WebSocket has many requests under way at once and pairs
//! by id alone, and callers number theirs as they like. So requests leave under ids of our own, which never repeat on a
//! line, and a late answer can never be taken for that of a younger request.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::call::Call;
use super::wake::{Head, Wake};
use crate::batch::batch_elements;

/// One message of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    /// An answer: to which request, unless it does not say, and whether it is an error.
    Answer { id: Option<u64>, is_error: bool },
    /// There is a block.
    Head(Wake),
    /// Anything that is neither.
    Unreadable,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Notified {
    result: Head,
}

impl Frame {
    /// Reads a message, not looking into results.
    ///
    /// The answer to a batch has the id of any of its elements. Without an id only an error counts: it is about
    /// something that was asked, while a result could belong to anybody.
    pub(crate) fn read(text: &str) -> Self {
        if text.trim_start().starts_with('[') {
            let elements = batch_elements(text.as_bytes()).unwrap_or_default();
            let id = elements.iter().find_map(|element| number(element.id?));
            return id
                .map_or(Self::Unreadable, |id| Self::Answer { id: Some(id), is_error: false });
        }
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else { return Self::Unreadable };
        let is_error = fields.error.is_some();
        match (fields.id.map(|id| number(id.get())), fields.method.as_deref()) {
            (Some(Some(id)), _) => Self::Answer { id: Some(id), is_error },
            (None, Some("eth_subscription")) => {
                fields.params.and_then(head).unwrap_or(Self::Unreadable)
            }
            (None, None) if is_error => Self::Answer { id: None, is_error },
            _ => Self::Unreadable,
        }
    }
}

fn number(id: &str) -> Option<u64> {
    id.parse().ok()
}

fn head(params: &RawValue) -> Option<Frame> {
    serde_json::from_str::<Notified>(params.get()).ok()?.result.wake().map(Frame::Head)
}

/// How calls leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One, bare.
    Single,
    /// Any number of them in an array.
    Batch,
}

/// The message that asks these calls under these ids, one for each.
pub(crate) fn request(calls: &[&Call], ids: Range<u64>, form: Form) -> String {
    let bodies: Vec<String> = calls.iter().zip(ids).map(|(call, id)| call.under(id)).collect();
    let bodies = bodies.join(",");
    match form {
        Form::Single => bodies,
        Form::Batch => format!("[{bodies}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(id: u64) -> Frame {
        Frame::Answer { id: Some(id), is_error: false }
    }

    #[test]
    fn answers_are_told_from_news_and_from_noise() {
        let hash = format!("0x{}", "ab".repeat(32));
        let news = |result: Value| {
            json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": { "subscription": "0x1", "result": result } })
                .to_string()
        };
        assert_eq!(Frame::read(r#"{"id":7,"result":null}"#), answer(7));
        assert_eq!(Frame::read(r#" [{"id":null,"error":{}},{"id":8,"result":1}]"#), answer(8));
        for text in [r#"{"id":7,"error":{"code":1}}"#, r#"{"error":{"code":1},"id":7}"#] {
            assert_eq!(Frame::read(text), Frame::Answer { id: Some(7), is_error: true }, "{text}");
        }
        for text in [r#"{"error":{"code":1}}"#, r#"{"id":null,"error":"no"}"#] {
            assert_eq!(Frame::read(text), Frame::Answer { id: None, is_error: true }, "{text}");
        }
        let Frame::Head(wake) = Frame::read(&news(json!({ "number": "0x10", "hash": hash })))
        else {
            panic!("not read")
        };
        assert_eq!(wake.number, 16);
        for text in [
            "",
            "null",
            "[]",
            "[1]",
            "{}",
            "<html>",
            "error code: 1015",
            r#"{"id":7,"result":"#,
            r#"{"id":"7","result":1}"#,
            r#"{"id":7.5,"result":1}"#,
            r#"{"id":-7,"result":1}"#,
            r#"{"id":null,"result":1}"#,
            r#"{"result":1}"#,
            r#"{"method":"eth_call","params":[]}"#,
            &news(json!({ "number": "ten", "hash": hash })),
            &news(json!("0x1")),
        ] {
            assert_eq!(Frame::read(text), Frame::Unreadable, "{text}");
        }
    }

    #[test]
    fn requests_leave_under_ids_of_our_own() {
        let (first, second) = (
            Call::make("eth_call", &json!([{}, "latest"])),
            Call::make("eth_chainId", &Value::Null),
        );
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let want =
            json!({ "jsonrpc": "2.0", "id": 5, "method": "eth_call", "params": [{}, "latest"] });
        assert_eq!(read(&request(&[&first], 5..6, Form::Single)), want);
        let both = read(&request(&[&first, &second], 5..7, Form::Batch));
        assert_eq!(
            (&both[0], &both[1]["id"], both.as_array().unwrap().len()),
            (&want, &json!(6), 2)
        );
        assert_eq!(read(&request(&[&first], 5..6, Form::Batch)), json!([want]));
    }
}
