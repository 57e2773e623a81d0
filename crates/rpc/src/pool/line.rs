//! The WebSocket of an endpoint over time: connections one after the other, each of which has to be earned.
//!
//! alloy's reconnects without a pause when a server accepts the socket and then fails (11,970 times in two seconds), and
//! sends pending requests again. Here a connection is made when somebody needs one, by nobody's leave but the pause after
//! the last: it doubles up to half a minute, and only a connection that held and told something true makes it short
//! again. Until the pause is over the endpoint asks to be left alone, like one that has said "too fast", and selection
//! looks elsewhere.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use fusebox_breaker::{Category as Kind, Failure, Mode, Outcome, Tick};
use futures_util::future::{Either, select};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::attempt::{Held, outcome};
use super::call::Call;
use super::frame::{Form, request};
use super::note::draw;
use super::servers::lock;
use super::shared::Shared;
use super::socket::{Ask, Ear, End, Lost, PROVEN, Plan, SILENCE, serve};
use super::target::Target;
use super::time::Clk;
use super::wake::Wake;
use super::wire::Received;
use crate::method::MethodClass;
use crate::reply::NoAnswer;

/// The first pause before a reconnect; doubled for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause. Other endpoints, and the poll timer, do the work meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The random part of a pause, in percent: a restarted gateway meets all its clients at once.
const JITTER_PERCENT: u64 = 20;

/// How many requests wait to be written. Beyond, callers wait with theirs in hand, until their deadlines.
const MOST_QUEUED: usize = 64;

/// How many connections may end under a request before it is written. Of a runtime that shuts down each does at once.
const MOST_TURNS: usize = 3;

/// The connections of one WebSocket endpoint.
#[derive(Debug)]
pub(crate) struct Line {
    /// Whose it is: a place among the pool's targets.
    at: usize,
    next_id: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// To the connection that there is, or is being made.
    asks: Option<mpsc::Sender<Ask>>,
    /// The connection's, and those of earlier ones that still tell of their end. They end with their owner.
    tasks: JoinSet<()>,
    /// Connections in a row that were not good.
    failures: u32,
    /// When the next one may be made.
    not_before: Tick,
    /// When a head was told of.
    last_head: Tick,
}

impl Line {
    /// None yet, for the target at this place.
    pub(crate) fn new(at: usize) -> Self {
        let state = State {
            asks: None,
            tasks: JoinSet::new(),
            failures: 0,
            not_before: Tick::ZERO,
            last_head: Tick::ZERO,
        };
        Self { at, next_id: AtomicU64::new(1), state: Mutex::new(state) }
    }

    /// How long no connection may be made, if there is none.
    pub(crate) fn pause(&self, now: Tick) -> Duration {
        let state = lock(&self.state);
        match &state.asks {
            Some(_) => Duration::ZERO,
            None => state.not_before.since(now),
        }
    }

    fn ids(&self, count: u64) -> Range<u64> {
        let first = self.next_id.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }
}

impl Shared {
    /// Asks over a line. Ends by itself only when the other side does something: the caller sets the deadline.
    pub(crate) async fn over_line(&self, line: &Line, calls: &[&Call], form: Form) -> Received {
        let ids = line.ids(calls.len() as u64);
        let text = request(calls, ids.clone(), form).into();
        self.send_over(line, text, ids, false).await
    }

    async fn send_over(
        &self,
        line: &Line,
        text: Bytes,
        ids: Range<u64>,
        for_heads: bool,
    ) -> Received {
        for _ in 0..MOST_TURNS {
            let Some(asks) = self.connection(line) else { break };
            let (answer, answered) = oneshot::channel();
            let ask = Ask { text: text.clone(), ids: ids.clone(), for_heads, answer };
            if asks.send(ask).await.is_err() {
                // It has ended just now. Whether there may be another one, the pause says.
                continue;
            }
            match answered.await {
                Ok(Some(received)) => return received,
                Ok(None) => {}
                // The task is gone, with its runtime: what it did last nobody knows.
                Err(_) => return Received::Nothing(NoAnswer::Reset),
            }
        }
        Received::Nothing(NoAnswer::Connect)
    }

