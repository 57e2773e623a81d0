//! Looks at all endpoints and says whom to ask next, or why nobody.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fusebox_breaker::Tick;

use super::call::Call;
use super::error::Rejection;
use super::event::PoolEvent;
use super::note::draw;
use super::options::CallOptions;
use super::select::{Candidate, Tier, choose, pool_head};
use super::servers::{Identity, lock};
use super::shared::Shared;
use super::target::{Standing, Target, place};
use super::time::since_origin;
use crate::method::MethodClass;
use crate::verdict::Lack;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Ask this endpoint, after a wait in line.
    Ask { index: usize, wait: Duration },
    /// Nobody serves the range at once: ask this endpoint for pieces of so many blocks.
    Split { index: usize, limit: u64 },
    /// Everything is open: ask this endpoint once, without a permit.
    LastResort { index: usize },
    /// Nobody.
    Nobody(Rejection),
}

impl Shared {
    /// Whom a call may ask at all.
    pub(crate) fn eligible(&self, options: &CallOptions) -> Vec<usize> {
        let wanted = |index: &usize| match options.pin {
            Some(pin) => *index == pin,
            None => options.not.as_ref().is_none_or(|not| *not != self.targets[*index].name),
        };
        (0..self.targets.len()).filter(wanted).collect()
    }

    /// The head of the chain, as far as the providers have shown. One of them may have two endpoints, and has one voice.
    pub(crate) fn head(&self) -> Option<u64> {
        let shown = |provider: &Target| {
            let endpoints = self.targets.iter().filter(|target| target.name == provider.name);
            endpoints.filter_map(Target::head).max()
        };
        let providers = self.targets.iter().filter(|target| !target.is_spare);
        pool_head(providers.filter_map(shown))
    }

    /// The next endpoint for a call that has `tried` some already.
    pub(crate) fn pick(
        &self,
        call: &Call,
        options: &CallOptions,
        tried: &BTreeSet<usize>,
        deadline: Tick,
    ) -> Pick {
        let now = self.time.now();
        let class = call.class;
        let head = self.head();
        let eligible = self.eligible(options);
        let untried: Vec<(usize, Standing)> = eligible
            .iter()
            .filter(|index| !tried.contains(index))
            .map(|index| (*index, self.targets[*index].standing(class)))
            .collect();
        let usable = untried.iter().filter(|(_, standing)| standing.is_usable());
        let usable: Vec<Candidate> = usable
            .map(|(index, standing)| self.candidate(call, options, *index, *standing, head, now))
            .collect();
        if usable.is_empty() {
            return self.nobody(class, &eligible, &untried, tried.is_empty(), now);
        }
        self.all_open_is(class, false);
        let patient = |candidate: &Candidate| {
            candidate.wait <= self.cfg.max_inline_wait && now.after(candidate.wait) < deadline
        };
        let lack = |candidate: &Candidate| self.lack(call, candidate.index, now);
        let in_time: Vec<Candidate> = usable.iter().copied().filter(patient).collect();
        if in_time.is_empty() {
            let retry_in = usable.iter().map(|candidate| candidate.wait).min().unwrap_or_default();
            return Pick::Nobody(Rejection::Throttled { retry_in });
        }
        let able: Vec<Candidate> =
            in_time.iter().copied().filter(|candidate| lack(candidate).is_none()).collect();
        let draw = draw();
        if let Some(best) = choose(self.cfg.strategy, &able, draw) {
            return self.ask(best, class, now);
        }
        if self.cfg.auto_split {
            let splits: Vec<Candidate> = in_time
                .iter()
                .copied()
                .filter(|candidate| lack(candidate).is_some_and(|(lack, _)| lack == Lack::Range))
                .collect();
            if let Some(best) = choose(self.cfg.strategy, &splits, draw)
                && let Some((_, Some(limit))) = lack(&best)
            {
                return Pick::Split { index: best.index, limit };
            }
        }
        // What is learned may be out of date, and the node's own refusal says more than ours could.
        match choose(self.cfg.strategy, &in_time, draw) {
            Some(best) => self.ask(best, class, now),
            None => Pick::Nobody(Rejection::HalfOpenBusy),
        }
    }

    /// A second endpoint for a call that the first is slow at: closed, not behind, not throttled, its chain known.
    pub(crate) fn pick_hedge(
        &self,
        call: &Call,
        options: &CallOptions,
        running: &BTreeSet<usize>,
    ) -> Option<usize> {
        let now = self.time.now();
        let head = self.head();
        let fit = |index: &usize| {
            let target = &self.targets[*index];
            !running.contains(index)
                && target.standing(call.class) == Standing::Closed
                && matches!(target.state.known().identity, Identity::Verified(_))
                && self.lack(call, *index, now).is_none()
        };
        let candidates: Vec<Candidate> = self
            .eligible(options)
            .into_iter()
            .filter(fit)
            .map(|index| self.candidate(call, options, index, Standing::Closed, head, now))
            .filter(|candidate| candidate.tier == Tier::Closed)
            .collect();
        choose(self.cfg.strategy, &candidates, draw()).map(|best| best.index)
    }

    fn ask(&self, best: Candidate, class: MethodClass, now: Tick) -> Pick {
        if best.tier == Tier::Rescue {
            lock(&self.targets[best.index].rescued)[place(class)] = Some(now);
        }
        Pick::Ask { index: best.index, wait: best.wait }
    }

