//! What becomes of one call: it is recorded, the rules are asked, then the upstream, and the answer is spoilt.

use crate::{
    clock::Clock,
    pool::{Entering, GethPool},
    record::{Call, Record, Transport},
    reply::HttpReply,
    rpc::{Answer, Request, RpcError, envelope},
    rule::{Bytes, Effect, Point, Rules, Subject},
    seed::Seed,
    upstream::Upstream,
    view::View,
    ws::Session,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// The upstream of a call that no rule pins to another.
pub(crate) const MAIN: &str = "main";

/// What all connections of a node share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) started: Duration,
    pub(crate) seed: Seed,
    pub(crate) record: Record,
    pub(crate) rules: Mutex<Rules>,
    /// `main` is always among them.
    pub(crate) upstreams: BTreeMap<String, Upstream>,
    pub(crate) requests: AtomicU64,
    pub(crate) subscriptions: AtomicU64,
}

/// Where a call came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) endpoint: &'a str,
    /// Counts bodies and messages.
    pub(crate) request: u64,
    /// Only a WebSocket has one.
    pub(crate) session: Option<&'a Session>,
}

/// The answer of one call, and how it is to be written.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// None for a notification.
    pub(crate) envelope: Option<Value>,
    /// The status and the headers that an error comes with.
    pub(crate) failed: Option<HttpReply>,
    pub(crate) bytes: Vec<Bytes>,
    /// A subscription that begins once this was sent.
    pub(crate) subscription: Option<Subscription>,
}

#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) notifications: mpsc::Receiver<Value>,
}

/// The connection is to be closed, now.
#[derive(Debug)]
pub(crate) struct Closed;

impl Shared {
    pub(crate) fn rules(&self) -> MutexGuard<'_, Rules> {
        // A parameter predicate that panicked has changed nothing.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// What goes wrong with this, which may be no call.
    pub(crate) fn effects(
        &self,
        endpoint: &str,
        transport: Transport,
        (method, params): (&str, &Value),
        is_call: bool,
    ) -> Vec<Effect> {
        let at = self.clock.now().saturating_sub(self.started);
        self.rules().effects(&Subject { endpoint, transport, method, params, is_call, at })
    }

    /// Never ends if a rule says so.
    pub(crate) async fn answer(
        &self,
        origin: Origin<'_>,
        request: Request,
    ) -> Result<Reply, Closed> {
        let Request { method, params, .. } = &request;
        let transport =
            if origin.session.is_some() { Transport::WebSocket } else { Transport::Http };
        // Before it is recorded: who has seen the call in the record may change the rules.
        let effects = self.effects(origin.endpoint, transport, (method, params), true);
        let number = self.record.add(Call {
            endpoint: origin.endpoint.to_owned(),
            transport,
            request: origin.request,
            method: method.clone(),
            params: params.clone(),
            at: self.clock.now(),
            upstream: None,
        });
        let name = pinned(&effects);
        let upstream = &self.upstreams[name];
        let view = View::new(upstream, &effects);

        let mut subscription = None;
        let answer = match self.before(&effects, &view, &request).await? {
            Some(answer) => answer,
            None => {
                self.record.forwarded(number, name);
                let mut answer =
                    self.forward(origin, upstream, &view, &request, &mut subscription).await;
                judge(&effects, &view, &request, &mut answer).await;
                answer
            }
        };
        for effect in &effects {
            match effect {
                Effect::Hang(Point::After) => pending().await,
                Effect::Close(Point::After) => return Err(Closed),
                _ => {}
            }
        }
        let failed = answer.as_ref().err().map(|error| (*error.http).clone());
        let mut envelope = request.id.clone().map(|id| envelope(id, &answer));
        let mut bytes = Vec::new();
        for effect in &effects {
            match (effect, &mut envelope) {
                (Effect::Edit(edit), Some(envelope)) => edit(params, envelope),
                (Effect::Bytes(how), _) => bytes.push(how.clone()),
                _ => {}
            }
        }
        Ok(Reply { envelope, failed, bytes, subscription })
    }

