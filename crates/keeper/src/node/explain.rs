//! What went wrong with a call: for a person, without a key, and for the keeper, which does something about some of it.

use alloy::{rpc::json_rpc::RpcError, transports::TransportError};
use fusebox_rpc::{
    Attempt, CallContext, Category, PoolError, Rejection, Reply, ReplyHeaders, Rules, classify,
    pool_error,
};
use serde_json::json;
use std::time::SystemTime;

/// Where something answers, but no node.
pub(super) const NO_NODE: &str = "the answer is not that of an Ethereum node; is the URL right?";

/// A failed call for a person. Of a node's words the pool has taken the key out already.
pub(crate) fn explain(error: &TransportError) -> String {
    if let Some(error) = pool_error(error) {
        return unanswered(error);
    }
    match error {
        RpcError::ErrorResp(answer) => {
            format!("the node answers with error {}: {}", answer.code, printable(&answer.message))
        }
        RpcError::DeserError { .. } | RpcError::NullResp => NO_NODE.to_owned(),
        _ => "the request failed".to_owned(),
    }
}

/// Without times, which differ at each try: who waits would be told again and again.
fn unanswered(error: &PoolError) -> String {
    match error {
        PoolError::Exhausted { attempts } => attempts.last().map_or_else(String::new, failed),
        PoolError::Rejected(Rejection::Throttled { .. }) => "it is rate limited".to_owned(),
        PoolError::Rejected(Rejection::Deadline { .. }) => "none in time".to_owned(),
        PoolError::Rejected(Rejection::ForcedOpen) => "it is on another chain".to_owned(),
        PoolError::Rejected(_) => {
            "it has failed too often, and is left alone for seconds".to_owned()
        }
        _ => error.to_string(),
    }
}

fn failed(attempt: &Attempt) -> String {
    match attempt.category {
        Category::Network => "the connection is refused, or breaks".to_owned(),
        Category::Timeout => "none in time".to_owned(),
        Category::Auth => "the key in the URL is refused".to_owned(),
        Category::Quota => "its quota is used up".to_owned(),
        Category::RateLimit => "it is rate limited".to_owned(),
        Category::Server if &*attempt.reason == "malformed" => NO_NODE.to_owned(),
        Category::Server => format!("it fails ({}); is the URL right?", attempt.reason),
        category => format!("{category}, {}; is the URL right?", attempt.reason),
    }
}

/// Whether the pool turned the call away, because of what is known already: no news of the node.
pub(crate) fn is_turned_away(error: &TransportError) -> bool {
    let open = |error: &PoolError| {
        matches!(
            error,
            PoolError::Rejected(
                Rejection::CircuitOpen { .. } | Rejection::HalfOpenBusy | Rejection::AllOpen { .. }
            )
        )
    };
    pool_error(error).is_some_and(open)
}

/// Whether the node is known to be on another chain.
pub(crate) fn is_of_another_chain(error: &TransportError) -> bool {
    matches!(pool_error(error), Some(PoolError::Rejected(Rejection::ForcedOpen)))
}

/// Whether a node refuses logs because they are too many. The words decide, and the pool knows them.
pub(crate) fn is_too_much(error: &TransportError) -> bool {
    if let Some(PoolError::Exhausted { attempts }) = pool_error(error) {
        return attempts.last().is_some_and(|last| last.category == Category::Capability);
    }
    let Some(answer) = error.as_error_resp() else { return false };
    let body = json!({ "error": { "code": answer.code, "message": answer.message } }).to_string();
    let ctx = CallContext {
        method: "eth_getLogs",
        host: "",
        id: None,
        block: None,
        head: None,
        // Of no matter here: it is for waiting times.
        now: SystemTime::UNIX_EPOCH,
    };
    let reply =
        Reply::Http { status: 200, headers: ReplyHeaders::default(), body: body.as_bytes() };
    classify(&reply, &ctx, Rules::shipped()).category == Category::Capability
}

/// What a node says, on one line of bounded length: it must not be able to write lines of its own into a log.
fn printable(message: &str) -> String {
    const LENGTH: usize = 200;
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LENGTH).collect()
}

/// The transport error in a chain of errors: what is worth another try.
pub(crate) fn transport_error(error: &eyre::Report) -> Option<&TransportError> {
    error.chain().find_map(|cause| cause.downcast_ref::<TransportError>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_says_stays_on_one_line_of_bounded_length() {
        assert_eq!(printable("bad\nblock 1  closed\u{1b}[31m"), "bad block 1  closed [31m");
        assert_eq!(printable(&"x".repeat(1_000)).len(), 200);
    }
}