    fn candidate(
        &self,
        call: &Call,
        options: &CallOptions,
        index: usize,
        standing: Standing,
        head: Option<u64>,
        now: Tick,
    ) -> Candidate {
        let target = &self.targets[index];
        let wait = target.wait(now);
        let half_open = standing == Standing::HalfOpen;
        let tier = if half_open && wait.is_zero() && self.needs_rescue(target, call.class, now) {
            Tier::Rescue
        } else {
            match Tier::of(half_open, self.lags(target, call, options, head), !wait.is_zero()) {
                Tier::Closed if target.is_spare => Tier::Spare,
                tier => tier,
            }
        };
        let latency = target.state.known().latency(call.class);
        Candidate { index, tier, wait, latency, weight: target.weight }
    }

    /// A half-open class that no probe exercises recovers by real calls only: one each interval goes ahead of all.
    fn needs_rescue(&self, target: &Target, class: MethodClass, now: Tick) -> bool {
        let probed = self.probing.load(Ordering::Relaxed)
            && matches!(class, MethodClass::Head | MethodClass::State | MethodClass::Logs);
        let last = lock(&target.rescued)[place(class)];
        !probed && last.is_none_or(|last| now.since(last) >= self.cfg.probe_interval)
    }

    fn lags(&self, target: &Target, call: &Call, options: &CallOptions, head: Option<u64>) -> bool {
        let mine = target.head();
        if let Some(least) = options.min_head
            && mine.is_none_or(|mine| mine < least)
        {
            return true;
        }
        let Some((mine, head)) = mine.zip(head) else { return false };
        let behind = head.saturating_sub(mine);
        self.metrics.lag(target, behind);
        behind > self.cfg.max_lag_blocks && call.pinned_block().is_none_or(|block| block > mine)
    }

    /// Whether a call asks an endpoint for more blocks than it is known to serve, and can go in pieces.
    pub(crate) fn is_too_long(&self, call: &Call, index: usize) -> bool {
        let lack = self.lack(call, index, self.time.now());
        self.cfg.auto_split && lack.is_some_and(|(lack, _)| lack == Lack::Range)
    }

    /// What is known to stand against a call on an endpoint, with the range it serves.
    fn lack(&self, call: &Call, index: usize, now: Tick) -> Option<(Lack, Option<u64>)> {
        let known = self.targets[index].state.known();
        let learned = known.learned(&call.method);
        let now = since_origin(now);
        let lack = learned.against(call.span(known.head), call.has_address(), now)?;
        Some((lack, learned.max_blocks(now)))
    }

    /// Nobody can be asked: once in a while somebody is all the same.
    fn nobody(
        &self,
        class: MethodClass,
        eligible: &[usize],
        untried: &[(usize, Standing)],
        is_first: bool,
        now: Tick,
    ) -> Pick {
        let deadlines = untried.iter().filter_map(|(_, standing)| match standing {
            Standing::Open(deadline) => Some(deadline.since(now)),
            _ => None,
        });
        let retry_in = deadlines.min();
        if let ([_], [(_, standing)]) = (eligible, untried) {
            return Pick::Nobody(match standing {
                Standing::Open(deadline) => {
                    Rejection::CircuitOpen { retry_in: deadline.since(now) }
                }
                Standing::Forced => Rejection::ForcedOpen,
                _ => Rejection::HalfOpenBusy,
            });
        }
        if untried.iter().all(|(_, standing)| *standing == Standing::Forced) {
            return Pick::Nobody(Rejection::ForcedOpen);
        }
        if is_first {
            self.all_open_is(class, true);
            if let Some(index) = self.last_resort(class, untried, now) {
                return Pick::LastResort { index };
            }
        }
        Pick::Nobody(Rejection::AllOpen { retry_in: retry_in.unwrap_or_default() })
    }

    /// One call in each interval may go to the endpoint that is nearest to its deadline. Without it, a pool whose
    /// endpoints all stumbled would do nothing for a minute, though they may be well again.
    fn last_resort(
        &self,
        class: MethodClass,
        untried: &[(usize, Standing)],
        now: Tick,
    ) -> Option<usize> {
        let open = untried.iter().filter_map(|(index, standing)| match standing {
            Standing::Open(deadline) => Some((*deadline, *index)),
            _ => None,
        });
        let fit = |index: usize| {
            let target = &self.targets[index];
            let verified = matches!(target.state.known().identity, Identity::Verified(_));
            verified && target.wait(now).is_zero()
        };
        let (_, index) = open.filter(|(_, index)| fit(*index)).min()?;
        let mut last = lock(&self.last_resort);
        if last.is_some_and(|last| now.since(last) < self.cfg.last_resort_interval) {
            return None;
        }
        *last = Some(now);
        self.metrics.last_resort(&self.targets[index], class);
        Some(index)
    }

    fn all_open_is(&self, class: MethodClass, open: bool) {
        if self.all_open[place(class)].swap(open, Ordering::Relaxed) == open {
            return;
        }
        self.tell(match open {
            true => PoolEvent::AllOpenEntered { class },
            false => PoolEvent::AllOpenLeft { class },
        });
    }
}
