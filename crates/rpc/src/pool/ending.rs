//! What an attempt means for its call, and what the caller hears in the end.
//!
//! A node's own words go before ours: they say what to do about it. Only when no node said anything is it told what went
//! wrong with each, and only when nobody was asked, why not.

use super::answer::Payload;
use super::attempt::Tried;
use super::error::{Attempt, PoolError, Rejection};
use super::failover::Run;
use crate::verdict::Category;

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a node's answer, or one of ours in the form of a node's.
    Answer(Payload),
    /// Without.
    Failed(PoolError),
    /// The request may or may not have been carried out, and sending it again is not harmless.
    Unclear {
        /// Who was asked last.
        index: usize,
        /// What to say if nothing can be found out.
        error: PoolError,
    },
}

impl Run<'_> {
    /// Whether an attempt ends the call.
    pub(crate) fn learn_from(&mut self, index: usize, tried: Tried) -> Option<Ended> {
        let is_final = tried.is_final();
        let Tried { verdict, payload, never_left, elapsed } = tried;
        if is_final && let Some(payload) = payload {
            self.answered = Some(index);
            self.filter_lost = verdict.filter_lost;
            return Some(Ended::Answer(payload));
        }
        let target = self.target(index);
        self.attempts.push(Attempt {
            provider: target.name.clone(),
            transport: target.transport(),
            category: verdict.category,
            reason: verdict.rule.to_string().into(),
            elapsed,
        });
        self.answer = payload.or(self.answer.take());
        let harmless = self.call.idempotent || never_left;
        let go_on = match verdict.category {
            Category::RateLimit | Category::Quota | Category::Auth | Category::Capability => true,
            _ if verdict.soft => harmless && !std::mem::replace(&mut self.soft, true),
            _ => harmless,
        };
        let unclear = !harmless
            && !verdict.soft
            && matches!(verdict.category, Category::Server | Category::Timeout | Category::Network);
        match (go_on, unclear) {
            (true, _) => {
                self.pool.shared.metrics.failover(target, self.call.class, verdict.category);
                None
            }
            (false, true) => {
                let attempts = std::mem::take(&mut self.attempts);
                Some(Ended::Unclear { index, error: PoolError::Exhausted { attempts } })
            }
            (false, false) => Some(self.exhausted()),
        }
    }

    pub(super) fn count(&self) -> u8 {
        u8::try_from(self.attempts.len()).unwrap_or(u8::MAX)
    }

    /// Nobody is left: what a node said, else what went wrong, else why nobody was asked.
    pub(super) fn give_up(&mut self, rejection: Rejection) -> Ended {
        let is_pin = self.pool.options.pin.is_some();
        if let Some(answer) = self.answer.take() {
            return Ended::Answer(answer);
        }
        match rejection {
            Rejection::Throttled { .. } if self.attempts.is_empty() => {}
            Rejection::Deadline { .. } => {}
            _ if is_pin => return Ended::Failed(self.pin_lost()),
            _ if !self.attempts.is_empty() => return self.exhausted(),
            _ => {}
        }
        Ended::Failed(rejection.into())
    }

    pub(super) fn exhausted(&mut self) -> Ended {
        if let Some(answer) = self.answer.take() {
            return Ended::Answer(answer);
        }
        if self.pool.options.pin.is_some() {
            return Ended::Failed(self.pin_lost());
        }
        Ended::Failed(PoolError::Exhausted { attempts: std::mem::take(&mut self.attempts) })
    }

    fn pin_lost(&self) -> PoolError {
        let index = self.pool.options.pin.unwrap_or_default();
        PoolError::PinLost { provider: self.target(index).name.clone() }
    }
}
