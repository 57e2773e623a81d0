//! A node's answer as the caller gets it.

use std::borrow::Cow;

use alloy::rpc::json_rpc::{ErrorPayload, ResponsePayload};
use serde_json::value::{RawValue, to_raw_value};

use crate::envelope::{Envelope, was_cut};
use crate::scrub::{Scrubber, clean_json};

/// A result or an error, without the id.
pub(crate) type Payload = ResponsePayload;

/// JSON-RPC's "server error", for errors that come without a code.
const SERVER_ERROR: i64 = -32_000;

/// Reads an answer. `None` if it is neither a result nor an error, as an HTML page is.
///
/// Secrets leave the words of an error. Where it is a contract that speaks, only those that cannot be there by chance: its
/// data is hexadecimal, and belongs to the caller.
pub(crate) fn payload(body: &[u8], contract_speaks: bool, scrubber: &Scrubber) -> Option<Payload> {
    let envelope = Envelope::parse(std::str::from_utf8(body).ok()?)?;
    if let Some(parts) = envelope.error() {
        let inner =
            envelope.error.and_then(|error| serde_json::from_str::<Envelope<'_>>(error).ok());
        let data = inner.as_ref().map_or(envelope.data, |inner| inner.data);
        let clean = |text: &str| match contract_speaks {
            true => scrubber.scrub_certain(text),
            false => scrubber.scrub(text),
        };
        let text = parts.texts.first().map_or("", String::as_str);
        let mut message = clean_json(text, clean);
        if was_cut(text) {
            // Scrubbed before: of a whole secret at the end no beginning is left.
            message.truncate(scrubber.trim_cut(&message).len());
        }
        return Some(ResponsePayload::Failure(ErrorPayload {
            code: parts.code.unwrap_or(SERVER_ERROR),
            message: message.into(),
            data: data.and_then(|data| RawValue::from_string(clean_json(data, clean)).ok()),
        }));
    }
    let result = RawValue::from_string(envelope.result?.to_owned()).ok()?;
    Some(ResponsePayload::Success(result))
}

/// An error of our own, in the form of a node's.
pub(crate) fn refusal(code: i64, message: impl Into<Cow<'static, str>>) -> Payload {
    ResponsePayload::Failure(ErrorPayload { code, message: message.into(), data: None })
}

/// A text as a result.
pub(crate) fn text_result(text: &str) -> Option<Payload> {
    to_raw_value(text).ok().map(ResponsePayload::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<String> {
        let mut scrubber = Scrubber::default();
        scrubber.add("MARKER0123456789");
        payload(body.as_bytes(), false, &scrubber).map(|payload| match payload {
            ResponsePayload::Success(result) => result.get().to_owned(),
            ResponsePayload::Failure(error) => {
                let data = error.data.map(|data| data.get().to_owned());
                format!("{} {} {}", error.code, error.message, data.unwrap_or_default())
            }
        })
    }

    #[test]
    fn results_and_errors_of_every_form_are_read() {
        for (body, want) in [
            (r#"{"id":1,"result":"0x1"}"#, "\"0x1\""),
            (r#"{"id":1,"result":null}"#, "null"),
            (r#"[{"id":1,"result":[1]}]"#, "[1]"),
            (r#"{"error":{"code":3,"message":"m","data":"0x08"}}"#, "3 m \"0x08\""),
            (r#"{"error":"m"}"#, "-32000 m "),
            (r#"{"code":429,"message":"m"}"#, "429 m "),
            (
                r#"{"error":{"code":1,"message":"key MARKER0123456789","data":"MARKER0123456789"}}"#,
                "1 key [redacted] \"[redacted]\"",
            ),
        ] {
            assert_eq!(read(body).as_deref(), Some(want), "{body}");
        }
        for body in ["", "<html>", "{}", "[]", "{\"id\":1", "error code: 1015"] {
            assert_eq!(read(body), None, "{body}");
        }
    }
}
