//! Why a call has no answer.

use std::sync::Arc;
use std::time::Duration;

use alloy::rpc::json_rpc::ErrorPayload;
use alloy::transports::{RpcError, TransportError, TransportErrorKind};
use serde_json::{json, value::to_raw_value};

use crate::endpoint::Transport;
use crate::verdict::Category;

/// When to come back where nobody knows how long it takes: a probe that is under way, a deadline that was too short. Most
/// attempts end well within a second.
const SOON: Duration = Duration::from_secs(1);

/// What an operator calls a provider.
pub type Name = Arc<str>;

/// Nothing was sent, or nothing more: whom to ask, or time, is lacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The one endpoint that could be asked is open. Retry after `retry_in`.
    #[error("the endpoint's circuit is open: retry in {retry_in:?}")]
    CircuitOpen {
        /// Time to its deadline.
        retry_in: Duration,
    },
    /// The one endpoint that could be asked is half-open and being probed. Retry when that has ended.
    #[error("the endpoint is being probed: retry shortly")]
    HalfOpenBusy,
    /// Of several endpoints none is closed or has a half-open slot. Retry after `retry_in`.
    #[error("all endpoints are open: retry in {retry_in:?}")]
    AllOpen {
        /// Time to the nearest deadline.
        retry_in: Duration,
    },
    /// A healthy endpoint asks to be left alone for longer than this call can wait. Retry after `retry_in`.
    #[error("rate limited: retry in {retry_in:?}")]
    Throttled {
        /// Time to the end of the nearest pause.
        retry_in: Duration,
    },
    /// The time for the call is over. Retry with a later deadline.
    #[error("the deadline has passed after {attempts} attempts")]
    Deadline {
        /// How many attempts there were.
        attempts: u8,
    },
    /// Every endpoint is held open by an operator or serves another chain. Time alone does not change that.
    #[error("every endpoint is forced open: see the pool's status, and release one")]
    ForcedOpen,
}

/// One attempt that did not answer a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider} ({transport}): {category}, {reason}, after {elapsed:?}")]
#[non_exhaustive]
pub struct Attempt {
    /// Whom it asked.
    pub provider: Name,
    /// Over what.
    pub transport: Transport,
    /// What came of it.
    pub category: Category,
    /// The rule that decided so.
    pub reason: Arc<str>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A request that is wrong before anybody has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadRequest {
    /// JSON-RPC has no answer to a batch of nothing. Send none.
    #[error("the batch is empty; send at least one request")]
    EmptyBatch,
    /// No node takes a request of this size. Send less at a time.
    #[error("the request has {bytes} bytes, more than {max}; send less at a time")]
    Oversized {
        /// Its size.
        bytes: usize,
        /// The most that is sent.
        max: usize,
    },
}

/// Why a pool has no answer. Final: what can be retried has been.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// No attempt could be made, or the time is over.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The endpoint of a pin no longer serves. What was read through it may not fit what another one says: start over.
    #[error("the pinned endpoint {provider} is lost; pin again and start over")]
    PinLost {
        /// Which it was.
        provider: Name,
    },
    /// Every attempt failed, and no node said anything.
    #[error("no endpoint answered: {}", list(attempts))]
    Exhausted {
        /// All of them, in order.
        attempts: Vec<Attempt>,
    },
    /// The request cannot be sent.
    #[error(transparent)]
    BadRequest(#[from] BadRequest),
}

impl PoolError {
    /// The JSON-RPC code under which it is told to callers that take no Rust errors.
    #[must_use]
    pub fn code(&self) -> i64 {
        match self {
            Self::Rejected(Rejection::CircuitOpen { .. }) => -32_081,
            Self::Rejected(Rejection::HalfOpenBusy) => -32_082,
            Self::Rejected(Rejection::AllOpen { .. } | Rejection::ForcedOpen) => -32_083,
            Self::Rejected(Rejection::Deadline { .. }) => -32_084,
            Self::Rejected(Rejection::Throttled { .. }) => -32_085,
            // JSON-RPC's "internal error" and "invalid request".
            Self::PinLost { .. } | Self::Exhausted { .. } => -32_603,
            Self::BadRequest(_) => -32_600,
        }
    }

