//! What one policy made of a history.

use super::PolicyDecision;
use crate::{
    breaker::Breaker,
    evidence::{Evidence, View},
    policy::{Compiled, OnUnknown, Policy as _, Recovery, Verdict},
};
use fusebox_breaker::State;
use serde::Serialize;

/// Refusals further apart than this belong to different outages.
const EPISODE: u64 = 32;

/// A policy, and what it would have done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// As it was written.
    pub policy: String,
    /// The view it was judged in; for a combination of views the one its run is reported in.
    pub view: View,
    /// How it closed.
    pub recovery: Recovery,
    /// How often it opened.
    pub trips: u64,
    /// Proposals that were not forwarded.
    pub refused: u64,
    /// Groups of them, more than 32 slots apart.
    pub episodes: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// The last of them.
    pub last: Option<u64>,
    /// The longest missed run just before a slot.
    pub peak: u64,
    /// The first slot that had it.
    pub peak_slot: Option<u64>,
}

/// A row that is being made.
#[derive(Debug)]
pub(super) struct Running {
    breaker: Breaker,
    trips: u64,
    refused: u64,
    episodes: u64,
    first: Option<u64>,
    /// The last slot that was refused.
    pub(super) last: Option<u64>,
}

impl Running {
    pub(super) fn new(policy: Compiled, recovery: Option<Recovery>) -> Self {
        let recovery = recovery.unwrap_or(policy.default_recovery());
        let breaker = Breaker::with(policy, recovery, OnUnknown::Local);
        Self { breaker, trips: 0, refused: 0, episodes: 0, first: None, last: None }
    }

    #[inline]
    pub(super) fn judge(&mut self, evidence: &Evidence) {
        let before = self.breaker.latch().state();
        let verdict = self.breaker.step(evidence);
        let after = self.breaker.latch().state();
        if matches!(verdict, Verdict::Closed) && after == State::Closed {
            return;
        }
        self.trips += u64::from(before == State::Closed && after == State::Open);
        if after != State::Closed || verdict == Verdict::Unknown {
            self.refuse(evidence.slot());
        }
    }

    /// The same, with all that is to be said.
    pub(super) fn decide(&mut self, evidence: &Evidence) -> PolicyDecision {
        let before = self.breaker.latch().state();
        let decision = self.breaker.decide(evidence);
        self.trips += u64::from(before == State::Closed && decision.state == State::Open);
        if !decision.forward {
            self.refuse(evidence.slot());
        }
        let policy = self.breaker.policy();
        PolicyDecision { policy: policy.name().to_owned(), view: policy.view(), decision }
    }

    fn refuse(&mut self, slot: u64) {
        let apart = self.last.is_none_or(|last| slot - last > EPISODE);
        self.episodes += u64::from(apart);
        self.refused += 1;
        self.first = self.first.or(Some(slot));
        self.last = Some(slot);
    }

    pub(super) fn finish(self, peaks: &[Peak; 2]) -> Row {
        let view = self.breaker.view();
        let peak = peaks[usize::from(view == View::Canonical)];
        Row {
            policy: self.breaker.policy().name().to_owned(),
            view,
            recovery: self.breaker.latch().recovery(),
            trips: self.trips,
            refused: self.refused,
            episodes: self.episodes,
            first: self.first,
            last: self.last,
            peak: peak.run,
            peak_slot: peak.slot,
        }
    }
}

/// The longest run of a view.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    run: u64,
    slot: Option<u64>,
}

impl Peak {
    #[inline]
    pub(super) fn see(&mut self, evidence: &Evidence, view: View) {
        let run = evidence.run(view);
        if run > self.run {
            (self.run, self.slot) = (run, Some(evidence.slot()));
        }
    }
}
