//! One attempt: send, judge, settle. Each settles exactly one permit, whatever ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fusebox_breaker::{Category as Kind, Failure, Outcome, OwnedPermit, Tick};
use futures_util::future::{Either, select};
use reqwest::header::HeaderMap;

use super::answer::{Payload, payload};
use super::call::Call;
use super::frame::Form;
use super::servers::ServerBreaker;
use super::shared::Shared;
use super::target::Target;
use super::time::Clk;
use super::wire::{Raw, Received};
use crate::classify::classify;
use crate::context::CallContext;
use crate::method::MethodClass;
use crate::reply::{NoAnswer, Reply};
use crate::verdict::{Category, Lack, Reason, Verdict};

/// A permit on its way through an attempt, or none where the breaker is not to know.
#[derive(Debug, Default)]
pub(crate) struct Held {
    permit: Option<OwnedPermit<Clk>>,
    cancelled: Arc<AtomicBool>,
}

impl Held {
    pub(crate) fn acquire(breaker: &Arc<ServerBreaker>) -> Option<Self> {
        let permit = breaker.try_acquire_owned().ok()?;
        Some(Self { permit: Some(permit), cancelled: Arc::default() })
    }

    /// Whether a breaker waits to hear of it.
    pub(crate) fn has_permit(&self) -> bool {
        self.permit.is_some()
    }

    /// Once it is set, dropping this is a cancelled call and no failed one.
    pub(crate) fn cancel_switch(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Says how it ended; the era it belonged to, where it counts.
    pub(crate) fn settle(mut self, outcome: Outcome) -> Option<u64> {
        let permit = self.permit.take()?;
        let era = permit.generation();
        permit.settle(outcome);
        Some(era)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.cancelled.load(Ordering::Acquire)
            && let Some(permit) = self.permit.take()
        {
            permit.cancel();
        }
    }
}

/// What an attempt came to.
#[derive(Debug, Clone)]
pub(crate) struct Tried {
    pub(crate) verdict: Verdict,
    /// What the node said, if it is JSON-RPC.
    pub(crate) payload: Option<Payload>,
    /// The request surely never left this machine.
    pub(crate) never_left: bool,
    pub(crate) elapsed: Duration,
}

impl Tried {
    /// Whether it answers the call, for better or worse.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self.verdict.category,
            Category::Success | Category::User | Category::Revert | Category::TxPool
        ) || self.verdict.filter_lost
    }
}

/// What a verdict means to the breaker.
pub(crate) fn outcome(verdict: &Verdict) -> Outcome {
    let kind = match verdict.category {
        Category::Success => return Outcome::Success,
        Category::RateLimit | Category::Quota | Category::DataUnavailable => {
            return Outcome::Neutral;
        }
        Category::Capability | Category::User | Category::Revert | Category::TxPool => {
            return Outcome::Answered;
        }
        Category::Auth => Kind::AUTH,
        Category::Server => Kind::SERVER,
        Category::Timeout => Kind::TIMEOUT,
        Category::Network => Kind::NETWORK,
    };
    if !verdict.penalty {
        return Outcome::Neutral;
    }
    Outcome::Failure(Failure { category: kind, retry_after: verdict.hint })
}

impl Shared {
    /// How long one attempt at calls of this class may take.
    pub(crate) fn attempt_deadline(&self, class: MethodClass) -> Duration {
        match class {
            MethodClass::Logs | MethodClass::Trace => self.cfg.deadlines.logs,
            _ => self.cfg.deadlines.attempt,
        }
    }

    /// Sends one call and settles its permit by the verdict.
    pub(crate) async fn attempt(
        &self,
        target: &Target,
        call: &Call,
        held: Held,
        deadline: Tick,
    ) -> Tried {
        self.attempt_as(target, call, held, deadline, |tried| outcome(&tried.verdict)).await
    }

    /// The same, with another opinion on what the verdict means to the breaker.
    pub(crate) async fn attempt_as(
        &self,
        target: &Target,
        call: &Call,
        held: Held,
        deadline: Tick,
        means: impl FnOnce(&Tried) -> Outcome,
    ) -> Tried {
        let started = self.time.now();
        let own = started.after(self.attempt_deadline(call.class));
        let received = self.exchange(target, &[call], Form::Single, own, deadline).await;
        let elapsed = self.time.now().since(started);
        let tried = self.judge(target, call, 0, &received, elapsed);
        self.note(target, call, &tried);
        self.settle(target, call.class, held, means(&tried));
        tried
    }

    /// Settles a permit, and opens what has to open with it.
    pub(crate) fn settle(&self, target: &Target, class: MethodClass, held: Held, outcome: Outcome) {
        let before = target.breaker(class).view().generation;
        let era = held.settle(outcome);
        // A result of an earlier era has opened nothing.
        if let (Some(era), Outcome::Failure(failure)) = (era, outcome)
            && era == before
        {
            target.trip_siblings(class, failure.category, era);
        }
        // Now that it has happened, and not when somebody drains: nobody may. Here, since most calls move nothing.
        let is_stale = era.is_some_and(|era| era != before);
        if target.has_moved(class) || is_stale {
            self.servers.pump();
        }
    }

