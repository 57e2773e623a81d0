//! From a body to the pool and back.

use super::{
    answer::{Answer, answered, invalid},
    request::{Body, Call, Part, parse},
};
use alloy::rpc::json_rpc::{
    Id, Request, RequestPacket, Response, ResponsePacket, ResponsePayload, SerializedRequest,
};
use fusebox_rpc::{Pool, PoolError, pool_error};
use tower_service::Service as _;

/// Answers a body.
pub(super) async fn relay(pool: &Pool, body: &[u8]) -> Answer {
    let (parts, is_batch) = match parse(body) {
        Ok(Body::One(part)) => (vec![part], false),
        Ok(Body::Batch(parts)) => (parts, true),
        Err(unreadable) => return Answer::unreadable(unreadable),
    };
    let mut calls: Vec<_> =
        parts.iter().flatten().zip(0..).map(|(call, id)| request(call, id)).collect();
    let packet = match (calls.len(), is_batch) {
        (0, _) => return Answer::of(write(&parts, is_batch, &[])),
        (_, true) => RequestPacket::Batch(calls),
        (_, false) => RequestPacket::Single(calls.swap_remove(0)),
    };
    match ask(pool, packet).await {
        Ok(payloads) => Answer::of(write(&parts, is_batch, &payloads)),
        Err(error) => {
            let same = vec![ResponsePayload::Failure(error.payload()); parts.len()];
            Answer::failed(&error, write(&parts, is_batch, &same))
        }
    }
}

/// With an id of ours: those of a client may be there twice, or be what alloy has no type for.
fn request(call: &Call<'_>, id: u64) -> SerializedRequest {
    let (method, id) = (call.method.to_string(), Id::Number(id));
    let request = match call.params {
        Some(params) => Request::new(method, id, params).serialize(),
        None => Request::new(method, id, ()).serialize(),
    };
    // A string and JSON that was parsed: there is nothing in it that serde_json refuses.
    request.expect("a text and JSON are JSON")
}

/// The answers in the order of the requests.
async fn ask(pool: &Pool, packet: RequestPacket) -> Result<Vec<ResponsePayload>, PoolError> {
    match pool.clone().call(packet).await {
        Ok(ResponsePacket::Single(Response { payload, .. })) => Ok(vec![payload]),
        Ok(ResponsePacket::Batch(all)) => Ok(all.into_iter().map(|one| one.payload).collect()),
        // A pool has no other errors. Were there one, it would not be shown: it could hold a URL.
        Err(error) => {
            Err(pool_error(&error).cloned().unwrap_or(PoolError::Exhausted { attempts: vec![] }))
        }
    }
}

/// What goes back: nothing for a notification.
fn write(parts: &[Part<'_>], is_batch: bool, payloads: &[ResponsePayload]) -> Option<String> {
    let mut payloads = payloads.iter();
    let mut answers = Vec::new();
    for part in parts {
        answers.extend(match part {
            Ok(call) => payloads.next().zip(call.id).map(|(payload, id)| answered(id, payload)),
            Err(refused) => Some(invalid(refused.id, refused.why)),
        });
    }
    match is_batch {
        true if !answers.is_empty() => Some(format!("[{}]", answers.join(","))),
        _ => answers.pop(),
    }
}
