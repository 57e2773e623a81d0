//! One call: whom to ask, whether to ask again, and what to say in the end.

use std::collections::BTreeSet;
use std::time::Duration;

use fusebox_breaker::Tick;

use super::Pool;
use super::answer::Payload;
use super::attempt::{Held, Tried};
use super::call::Call;
use super::ending::Ended;
use super::error::{Attempt, PoolError, Rejection};
use super::identity::Unidentified;
use super::note::draw;
use super::pick::Pick;
use super::target::Target;
use super::time::since_origin;
use crate::verdict::Category;

/// More attempts at one call would hide an outage from its caller, and triple the load on what is left of the nodes.
pub(crate) const MAX_ATTEMPTS: usize = 3;

/// How long a lone endpoint is left alone before it is asked again; doubled each time.
const LONE_BACKOFF: Duration = Duration::from_millis(100);

/// The random part of that, in percent.
const LONE_JITTER: u64 = 20;

/// How often a selection may be lost to other calls (the last slot, the last token) before the call is turned away.
pub(super) const MAX_RACES: usize = 8;

/// A call under way.
#[derive(Debug)]
pub(crate) struct Run<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) call: &'p Call,
    pub(crate) deadline: Tick,
    /// Whom not to ask again.
    pub(crate) tried: BTreeSet<usize>,
    pub(crate) attempts: Vec<Attempt>,
    /// The last error that a node gave, to be returned if nobody does better.
    pub(crate) answer: Option<Payload>,
    /// An error nobody knows has had its one failover.
    pub(super) soft: bool,
    races: usize,
    /// Who gave the final answer.
    pub(crate) answered: Option<usize>,
    /// The filter that was asked for is gone.
    pub(crate) filter_lost: bool,
    /// Refusals for a range, which cost an endpoint no attempt: the next one may serve it.
    refusals: usize,
}

impl<'p> Run<'p> {
    pub(crate) fn new(pool: &'p Pool, call: &'p Call, deadline: Tick) -> Self {
        Self {
            pool,
            call,
            deadline,
            tried: BTreeSet::new(),
            attempts: Vec::new(),
            answer: None,
            soft: false,
            races: 0,
            answered: None,
            filter_lost: false,
            refusals: 0,
        }
    }

    /// Goes on until there is an answer, or nobody is left.
    pub(crate) async fn end(&mut self) -> Ended {
        loop {
            if self.pool.shared.time.now() >= self.deadline {
                return self.give_up(Rejection::Deadline { attempts: self.count() });
            }
            if self.attempts.len() - self.refusals >= MAX_ATTEMPTS {
                return self.exhausted();
            }
            let options = &self.pool.options;
            let pick = self.pool.shared.pick(self.call, options, &self.tried, self.deadline);
            let done = match pick {
                Pick::Nobody(rejection) => Some(self.give_up(rejection)),
                Pick::Ask { index, wait } => self.ask(index, wait).await,
                Pick::Split { index, limit } => match self.split(index, limit).await {
                    Ok(payload) => Some(Ended::Answer(payload)),
                    Err(Some(tried)) => {
                        self.tried.insert(index);
                        self.learn_from(index, tried)
                    }
                    Err(None) => self.lost_race(index),
                },
                Pick::LastResort { index } => {
                    let tried = self.attempt(index, Held::default()).await;
                    self.tried.insert(index);
                    self.learn_from(index, tried)
                }
            };
            if let Some(ended) = done {
                return ended;
            }
        }
    }