    /// Sends calls over whatever the endpoint speaks. Nothing has come by `own`, the attempt's deadline, or its caller
    /// waits no longer than `deadline`.
    pub(crate) async fn exchange(
        &self,
        target: &Target,
        calls: &[&Call],
        form: Form,
        own: Tick,
        deadline: Tick,
    ) -> Received {
        let sending = std::pin::pin!(async {
            match &target.line {
                Some(line) => self.over_line(line, calls, form).await,
                None => self.over_http(target, calls, form).await,
            }
        });
        match select(sending, self.time.sleep_until(own.min(deadline))).await {
            Either::Left((received, _)) => received,
            Either::Right(_) if deadline < own => Received::CutShort,
            Either::Right(_) => Received::Nothing(NoAnswer::Deadline),
        }
    }

    async fn over_http(&self, target: &Target, calls: &[&Call], form: Form) -> Received {
        let mut headers = HeaderMap::new();
        calls.iter().for_each(|call| headers.extend(call.headers.clone()));
        // Configured headers win: they are what identifies us.
        headers.extend(target.headers.clone());
        let body = match (form, calls) {
            (Form::Single, [call]) => call.body.clone(),
            _ => join(calls),
        };
        self.http.send(target.endpoint.expose_url(), headers, body).await
    }

    /// Judges what came for the call at place `at` of its request.
    pub(crate) fn judge(
        &self,
        target: &Target,
        call: &Call,
        at: usize,
        received: &Received,
        elapsed: Duration,
    ) -> Tried {
        let (verdict, payload, never_left) = match received {
            Received::Answer(raw) => {
                let (id, reply) = (raw.id(call, at), raw.reply(&raw.body));
                let (verdict, payload) = self.judge_text(target, call, &id, &reply);
                (verdict, payload, false)
            }
            Received::Refused(raw) => (self.refusal(target, call, raw), None, true),
            Received::Oversized => {
                let verdict = Verdict {
                    lack: Some(Lack::Answer),
                    ..Verdict::new(Category::Capability, Reason::Oversized)
                };
                (verdict, None, false)
            }
            Received::CutShort => {
                let reply = Reply::None(NoAnswer::Deadline);
                let (verdict, _) = self.judge_text(target, call, &call.id_text, &reply);
                // The caller's impatience proves nothing of the node.
                (Verdict { penalty: false, ..verdict }, None, false)
            }
            Received::Nothing(nothing) => {
                let (verdict, _) =
                    self.judge_text(target, call, &call.id_text, &Reply::None(*nothing));
                let never_left = nothing.never_left();
                (verdict, None, never_left)
            }
        };
        Tried { verdict, payload, never_left, elapsed }
    }

    /// Judges the refusal of a connection. It is about the endpoint, however much it looks like an answer to the call.
    pub(crate) fn refusal(&self, target: &Target, call: &Call, raw: &Raw) -> Verdict {
        let id = raw.id(call, 0);
        let (verdict, _) = self.judge_text(target, call, &id, &raw.reply(&raw.body));
        match verdict.category {
            Category::RateLimit | Category::Quota => verdict,
            category if category.is_failure() => verdict,
            _ => Verdict::new(Category::Server, Reason::Shape),
        }
    }

    /// Judges one answer, which may be an element of a batch. `id` is the one it was asked under.
    pub(crate) fn judge_text(
        &self,
        target: &Target,
        call: &Call,
        id: &str,
        reply: &Reply<'_>,
    ) -> (Verdict, Option<Payload>) {
        let ctx = CallContext {
            method: &call.method,
            host: target.host(),
            id: Some(id),
            block: call.block(),
            head: target.head(),
            now: self.time.wall(),
        };
        let verdict = classify(reply, &ctx, &self.rules);
        let payload = match reply {
            Reply::Http { body, .. } | Reply::Ws { body } => {
                payload(body, verdict.category == Category::Revert, &self.scrubber)
            }
            Reply::None(_) => None,
        };
        // A result that is none (in a 500, under another id) must not come back as one when all else fails. `null` for
        // a block that nobody has may.
        let is_result = matches!(verdict.category, Category::Success | Category::DataUnavailable);
        let payload = payload.filter(|payload| is_result || payload.is_error());
        (verdict, payload)
    }
}

/// The bodies of a batch as one.
fn join(calls: &[&Call]) -> Bytes {
    let mut body = Vec::with_capacity(calls.iter().map(|call| call.body.len() + 1).sum());
    for call in calls {
        body.push(if body.is_empty() { b'[' } else { b',' });
        body.extend_from_slice(&call.body);
    }
    body.push(b']');
    body.into()
}
