//! What a client gets: JSON-RPC, and an HTTP status that load balancers and retrying clients understand.

use super::request::{MOST_CALLS, Unreadable};
use alloy::rpc::json_rpc::{ErrorPayload, ResponsePayload};
use axum::http::StatusCode;
use fusebox_rpc::{BadRequest, PoolError, Rejection};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const INTERNAL_ERROR: i64 = -32_603;

/// The answer to a body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    /// None where only notifications came.
    pub(super) body: Option<String>,
    /// The room it takes up until it is written.
    pub(super) held: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure<'a>>,
}

/// alloy's own form has `"data":null` where there is none.
#[derive(Debug, Serialize)]
struct Failure<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

impl Answer {
    /// A body that is there: the answers of a batch, or the one of a call.
    pub(super) fn of(body: Option<String>) -> Self {
        let status = if body.is_some() { StatusCode::OK } else { StatusCode::NO_CONTENT };
        Self { status, retry_after: None, body, held: None }
    }

    /// A body in which every call has this error.
    pub(super) fn failed(error: &PoolError, body: Option<String>) -> Self {
        if body.is_none() {
            return Self::of(None);
        }
        Self { status: status(error), retry_after: error.retry_in(), body, held: None }
    }

    /// A body that is no request.
    pub(super) fn unreadable(unreadable: Unreadable) -> Self {
        let (code, why) = match unreadable {
            Unreadable::Parse => (PARSE_ERROR, "parse error: the body is not JSON".to_owned()),
            Unreadable::Empty => {
                (INVALID_REQUEST, "invalid request: the batch is empty".to_owned())
            }
            Unreadable::TooMany => (
                INVALID_REQUEST,
                format!("invalid request: a batch has {MOST_CALLS} calls at most; send several"),
            ),
        };
        Self::refused(StatusCode::OK, code, &why)
    }

    /// A request that gets no further than to us.
    pub(super) fn bad_request(status: StatusCode, why: &str) -> Self {
        Self::refused(status, INVALID_REQUEST, why)
    }

    /// More than can be held at once.
    pub(super) fn busy() -> Self {
        let why = "the proxy holds too many requests; send fewer at once";
        let retry_after = Some(Duration::from_secs(1));
        Self { retry_after, ..Self::refused(StatusCode::SERVICE_UNAVAILABLE, INTERNAL_ERROR, why) }
    }

    /// A bug of ours.
    pub(super) fn broken() -> Self {
        let why = "the proxy failed at this request; please report it";
        Self::refused(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, why)
    }

    fn refused(status: StatusCode, code: i64, why: &str) -> Self {
        let body = Some(envelope(None, None, Some(Failure { code, message: why, data: None })));
        Self { status, retry_after: None, body, held: None }
    }
}

/// The answer to one call.
pub(super) fn answered(id: &RawValue, payload: &ResponsePayload) -> String {
    match payload {
        ResponsePayload::Success(result) => envelope(Some(id), Some(result), None),
        ResponsePayload::Failure(ErrorPayload { code, message, data }) => {
            let error = Failure { code: *code, message, data: data.as_deref() };
            envelope(Some(id), None, Some(error))
        }
    }
}

/// The answer to what is no valid call.
pub(super) fn invalid(id: Option<&RawValue>, why: &str) -> String {
    let message = format!("invalid request: {why}");
    envelope(id, None, Some(Failure { code: INVALID_REQUEST, message: &message, data: None }))
}

fn envelope(
    id: Option<&RawValue>,
    result: Option<&RawValue>,
    error: Option<Failure<'_>>,
) -> String {
    let envelope = Envelope { jsonrpc: "2.0", id, result, error };
    // Strings, a number, and JSON that was parsed: there is nothing in it that serde_json refuses.
    serde_json::to_string(&envelope).expect("texts and JSON are JSON")
}

fn status(error: &PoolError) -> StatusCode {
    match error {
        PoolError::Rejected(Rejection::Throttled { .. }) => StatusCode::TOO_MANY_REQUESTS,
        PoolError::Rejected(Rejection::Deadline { .. }) => StatusCode::GATEWAY_TIMEOUT,
        PoolError::Rejected(_) => StatusCode::SERVICE_UNAVAILABLE,
        PoolError::BadRequest(BadRequest::Oversized { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
        PoolError::BadRequest(_) => StatusCode::BAD_REQUEST,
        _ => StatusCode::BAD_GATEWAY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rejection_has_the_status_that_clients_act_upon() {
        let retry_in = Duration::from_secs(2);
        for (error, want, retry_after) in [
            (Rejection::CircuitOpen { retry_in }.into(), 503, Some(2)),
            (Rejection::HalfOpenBusy.into(), 503, Some(1)),
            (Rejection::AllOpen { retry_in }.into(), 503, Some(2)),
            (Rejection::ForcedOpen.into(), 503, None),
            (Rejection::Deadline { attempts: 1 }.into(), 504, Some(1)),
            (Rejection::Throttled { retry_in }.into(), 429, Some(2)),
            (PoolError::Exhausted { attempts: vec![] }, 502, None),
            (BadRequest::Oversized { bytes: 2, max: 1 }.into(), 413, None),
        ] {
            let answer = Answer::failed(&error, Some("x".to_owned()));
            assert_eq!(answer.status.as_u16(), want, "{error:?}");
            assert_eq!(answer.retry_after, retry_after.map(Duration::from_secs), "{error:?}");
            assert_eq!(Answer::failed(&error, None).status, StatusCode::NO_CONTENT);
        }
    }

    #[test]
    fn an_answer_repeats_id_and_result_as_they_are() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let success = ResponsePayload::Success(raw("{ \"a\": 1.50 }"));
        assert_eq!(
            answered(&raw("1e3"), &success),
            r#"{"jsonrpc":"2.0","id":1e3,"result":{ "a": 1.50 }}"#
        );
        let nothing = ResponsePayload::Success(raw("null"));
        assert_eq!(
            answered(&raw("\"x\""), &nothing),
            r#"{"jsonrpc":"2.0","id":"x","result":null}"#
        );
        let failure = |data| {
            ResponsePayload::Failure(ErrorPayload { code: 3, message: "reverted".into(), data })
        };
        assert_eq!(
            answered(&raw("1"), &failure(Some(raw("\"0x08\"")))),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"reverted","data":"0x08"}}"#
        );
        assert_eq!(
            answered(&raw("null"), &failure(None)),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":3,"message":"reverted"}}"#
        );
        assert_eq!(
            invalid(None, "no"),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: no"}}"#
        );
    }
}