    /// The connection that there is, or a new one if one may be made now.
    fn connection(&self, line: &Line) -> Option<mpsc::Sender<Ask>> {
        let mut state = lock(&line.state);
        if let Some(asks) = state.asks.as_ref().filter(|asks| !asks.is_closed()) {
            return Some(asks.clone());
        }
        if self.time.now() < state.not_before {
            return None;
        }
        let (asks, asked) = mpsc::channel(MOST_QUEUED);
        let target = &self.targets[line.at];
        let plan = Plan {
            endpoint: target.endpoint.clone(),
            headers: target.headers.clone(),
            http: self.websockets.clone()?,
            chain: self.chain,
            time: Arc::clone(&self.time),
            connect: self.cfg.deadlines.connect,
            attempt: self.cfg.deadlines.attempt,
        };
        let outside = Outside { shared: self.me.clone(), at: line.at };
        while state.tasks.try_join_next().is_some() {}
        state.tasks.spawn(outside.run(plan, asked, line.ids(1).start));
        state.asks = Some(asks.clone());
        Some(asks)
    }

    /// Listens for heads on one endpoint, for ever.
    pub(crate) async fn listen(&self, target: &Target, line: &Line) {
        loop {
            if target.breaker(MethodClass::Head).mode() == Mode::ForcedOpen {
                // Until an operator lets it go.
                self.time.sleep_until(self.time.now().after(MAX_PAUSE)).await;
                continue;
            }
            let pause = line.pause(self.time.now());
            if !pause.is_zero() {
                self.time.sleep_until(self.time.now().after(pause)).await;
                continue;
            }
            let Some(asks) = self.connection(line) else { continue };
            let mut subscription = None;
            while !asks.is_closed() {
                if let Some(old) = subscription.take() {
                    self.for_heads(line, "eth_unsubscribe", old).await;
                }
                subscription = self.for_heads(line, "eth_subscribe", "newHeads".into()).await;
                if subscription.is_none() {
                    tracing::debug!(provider = &*target.name, "no subscription");
                }
                self.heads_stop(line, &asks).await;
            }
        }
    }

    /// Ends with the connection, or when no head has come for [`SILENCE`]. A socket on which requests are answered is not
    /// dead, but a subscription on it may be, or there is none. Then it is asked for anew, and no request is disturbed.
    async fn heads_stop(&self, line: &Line, asks: &mpsc::Sender<Ask>) {
        let since = self.time.now();
        loop {
            let last = lock(&line.state).last_head.max(since);
            if self.time.now().since(last) >= SILENCE {
                return;
            }
            let silence = self.time.sleep_until(last.after(SILENCE));
            let ended = std::pin::pin!(asks.closed());
            if let Either::Left(_) = select(ended, silence).await {
                return;
            }
        }
    }

    /// Asks about the subscription. `None` if it is refused, or not answered in time.
    async fn for_heads(&self, line: &Line, method: &str, param: Value) -> Option<Value> {
        let call = Call::make(method, &json!([param]));
        let ids = line.ids(1);
        let text = request(&[&call], ids.clone(), Form::Single).into();
        let asking = std::pin::pin!(self.send_over(line, text, ids, true));
        let wait = self.cfg.deadlines.connect + 2 * self.cfg.deadlines.attempt;
        let deadline = self.time.sleep_until(self.time.now().after(wait));
        let Either::Left((Received::Answer(raw), _)) = select(asking, deadline).await else {
            return None;
        };
        serde_json::from_slice::<Subscribed>(&raw.body).ok().map(|answer| answer.result)
    }

    /// A failure that no call has seen.
    fn evidence(&self, target: &Target, failure: Failure) {
        let breaker = target.breaker(MethodClass::Head);
        let era = breaker.view().generation;
        breaker.record_failure(failure);
        target.trip_siblings(MethodClass::Head, failure.category, era);
        self.servers.pump();
    }
}

