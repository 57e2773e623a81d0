//! All that can be done to a call, sorted by the moment in which it happens.

use crate::{
    pool::GethPool,
    reply::HttpReply,
    rpc::{Answer, Request, RpcError},
    throttle::Throttle,
};
use alloy::primitives::B256;
use hyper::StatusCode;
use serde_json::Value;
use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use super::{Finality, RangeCap, ResultCap};

/// Before the upstream is asked, or after it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Before,
    After,
}

/// An answer that the upstream is not asked for; None leaves the call alone.
pub(crate) type Instead = Arc<dyn Fn(&Request) -> Option<Answer> + Send + Sync>;

/// A change of the object that answers; it sees the parameters.
pub(crate) type Edit = Arc<dyn Fn(&Value, &mut Value) + Send + Sync>;

#[derive(Clone)]
pub(crate) enum Effect {
    // How long it takes, and whether it ends.
    Delay(Duration),
    Hang(Point),
    Close(Point),
    // Who answers.
    Instead(Instead),
    Throttle(Throttle),
    RangeCap(RangeCap),
    ResultCap(ResultCap),
    Pool(GethPool),
    // What is seen of the chain.
    PinTo(String),
    Stale(u64),
    Hide(RangeInclusive<u64>),
    ChainId(u64),
    Genesis(B256),
    Finality(Finality),
    // What the answer says.
    Edit(Edit),
    // How it is written.
    Bytes(Bytes),
    // What becomes of a notification.
    Notice(Notice),
}

/// How an answer is written.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    /// In place of the answer.
    Reply(HttpReply),
    /// What it is, with another status.
    Status(StatusCode),
    /// Only half of the text.
    InvalidJson,
    /// Says how long it is, ends after this many bytes, and closes.
    Truncate(usize),
    /// This many bytes at a time, with a pause before each.
    Drip(usize, Duration),
    /// A batch is answered backwards.
    ReverseBatch,
    /// A batch is answered without this one.
    LeaveOut,
    /// In place of the answers to a batch of more than so many.
    BatchCap(usize, HttpReply),
    /// A WebSocket frame that the protocol does not know.
    BadFrame,
}

/// What becomes of a notification.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    Skip,
    Repeat,
    /// Comes after the next one.
    Late,
}

impl From<RpcError> for Effect {
    fn from(error: RpcError) -> Self {
        Self::Instead(Arc::new(move |_| Some(Err(error.clone()))))
    }
}