    /// An answer for which the upstream is not asked.
    async fn before(
        &self,
        effects: &[Effect],
        view: &View<'_>,
        request: &Request,
    ) -> Result<Option<Answer>, Closed> {
        // Time first: what answers then, answers late too, in whatever order the rules were given.
        for effect in effects {
            match effect {
                Effect::Delay(time) => self.clock.sleep(*time).await,
                Effect::Hang(Point::Before) => pending().await,
                Effect::Close(Point::Before) => return Err(Closed),
                _ => {}
            }
        }
        for effect in effects {
            let instead = match effect {
                Effect::Instead(instead) => instead(request),
                Effect::Throttle(throttle) => throttle.refuse(&*self.clock).map(Err),
                Effect::RangeCap(cap) if request.method == "eth_getLogs" => {
                    match view.range(&request.params).await {
                        Ok(range) => range.and_then(|(from, to)| cap.refuse(from, to)).map(Err),
                        Err(error) => Some(Err(error)),
                    }
                }
                Effect::Pool(pool) => refuse(pool, view, request).await.map(Err),
                // What is written has nothing to do with what was asked.
                Effect::Bytes(Bytes::Reply(_)) => Some(Ok(Value::Null)),
                _ => None,
            };
            if instead.is_some() {
                return Ok(instead);
            }
        }
        Ok(None)
    }

    async fn forward(
        &self,
        origin: Origin<'_>,
        upstream: &Upstream,
        view: &View<'_>,
        request: &Request,
        subscription: &mut Option<Subscription>,
    ) -> Answer {
        let Request { method, params, .. } = request;
        match (method.as_str(), origin.session) {
            ("eth_subscribe", Some(_)) => {
                let notifications = upstream.subscribe(params).await?;
                let id = format!("{:#x}", self.subscriptions.fetch_add(1, Ordering::Relaxed) + 1);
                let kind = params.get(0).and_then(Value::as_str).unwrap_or_default().to_owned();
                *subscription = Some(Subscription { id: id.clone(), kind, notifications });
                Ok(id.into())
            }
            ("eth_unsubscribe", Some(session)) => {
                let id = params.get(0).and_then(Value::as_str).unwrap_or_default();
                Ok(session.unsubscribe(id).into())
            }
            _ => view.ask(method, params).await,
        }
    }
}

/// What a provider makes of its node's answer.
async fn judge(effects: &[Effect], view: &View<'_>, request: &Request, answer: &mut Answer) {
    let params = &request.params;
    for effect in effects {
        match effect {
            Effect::Pool(pool) => {
                if let Some(entering) = Entering::read(params) {
                    pool.settle(&entering, answer);
                }
            }
            Effect::ResultCap(cap) if request.method == "eth_getLogs" => {
                let found = answer.as_ref().ok().and_then(Value::as_array).map_or(0, Vec::len);
                let (from, to) = view.range(params).await.ok().flatten().unwrap_or_default();
                if let Some(error) = cap.refuse(found, from, to) {
                    *answer = Err(error);
                }
            }
            _ => {}
        }
    }
}

async fn refuse(pool: &GethPool, view: &View<'_>, request: &Request) -> Option<RpcError> {
    let entering = Entering::read(&request.params)?;
    let count = view.ask("eth_getTransactionCount", &json!([entering.from, "latest"])).await;
    let next = count.ok().as_ref().and_then(crate::rpc::number).unwrap_or_default();
    pool.refuse(&entering, next)
}

/// The last rule that pins wins, as the last of several values does.
fn pinned(effects: &[Effect]) -> &str {
    let mut pins = effects.iter().rev().filter_map(|effect| match effect {
        Effect::PinTo(upstream) => Some(upstream.as_str()),
        _ => None,
    });
    pins.next().unwrap_or(MAIN)
}
