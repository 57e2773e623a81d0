//! Answers as bytes of HTTP.

use crate::{clock::Clock, pipeline::Reply, reply::HttpReply, rule::Bytes as How};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{Response, StatusCode, body::Frame, header};
use serde_json::Value;
use std::{io, sync::Arc, time::Duration};

/// A body that may break off.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The bytes for these answers, and how it is to be sent.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) reply: HttpReply,
    pub(crate) truncate: Option<usize>,
    pub(crate) drip: Option<(usize, Duration)>,
    pub(crate) bad_frame: bool,
}

/// Several answers are several parts of one batch, and share what is wrong with any of them.
pub(crate) fn write(replies: Vec<Reply>, is_batch: bool) -> Written {
    let hows = || replies.iter().flat_map(|reply| &reply.bytes);
    let whole = hows().find_map(|how| match how {
        How::Reply(reply) => Some(reply.clone()),
        How::BatchCap(most, reply) if is_batch && replies.len() > *most => Some(reply.clone()),
        _ => None,
    });
    let truncate = hows().find_map(|how| match how {
        How::Truncate(bytes) => Some(*bytes),
        _ => None,
    });
    let drip = hows().find_map(|how| match how {
        How::Drip(bytes, pause) => Some((*bytes, *pause)),
        _ => None,
    });
    let bad_frame = hows().any(|how| matches!(how, How::BadFrame));
    let half = hows().any(|how| matches!(how, How::InvalidJson));
    let backwards = hows().any(|how| matches!(how, How::ReverseBatch));

    let told = hows().find_map(|how| match how {
        How::Status(status) => Some(*status),
        _ => None,
    });

    // A batch has one status: that of the first part with an uncommon one.
    let mut failed = replies.iter().filter_map(|reply| reply.failed.as_ref());
    let failed =
        failed.find(|failed| failed.status != StatusCode::OK || !failed.headers.is_empty());
    let mut reply = failed.cloned().unwrap_or_else(|| HttpReply::new(200));
    reply.status = told.unwrap_or(reply.status);
    let mut reply = reply.header("content-type", "application/json");
    let mut parts: Vec<Value> = replies
        .into_iter()
        .filter(|reply| !reply.bytes.iter().any(|how| matches!(how, How::LeaveOut)))
        .filter_map(|reply| reply.envelope)
        .collect();
    if backwards {
        parts.reverse();
    }
    let text = match (is_batch, parts.pop()) {
        // Nothing but notifications: nothing is answered.
        (_, None) => String::new(),
        (false, Some(one)) => one.to_string(),
        (true, Some(last)) => {
            parts.push(last);
            Value::from(parts).to_string()
        }
    };
    reply.body = if half { half_of(&text) } else { text }.into();
    Written { reply: whole.unwrap_or(reply), truncate, drip, bad_frame }
}

/// Never JSON: every answer is an object or an array, and the end that closes it is gone.
pub(crate) fn half_of(text: &str) -> String {
    text.chars().take(text.chars().count() / 2).collect()
}

impl Written {
    /// A reply as it is.
    pub(crate) fn whole(reply: HttpReply) -> Self {
        Self { reply, truncate: None, drip: None, bad_frame: false }
    }

    pub(crate) fn response(self, clock: &Arc<dyn Clock>) -> Response<Body> {
        let HttpReply { status, headers, body: text } = self.reply;
        let cut = self.truncate.filter(|bytes| *bytes < text.len());
        let body = match (cut, self.drip) {
            (None, None) => Full::new(text.clone()).map_err(|never| match never {}).boxed_unsync(),
            (cut, drip) => {
                let sent = text.slice(..cut.unwrap_or(text.len()));
                pieces(sent, drip, cut.is_some(), Arc::clone(clock))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        for (name, value) in headers {
            response.headers_mut().append(name, value);
        }
        // Said also when less will come. Without a body it is hyper's to say: some statuses may not have it.
        if !text.is_empty() {
            response.headers_mut().insert(header::CONTENT_LENGTH, text.len().into());
        }
        response
    }
}

fn pieces(
    text: Bytes,
    drip: Option<(usize, Duration)>,
    is_cut: bool,
    clock: Arc<dyn Clock>,
) -> Body {
    let state = Some((text, clock));
    let frames = stream::unfold(state, move |state| async move {
        let (mut rest, clock) = state?;
        if rest.is_empty() {
            if !is_cut {
                return None;
            }
            // hyper writes to the socket only when there is nothing more at hand: without this pause, nothing at all.
            tokio::task::yield_now().await;
            // And it closes the connection on an error: nothing else ends a body early.
            let error = io::Error::other("the rule says that the body ends here");
            return Some((Err(error), None));
        }
        let piece = match drip {
            None => rest.split_to(rest.len()),
            Some((bytes, pause)) => {
                clock.sleep(pause).await;
                rest.split_to(bytes.min(rest.len()))
            }
        };
        Some((Ok(Frame::data(piece)), Some((rest, clock))))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}
