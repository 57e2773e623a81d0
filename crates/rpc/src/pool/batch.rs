//! Batches: one request per class, judged element by element.
//!
//! A node may serve half of a batch and refuse the other half. So each element has its own verdict; those worth it are
//! asked elsewhere, alone, and answers return in the caller's order whatever the node's was.
//!
//! How many calls a batch may have differs by provider. A refusal teaches it, and the batch goes on in pieces.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use alloy::rpc::json_rpc::Response;
use fusebox_breaker::{Outcome, Tick};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;

use super::Pool;
use super::answer::Payload;
use super::attempt::{Held, Tried, outcome};
use super::call::Call;
use super::ending::Ended;
use super::error::PoolError;
use super::failover::{MAX_ATTEMPTS, Run};
use super::frame::Form;
use super::pick::Pick;
use super::target::Target;
use super::time::since_origin;
use super::wire::Received;
use crate::batch::batch_elements;
use crate::method::MethodClass;
use crate::verdict::{Category, Lack, Reason, Verdict};

/// How many elements of a broken batch are asked at once. All of them would be the burst that the batch avoided.
const MOST_AT_ONCE: usize = 8;

/// An element's place in the batch, and what became of it.
type Answered = (usize, Result<Payload, PoolError>);

/// What became of elements that went to one endpoint.
struct Sent {
    answered: Vec<Answered>,
    left: Vec<usize>,
    next: Next,
}

/// How to go on with those that are left.
enum Next {
    /// Elsewhere: this endpoint had no answer to any.
    Together,
    /// It takes no batches; alone they are welcome there.
    AloneHere,
    /// It answered others.
    AloneElsewhere,
}

