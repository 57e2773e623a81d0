//! Log queries in pieces.
//!
//! Every provider serves another longest range. Where none serves what is asked for, one endpoint is asked for pieces and
//! the caller never learns. One endpoint, not several: two nodes on two branches would give a set of logs that no chain
//! has.

use std::collections::VecDeque;
use std::time::Duration;

use alloy::rpc::json_rpc::ResponsePayload;
use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::{Payload, refusal};
use super::attempt::Tried;
use super::call::Call;
use super::failover::{MAX_RACES, Run};
use super::target::Target;
use super::time::since_origin;
use crate::span::{BlockSpan, MAX_CHUNKS, merge_logs};
use crate::verdict::{Category, Reason, Verdict};

/// JSON-RPC's "invalid params": what to say to a range that would need too many pieces.
const INVALID_PARAMS: i64 = -32_602;

impl Run<'_> {
    /// Asks one endpoint for the logs in pieces of at most `limit` blocks. `Err` if it does not see it through, with the
    /// attempt that ended it; without one where it may not be asked now, and whoever looks again finds out why.
    pub(crate) async fn split(
        &mut self,
        index: usize,
        limit: u64,
    ) -> Result<Payload, Option<Tried>> {
        let target = self.target(index);
        let span = self.call.span(target.head()).ok_or(None)?;
        let mut pieces = match span.chunks(limit) {
            Ok(pieces) => VecDeque::from(pieces),
            Err(too_many) => return Ok(self.too_many(too_many.to_string())),
        };
        let mut results: Vec<Box<RawValue>> = Vec::new();
        while let Some(piece) = pieces.pop_front() {
            let call = self.piece(piece, piece.to() == span.to());
            let tried = self.one_piece(target, &call).await.ok_or(None)?;
            match (tried.verdict.category, tried.payload) {
                // Where nobody else is left its pause is waited for, if that fits: by the next look at it.
                (Category::RateLimit, payload) if self.is_lone(index) => {
                    self.answer = payload.or(self.answer.take());
                    pieces.push_front(piece);
                }
                (Category::Success, Some(ResponsePayload::Success(logs))) => results.push(logs),
                (Category::Capability, payload) => {
                    let max = self.max_blocks(target).filter(|max| *max < piece.blocks());
                    let Some(max) = max else {
                        return Err(Some(Tried { payload, ..tried }));
                    };
                    let rest = BlockSpan::new(piece.from(), span.to()).unwrap_or(piece);
                    match rest.chunks(max) {
                        Ok(rest) if (results.len() + rest.len()) as u64 <= MAX_CHUNKS => {
                            pieces = VecDeque::from(rest);
                        }
                        Ok(rest) => {
                            let pieces = results.len() + rest.len();
                            let why = format!(
                                "blocks {span} are {pieces} pieces, more than {MAX_CHUNKS}; ask for fewer blocks at a time"
                            );
                            return Ok(self.too_many(why));
                        }
                        Err(too_many) => return Ok(self.too_many(too_many.to_string())),
                    }
                }
                (_, payload) => return Err(Some(Tried { payload, ..tried })),
            }
        }
        let merged = merge_logs(results.iter().map(|logs| logs.get()));
        match merged.and_then(|merged| RawValue::from_string(merged).ok()) {
            Some(merged) => Ok(ResponsePayload::Success(merged)),
            None => Err(Some(Tried {
                verdict: Verdict::new(Category::Server, Reason::Shape),
                payload: None,
                never_left: false,
                elapsed: Duration::ZERO,
            })),
        }
    }

    /// The call for one piece. The last one keeps the end that the caller named: "latest" may have moved on.
    fn piece(&self, piece: BlockSpan, is_last: bool) -> Call {
        let mut params = piece.into_logs(self.call.params());
        if is_last {
            let end = self.call.params()[0].get("toBlock").cloned().unwrap_or(Value::Null);
            params[0]["toBlock"] = end;
        }
        self.call.with_params(&params)
    }

    /// When it is its turn, if that is soon. What it was promised may go to another call, so it looks more than once.
    async fn one_piece(&self, target: &Target, call: &Call) -> Option<Tried> {
        let shared = &self.pool.shared;
        for _ in 0..MAX_RACES {
            let now = shared.time.now();
            let wait = target.wait(now);
            if wait > shared.cfg.max_inline_wait || now.after(wait) >= self.deadline {
                return None;
            }
            if !wait.is_zero() {
                shared.time.sleep_until(now.after(wait)).await;
            }
            if let Some(held) = self.enter(target) {
                return Some(shared.attempt(target, call, held, self.deadline).await);
            }
            if !target.standing(call.class).is_usable() {
                return None;
            }
        }
        None
    }

    fn max_blocks(&self, target: &Target) -> Option<u64> {
        let now = since_origin(self.pool.shared.time.now());
        target.state.known().learned(&self.call.method).max_blocks(now)
    }

    /// What the node said, if one did, else what is wrong with the range.
    fn too_many(&mut self, why: String) -> Payload {
        self.answer.take().unwrap_or_else(|| refusal(INVALID_PARAMS, why))
    }
}