#[derive(Deserialize)]
struct Subscribed {
    result: Value,
}

/// What a connection's task knows of the pool, which may be gone.
#[derive(Debug)]
struct Outside {
    shared: Weak<Shared>,
    at: usize,
}

impl Ear for Outside {
    fn head(&self, wake: Wake) {
        if let Some(shared) = self.shared.upgrade()
            && let Some(line) = &shared.targets[self.at].line
        {
            lock(&line.state).last_head = shared.time.now();
            shared.wakes.tell(wake);
        }
    }

    fn proven(&self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let target = &shared.targets[self.at];
        if let Some(held) = Held::acquire(target.breaker(MethodClass::Head)) {
            // A connection that proved good ends a streak of lost ones.
            shared.settle(target, MethodClass::Head, held, Outcome::Success);
        }
    }
}

impl Outside {
    /// One connection, and what its end means.
    async fn run(self, plan: Plan, mut asked: mpsc::Receiver<Ask>, check: u64) {
        let time: Clk = Arc::clone(&plan.time);
        let started = time.now();
        let mut end = serve(&plan, check, &mut asked, &self).await;
        let held = time.now().since(started) >= PROVEN;
        // Before anybody hears of the end: it is not a failure then that they see, but another chain.
        if let (Some(shared), Lost::WrongChain(found)) = (self.shared.upgrade(), &end.lost) {
            let _ = shared.wrong_chain(&shared.targets[self.at], found.clone());
        }
        // First the pause, then the news: whoever hears of the end finds no other connection before its time.
        if let Some(shared) = self.shared.upgrade()
            && let Some(line) = &shared.targets[self.at].line
        {
            let mut state = lock(&line.state);
            let is_good = held && end.valid;
            state.failures = if is_good { 0 } else { state.failures.saturating_add(1) };
            state.not_before = match end.lost {
                Lost::Idle => time.now(),
                _ => time.now().after(pause(state.failures)),
            };
            state.asks = None;
        }
        asked.close();
        while let Some(ask) = asked.recv().await {
            let received = match &end.lost {
                Lost::Idle => None,
                Lost::Refused(raw) => Some(Received::Refused(raw.clone())),
                Lost::Unmade(why) => Some(Received::Nothing(*why)),
                // It had not left.
                Lost::WrongChain(_) | Lost::Broken(_) | Lost::TooLong => {
                    Some(Received::Nothing(NoAnswer::Connect))
                }
            };
            end.told |= ask.answer.send(received).is_ok() && !ask.for_heads;
        }
        if let Some(shared) = self.shared.upgrade() {
            shared.lost(&shared.targets[self.at], end);
        }
    }
}

impl Shared {
    /// Draws the consequences of a connection's end that no call draws.
    fn lost(&self, target: &Target, end: End) {
        match end.lost {
            Lost::Idle | Lost::WrongChain(_) => return,
            Lost::Refused(raw) if !end.told => {
                let call = Call::make("eth_chainId", &json!([]));
                let verdict = self.refusal(target, &call, &raw);
                self.note_refusal(target, &verdict);
                if let Outcome::Failure(failure) = outcome(&verdict) {
                    self.evidence(target, failure);
                }
            }
            Lost::Unmade(_) | Lost::Broken(_) if !end.told => {
                self.evidence(target, Failure::new(Kind::NETWORK));
            }
            _ => {}
        }
        self.metrics.ws_reconnect(target);
        tracing::debug!(provider = &*target.name, "websocket lost");
    }
}

fn pause(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE * 2_u32.pow(failures.saturating_sub(1).min(6));
    let pause = doubled.min(MAX_PAUSE);
    pause + pause / 100 * (draw() % (JITTER_PERCENT + 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute_and_a_fifth() {
        for (failures, want) in
            [(0, 500), (1, 500), (2, 1_000), (3, 2_000), (6, 16_000), (7, 30_000), (99, 30_000)]
        {
            let pause = pause(failures).as_millis();
            assert!((want..=want * 12 / 10).contains(&pause), "{failures}: {pause}");
        }
    }
}
