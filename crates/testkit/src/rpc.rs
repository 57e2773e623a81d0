//! JSON-RPC 2.0, as far as a node needs it.

use crate::reply::HttpReply;
use serde_json::{Value, json};

/// What a node says instead of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Without its body: the status, and the headers beside it.
    /// Boxed, since an error is the rare half of every answer.
    pub(crate) http: Box<HttpReply>,
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// An error in an HTTP 200, which is how most nodes say it.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { http: HttpReply::new(200).into(), code, message: message.into(), data: None }
    }

    /// The HTTP status that it comes with; a WebSocket has none.
    ///
    /// # Panics
    /// When the status has not three digits.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.http = self.http.with_status(status).into();
        self
    }

    /// An HTTP header beside it, such as `retry-after`.
    ///
    /// # Panics
    /// When HTTP does not allow the name or the value.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.http = self.http.header(name, value).into();
        self
    }

    /// The member `data`.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }

    pub(crate) fn invalid_params(why: impl std::fmt::Display) -> Self {
        Self::new(-32602, format!("invalid params: {why}"))
    }

    /// As geth says it.
    pub(crate) fn header_not_found() -> Self {
        Self::new(-32000, "header not found")
    }
}

/// A result, or an error.
pub(crate) type Answer = Result<Value, RpcError>;

/// One call as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// None is a notification, which is never answered.
    pub(crate) id: Option<Value>,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// A body, whose parts may each be no request; what to answer then is in their place.
#[derive(Debug)]
pub(crate) enum Incoming {
    One(Result<Request, Value>),
    Batch(Vec<Result<Request, Value>>),
}

/// Never fails: what can't be read has an answer too.
pub(crate) fn parse(body: &[u8]) -> Incoming {
    match serde_json::from_slice(body) {
        Err(_) => Incoming::One(Err(error(Value::Null, &RpcError::new(-32700, "parse error")))),
        Ok(Value::Array(parts)) if !parts.is_empty() => {
            Incoming::Batch(parts.into_iter().map(request).collect())
        }
        Ok(one) => Incoming::One(request(one)),
    }
}

fn request(mut value: Value) -> Result<Request, Value> {
    let id = value.get("id").cloned();
    let Some(method) = value.get("method").and_then(Value::as_str).map(str::to_owned) else {
        return Err(error(
            id.unwrap_or(Value::Null),
            &RpcError::new(-32600, "invalid request: no method"),
        ));
    };
    let params = match value.get_mut("params").map(Value::take) {
        None | Some(Value::Null) => json!([]),
        Some(params) => params,
    };
    Ok(Request { id, method, params })
}

/// The whole object that answers the call `id`.
pub(crate) fn envelope(id: Value, answer: &Answer) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(failure) => error(id, failure),
    }
}

fn error(id: Value, failure: &RpcError) -> Value {
    let mut error = json!({ "code": failure.code, "message": failure.message });
    if let Some(data) = &failure.data {
        error["data"] = data.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// A number as JSON-RPC writes it.
pub(crate) fn quantity(number: u64) -> Value {
    format!("{number:#x}").into()
}

/// The reverse; None for anything else.
pub(crate) fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