impl Pool {
    /// All answers in the order of the calls. Fails as a whole if no element has an answer.
    pub(crate) async fn batch(&self, calls: Vec<Call>) -> Result<Vec<Response>, PoolError> {
        let deadline = self.deadline();
        let mut groups: BTreeMap<Option<MethodClass>, Vec<usize>> = BTreeMap::new();
        let mut alone = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let class = (!self.options.whole_batch).then_some(call.class);
            match call.idempotent {
                true => groups.entry(class).or_default().push(at),
                false => alone.push(at),
            }
        }
        let groups = groups.into_values().map(|group| self.group(&calls, group, deadline));
        // One after the other: what is not harmless is often a series of nonces.
        let alone = async {
            let mut answered = Vec::new();
            for at in alone {
                answered.push((at, self.route(&calls[at]).await));
            }
            answered
        };
        let (groups, alone) = futures_util::join!(join_all(groups), alone);
        let mut answered: Vec<Answered> = groups.into_iter().flatten().chain(alone).collect();
        answered.sort_by_key(|(at, _)| *at);
        let nobody = answered.iter().all(|(_, answer)| answer.is_err());
        let mut responses = Vec::with_capacity(calls.len());
        for (call, (_, answer)) in calls.into_iter().zip(answered) {
            let payload = match answer {
                Ok(payload) => payload,
                Err(error @ PoolError::PinLost { .. }) => return Err(error),
                Err(error) if nobody => return Err(error),
                Err(error) => Payload::Failure(error.payload()),
            };
            responses.push(Response { id: call.id, payload });
        }
        Ok(responses)
    }

    /// The elements that go out together.
    async fn group(&self, calls: &[Call], group: Vec<usize>, deadline: Tick) -> Vec<Answered> {
        let mut answered = Vec::new();
        let mut tried = BTreeSet::new();
        let mut left = group;
        let mut long = Vec::new();
        for _ in 1..MAX_ATTEMPTS {
            if left.len() < 2 && !self.options.whole_batch {
                break;
            }
            let Some(first) = left.first().map(|at| &calls[*at]) else { break };
            let Pick::Ask { index, wait } =
                self.shared.pick(first, &self.options, &tried, deadline)
            else {
                break;
            };
            let time = &self.shared.time;
            if !wait.is_zero() {
                time.sleep_until(time.now().after(wait)).await;
            }
            tried.insert(index);
            let target = &self.shared.targets[index];
            if self.shared.identify(target, deadline).await.is_err() {
                continue;
            }
            if !self.options.whole_batch {
                // A range that is known to be too long would be refused, and go in pieces then.
                let is_long = |at: &usize| self.shared.is_too_long(&calls[*at], index);
                long.extend(left.extract_if(.., |at| is_long(at)));
                if left.is_empty() {
                    break;
                }
            }
            let sent = self.in_pieces(target, calls, left, deadline).await;
            answered.extend(sent.answered);
            left = sent.left;
            match sent.next {
                Next::Together => {}
                Next::AloneHere => {
                    tried.remove(&index);
                    break;
                }
                Next::AloneElsewhere => break,
            }
        }
        // What is left goes alone: elsewhere first, or in pieces, or with the errors of a single call.
        // A list first: futures made as they are asked for would not be `Send` for every lifetime.
        let untried = BTreeSet::new();
        let mut rest = Vec::new();
        let long = long.into_iter().map(|at| (at, &untried));
        for (at, tried) in left.into_iter().map(|at| (at, &tried)).chain(long) {
            let call = self.elsewhere(&calls[at], tried, deadline);
            rest.push(async move { (at, call.await) });
        }
        let rest: Vec<Answered> = stream::iter(rest).buffered(MOST_AT_ONCE).collect().await;
        answered.extend(rest);
        answered
    }

    /// Sends elements to one endpoint, as many at once as it takes: what that is, its refusals teach.
    async fn in_pieces(
        &self,
        target: &Target,
        calls: &[Call],
        elements: Vec<usize>,
        deadline: Tick,
    ) -> Sent {
        let shared = &self.shared;
        let class = calls[elements[0]].class;
        let mut sent = Sent { answered: Vec::new(), left: Vec::new(), next: Next::AloneElsewhere };
        let mut unsent = VecDeque::from(elements);
        while !unsent.is_empty() {
            let now = shared.time.now();
            let most = target.state.known().batches.max(since_origin(now)).unwrap_or(usize::MAX);
            if most < 2 {
                sent.next = Next::AloneHere;
                break;
            }
            let held = match now < deadline && target.take_pace(now) {
                true => Held::acquire(target.breaker(class)),
                false => None,
            };
            let Some(held) = held else {
                sent.next = Next::Together;
                break;
            };
            let piece: Vec<usize> = unsent.drain(..most.min(unsent.len())).collect();
            let members: Vec<&Call> = piece.iter().map(|at| &calls[*at]).collect();
            let judged = self.exchange_batch(target, &members, held, deadline).await;
            let (count, now) = (piece.len(), since_origin(shared.time.now()));
            let too_many =
                |tried: &Tried| matches!(tried.verdict.lack, Some(Lack::Batch | Lack::Request));
            if judged.iter().all(too_many) {
                let most = judged.iter().find_map(|tried| tried.verdict.max_batch);
                target.state.known().batches.refused(count, most, now);
                piece.into_iter().rev().for_each(|at| unsent.push_front(at));
                continue;
            }
            let failed = judged.iter().all(|tried| !tried.is_final());
            for (at, tried) in piece.into_iter().zip(judged) {
                // In pieces it would be other requests, which another node behind the same name may answer.
                let is_too_long = matches!(tried.verdict.lack, Some(Lack::Range | Lack::Answer));
                let is_final = tried.is_final() || self.options.whole_batch && is_too_long;
                match (is_final, tried.payload) {
                    (true, Some(payload)) => sent.answered.push((at, Ok(payload))),
                    _ => sent.left.push(at),
                }
            }
            if failed {
                sent.next = Next::Together;
                break;
            }
            target.state.known().batches.succeeded(count, now);
        }
        sent.left.extend(unsent);
        sent
    }

    /// One element alone, not where the batch has failed unless nobody else is left.
    async fn elsewhere(
        &self,
        call: &Call,
        tried: &BTreeSet<usize>,
        deadline: Tick,
    ) -> Result<Payload, PoolError> {
        let others = self.shared.eligible(&self.options).iter().any(|index| !tried.contains(index));
        let mut run = Run::new(self, call, deadline);
        if others {
            run.tried.clone_from(tried);
        }
        match run.end().await {
            Ended::Answer(payload) => Ok(payload),
            Ended::Failed(error) | Ended::Unclear { error, .. } => Err(error),
        }
    }

    /// Sends the batch, and judges each element.
    async fn exchange_batch(
        &self,
        target: &Target,
        calls: &[&Call],
        held: Held,
        deadline: Tick,
    ) -> Vec<Tried> {
        let shared = &self.shared;
        let class = calls[0].class;
        let started = shared.time.now();
        let longest = calls.iter().map(|call| shared.attempt_deadline(call.class)).max();
        let own = started.after(longest.unwrap_or_default());
        let received = shared.exchange(target, calls, Form::Batch, own, deadline).await;
        let elapsed = shared.time.now().since(started);
        let tried = self.judge_batch(target, calls, &received, elapsed);
        for (call, tried) in calls.iter().zip(&tried) {
            shared.note(target, call, tried);
        }
        shared.settle(target, class, held, together(&tried));
        tried
    }

    fn judge_batch(
        &self,
        target: &Target,
        calls: &[&Call],
        received: &Received,
        elapsed: Duration,
    ) -> Vec<Tried> {
        let whole =
            |(at, call): (usize, &&Call)| self.shared.judge(target, call, at, received, elapsed);
        let places = calls.iter().enumerate();
        let Received::Answer(raw) = received else { return places.map(whole).collect() };
        let Some(elements) = batch_elements(&raw.body) else {
            return places.map(whole).collect();
        };
        let mut by_id: BTreeMap<&str, VecDeque<&str>> = BTreeMap::new();
        for element in &elements {
            by_id.entry(element.id.unwrap_or_default()).or_default().push_back(element.text);
        }
        let one = |(at, call): (usize, &&Call)| {
            let id = raw.id(call, at);
            let text = by_id.get_mut(&*id).and_then(VecDeque::pop_front);
            let (verdict, payload) = match text {
                Some(text) => {
                    self.shared.judge_text(target, call, &id, &raw.reply(text.as_bytes()))
                }
                None => (Verdict::new(Category::Server, Reason::Shape), None),
            };
            Tried { verdict, payload, never_left: false, elapsed }
        };
        places.map(one).collect()
    }
}

/// What a batch means to the breaker: good if anything in it was, bad only if all of it was.
fn together(tried: &[Tried]) -> Outcome {
    let outcomes: Vec<Outcome> = tried.iter().map(|tried| outcome(&tried.verdict)).collect();
    let rank = |wanted: Outcome| outcomes.contains(&wanted);
    if rank(Outcome::Success) {
        Outcome::Success
    } else if rank(Outcome::Answered) {
        Outcome::Answered
    } else if outcomes.iter().all(|outcome| matches!(outcome, Outcome::Failure(_))) {
        outcomes.first().copied().unwrap_or(Outcome::Neutral)
    } else {
        Outcome::Neutral
    }
}