    pub(crate) fn target(&self, index: usize) -> &'p Target {
        &self.pool.shared.targets[index]
    }

    /// One endpoint's turn.
    async fn ask(&mut self, index: usize, wait: Duration) -> Option<Ended> {
        let time = &self.pool.shared.time;
        if !wait.is_zero() {
            time.sleep_until(time.now().after(wait)).await;
        }
        let target = self.target(index);
        match self.pool.shared.identify(target, self.deadline).await {
            Ok(()) => {}
            Err(Unidentified::NotNow) => return self.lost_race(index),
            Err(Unidentified::Wrong) => {
                self.tried.insert(index);
                return None;
            }
            Err(Unidentified::Failed(tried)) => {
                // Whatever this was, the call itself was not sent.
                return self.after(index, Tried { never_left: true, payload: None, ..tried }).await;
            }
        }
        let Some(held) = self.enter(target) else { return self.lost_race(index) };
        let (index, tried) = self.attempt_or_hedge(index, held).await;
        self.after(index, tried).await
    }

    /// A permit and a token, if both can be had now. None after the deadline: the attempt would fail at once, and the
    /// endpoint would pay for it.
    pub(crate) fn enter(&self, target: &Target) -> Option<Held> {
        let now = self.pool.shared.time.now();
        if now >= self.deadline || !target.take_pace(now) {
            return None;
        }
        Held::acquire(target.breaker(self.call.class))
    }

    /// Another call took what this one was promised. Look again, but not for ever.
    fn lost_race(&mut self, index: usize) -> Option<Ended> {
        self.races += 1;
        if self.races >= MAX_RACES {
            self.tried.insert(index);
        }
        None
    }

    pub(crate) async fn attempt(&self, index: usize, held: Held) -> Tried {
        self.pool.shared.attempt(self.target(index), self.call, held, self.deadline).await
    }

    /// Draws the consequences of an attempt; a lone endpoint is given some time and asked again.
    async fn after(&mut self, index: usize, tried: Tried) -> Option<Ended> {
        let is_lone = self.is_lone(index);
        let category = tried.verdict.category;
        let may_split = category == Category::Capability && self.may_split(index);
        let again = is_lone
            && !tried.verdict.soft
            && matches!(
                category,
                Category::Server | Category::Timeout | Category::Network | Category::RateLimit
            );
        if !again && !may_split {
            self.tried.insert(index);
        }
        self.refusals += usize::from(may_split);
        let ended = self.learn_from(index, tried);
        let is_last = self.attempts.len() - self.refusals >= MAX_ATTEMPTS
            || !self.target(index).standing(self.call.class).is_usable();
        if ended.is_none() && again && !is_last && category != Category::RateLimit {
            let time = &self.pool.shared.time;
            let doublings = self.attempts.len().saturating_sub(1).min(MAX_ATTEMPTS) as u32;
            let back_off = LONE_BACKOFF * 2_u32.pow(doublings);
            let jitter = back_off / 100 * (draw() % (LONE_JITTER + 1)) as u32;
            time.sleep_until(time.now().after(back_off + jitter).min(self.deadline)).await;
        }
        ended
    }

    /// Whether nobody else was or could be asked.
    pub(super) fn is_lone(&self, index: usize) -> bool {
        let shared = &self.pool.shared;
        let usable = |i: usize| shared.targets[i].standing(self.call.class).is_usable();
        let mut others = shared.eligible(&self.pool.options).into_iter().filter(|i| *i != index);
        !others.any(|i| self.tried.contains(&i) || usable(i))
    }

    /// Whether the refusal just learned leaves a shorter range to try.
    fn may_split(&self, index: usize) -> bool {
        let known = self.target(index).state.known();
        let now = since_origin(self.pool.shared.time.now());
        let max = known.learned(&self.call.method).max_blocks(now);
        self.pool.shared.cfg.auto_split
            && max.zip(self.call.span(known.head)).is_some_and(|(max, span)| max < span.blocks())
    }
}

impl Pool {
    /// When a call that starts now must have ended.
    pub(crate) fn deadline(&self) -> Tick {
        let time = self.options.deadline.unwrap_or(self.shared.cfg.deadlines.call);
        self.shared.time.now().after(time)
    }

    /// One call, from start to end.
    pub(crate) async fn ask(&self, call: &Call, deadline: Tick) -> Result<Payload, PoolError> {
        match Run::new(self, call, deadline).end().await {
            Ended::Answer(payload) => Ok(payload),
            Ended::Failed(error) | Ended::Unclear { error, .. } => Err(error),
        }
    }
}