    /// The word for it in the data of a JSON-RPC error, and in metrics.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Rejected(rejection) => match rejection {
                Rejection::CircuitOpen { .. } => "circuit_open",
                Rejection::HalfOpenBusy => "half_open_busy",
                Rejection::AllOpen { .. } => "all_open",
                Rejection::Throttled { .. } => "throttled",
                Rejection::Deadline { .. } => "deadline",
                Rejection::ForcedOpen => "forced_open",
            },
            Self::PinLost { .. } => "pin_lost",
            Self::Exhausted { .. } => "exhausted",
            Self::BadRequest(_) => "bad_request",
        }
    }

    /// When asking again may help; none where time alone changes nothing, or has nothing to do with it.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        match self {
            Self::Rejected(
                Rejection::CircuitOpen { retry_in }
                | Rejection::AllOpen { retry_in }
                | Rejection::Throttled { retry_in },
            ) => Some(*retry_in),
            Self::Rejected(Rejection::HalfOpenBusy | Rejection::Deadline { .. }) => Some(SOON),
            _ => None,
        }
    }

    /// The error in the form of a node's, with `data { reason, retry_after_ms }`.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        let mut data = json!({ "reason": self.reason() });
        if let Some(retry_in) = self.retry_in() {
            let ms = u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX);
            data["retry_after_ms"] = ms.into();
        }
        let (code, message) = (self.code(), self.to_string().into());
        ErrorPayload { code, message, data: to_raw_value(&data).ok() }
    }
}

fn list(attempts: &[Attempt]) -> String {
    attempts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<PoolError> for TransportError {
    /// Not to be retried: outer layers would repeat what the pool has decided.
    fn from(error: PoolError) -> Self {
        TransportErrorKind::non_retryable(error)
    }
}

/// The pool's own error inside an error of alloy, if it is one.
#[must_use]
pub fn pool_error(error: &TransportError) -> Option<&PoolError> {
    match error {
        RpcError::Transport(TransportErrorKind::NonRetryable(inner)) => inner.downcast_ref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_without_rust_hear_code_reason_and_when_to_come_back() {
        let retry_in = Duration::from_millis(2_500);
        let rejected = |rejection: Rejection| PoolError::from(rejection);
        for (error, code, data) in [
            (
                rejected(Rejection::CircuitOpen { retry_in }),
                -32_081,
                r#"{"reason":"circuit_open","retry_after_ms":2500}"#,
            ),
            (
                rejected(Rejection::HalfOpenBusy),
                -32_082,
                r#"{"reason":"half_open_busy","retry_after_ms":1000}"#,
            ),
            (
                rejected(Rejection::AllOpen { retry_in }),
                -32_083,
                r#"{"reason":"all_open","retry_after_ms":2500}"#,
            ),
            (rejected(Rejection::ForcedOpen), -32_083, r#"{"reason":"forced_open"}"#),
            (
                rejected(Rejection::Deadline { attempts: 1 }),
                -32_084,
                r#"{"reason":"deadline","retry_after_ms":1000}"#,
            ),
            (
                rejected(Rejection::Throttled { retry_in }),
                -32_085,
                r#"{"reason":"throttled","retry_after_ms":2500}"#,
            ),
            (PoolError::Exhausted { attempts: vec![] }, -32_603, r#"{"reason":"exhausted"}"#),
            (BadRequest::EmptyBatch.into(), -32_600, r#"{"reason":"bad_request"}"#),
        ] {
            let payload = error.payload();
            assert_eq!((payload.code, &*payload.message), (code, error.to_string().as_str()));
            assert_eq!(payload.data.unwrap().get(), data);
        }
    }
}
