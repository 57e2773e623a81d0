//! Faults of time, of transport and of single answers.

use super::{Bytes, Effect, Notice, Point, Rule};
use crate::{
    path,
    pool::{self, GethPool},
    reply::{self, HttpReply},
    rpc::RpcError,
    throttle::Throttle,
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// # Time and connection
impl Rule {
    /// Waits before it is forwarded. Also holds a notification back.
    pub fn delay(self, time: Duration) -> Self {
        self.with(Effect::Delay(time))
    }

    /// Neither forwards nor answers, and keeps the connection open.
    pub fn hang(self) -> Self {
        self.with(Effect::Hang(Point::Before))
    }

    /// Forwards, but the answer never comes; the connection stays open.
    pub fn hang_after_forwarding(self) -> Self {
        self.with(Effect::Hang(Point::After))
    }

    /// Closes the connection, without forwarding. At [`WS_OPEN`](crate::WS_OPEN): right after the handshake.
    pub fn close_before_forwarding(self) -> Self {
        self.with(Effect::Close(Point::Before))
    }

    /// Forwards, then closes the connection instead of answering: it happened, and the client does not know.
    pub fn close_after_forwarding(self) -> Self {
        self.with(Effect::Close(Point::After))
    }

    /// Promises the whole body, sends its first `bytes`, and closes. Over WebSocket: a frame that ends in the middle.
    pub fn truncate(self, bytes: usize) -> Self {
        self.with(Effect::Bytes(Bytes::Truncate(bytes)))
    }

    /// Sends `bytes` at a time, and waits before each. Over WebSocket the whole message waits as long.
    ///
    /// # Panics
    /// When `bytes` is 0: it would never end; that is [`hang_after_forwarding`](Self::hang_after_forwarding).
    pub fn drip(self, bytes: usize, pause: Duration) -> Self {
        assert_ne!(bytes, 0, "a drip of 0 bytes never ends");
        self.with(Effect::Bytes(Bytes::Drip(bytes, pause)))
    }
}

/// # Other answers
impl Rule {
    /// This result; the upstream is not asked.
    pub fn answer(self, result: impl Into<Value>) -> Self {
        let result = result.into();
        self.with(Effect::Instead(Arc::new(move |_| Some(Ok(result.clone())))))
    }

    /// What this makes of the parameters; None leaves the call to other rules and the upstream.
    pub fn answer_by(
        self,
        decide: impl Fn(&Value) -> Option<Result<Value, RpcError>> + Send + Sync + 'static,
    ) -> Self {
        self.with(Effect::Instead(Arc::new(move |request| decide(&request.params))))
    }

    /// `null`; the upstream is not asked.
    pub fn null(self) -> Self {
        self.answer(Value::Null)
    }

    /// This error; the upstream is not asked.
    pub fn error(self, error: RpcError) -> Self {
        self.with(error.into())
    }

    /// This HTTP answer, whatever was asked; the upstream is not asked. Over WebSocket its body is the message, and at
    /// [`WS_OPEN`](crate::WS_OPEN) it refuses the handshake. In a batch it answers the whole batch.
    pub fn http(self, reply: HttpReply) -> Self {
        self.with(Effect::Bytes(Bytes::Reply(reply)))
    }

    /// The answer as it is, in this HTTP status; a WebSocket has none.
    ///
    /// # Panics
    /// When the status has not three digits.
    pub fn status(self, status: u16) -> Self {
        self.with(Effect::Bytes(Bytes::Status(reply::code(status))))
    }

    /// Half of the answer's text, whole as HTTP.
    pub fn invalid_json(self) -> Self {
        self.with(Effect::Bytes(Bytes::InvalidJson))
    }

    /// An id that was not asked with.
    pub fn wrong_id(self) -> Self {
        // Within the numbers that every JSON reader keeps exact.
        self.set("/id", 9_007_199_254_740_991_u64)
    }

    /// Puts a value at a JSON pointer into the answer, such as `/result/number`; `*` is every element of an array. For
    /// a notification the pointer begins in its `params`, so `/result/number` is the same there.
    pub fn set(self, pointer: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.edit(move |_, answer| path::set(answer, pointer, &value))
    }

    /// Takes away what is at a JSON pointer; see [`set`](Self::set).
    pub fn remove(self, pointer: &'static str) -> Self {
        self.edit(move |_, answer| path::remove(answer, pointer))
    }

    /// Any change of the answer, given the parameters; see [`set`](Self::set) for what it is given.
    pub fn edit(self, change: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Self {
        self.with(Effect::Edit(Arc::new(change)))
    }

    /// If it came in a batch: the batch is answered backwards.
    pub fn reverse_batch(self) -> Self {
        self.with(Effect::Bytes(Bytes::ReverseBatch))
    }

    /// If it came in a batch: the batch is answered without it. Else it is never answered, though HTTP is well.
    pub fn leave_out(self) -> Self {
        self.with(Effect::Bytes(Bytes::LeaveOut))
    }

    /// If it came in a batch of more than `most`: this answers the whole batch.
    pub fn batch_cap(self, most: usize, reply: HttpReply) -> Self {
        self.with(Effect::Bytes(Bytes::BatchCap(most, reply)))
    }
}

/// # Limits
impl Rule {
    /// A token bucket: `burst` calls at once, and one more each `refill`. Beyond: 429, with the whole seconds until the
    /// next token in `Retry-After`.
    ///
    /// # Panics
    /// When there is nothing to fill, or it is filled in no time.
    pub fn throttle(self, burst: u32, refill: Duration) -> Self {
        self.with(Effect::Throttle(Throttle::new(burst, refill)))
    }

    /// geth's rules for `eth_sendRawTransaction`: a replacement must raise both fees by 10 %, and errors have −32000.
    pub fn geth_pool(self) -> Self {
        self.with(Effect::Pool(GethPool::default()))
    }

    /// For `eth_sendRawTransaction`: says the hash, as if all were well, and forwards nothing.
    pub fn drop_silently(self) -> Self {
        self.with(Effect::Instead(Arc::new(pool::swallow)))
    }
}

/// # Notifications and frames
impl Rule {
    /// The notification is not sent.
    pub fn skip(self) -> Self {
        self.with(Effect::Notice(Notice::Skip))
    }

    /// The notification is sent twice.
    pub fn repeat(self) -> Self {
        self.with(Effect::Notice(Notice::Repeat))
    }

    /// The notification is sent after the next one.
    pub fn late(self) -> Self {
        self.with(Effect::Notice(Notice::Late))
    }

    /// A WebSocket frame that the protocol does not know, in place of what was to be sent; over HTTP nothing happens.
    pub fn bad_frame(self) -> Self {
        self.with(Effect::Bytes(Bytes::BadFrame))
    }
}
