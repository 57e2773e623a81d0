//! The state of a breaker: what a verdict makes of it.
//!
//! A step is a pure function of the state, the verdict and the slots before. Nothing is stored on disk, and nothing
//! stored is ever read back: a restart is a new latch.

use crate::{
    evidence::{Evidence, Status, View},
    policy::{Finding, Recovery, Verdict},
};
use fusebox_breaker::State;

/// When and why a breaker opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The slot whose decision tripped it.
    pub slot: u64,
    /// What the policy found.
    pub finding: Finding,
}

/// A breaker's state, and how it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latch {
    recovery: Recovery,
    state: State,
    trip: Option<Trip>,
    /// Present slots count towards recovery from this one on.
    since: u64,
}

impl Latch {
    /// Closed.
    #[must_use]
    pub fn new(recovery: Recovery) -> Self {
        Self { recovery, state: State::Closed, trip: None, since: 0 }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// How it closes.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// The trip that opened it; none while it is closed.
    #[must_use]
    pub fn trip(&self) -> Option<Trip> {
        self.trip
    }

    /// The state after a verdict on these slots; only an open verdict trips. `view` is where slots must be present.
    #[must_use]
    #[inline]
    pub fn step(self, verdict: Verdict, evidence: &Evidence, view: View) -> Self {
        match (self.state, verdict) {
            (State::Closed, Verdict::Open(finding)) => {
                let slot = evidence.slot();
                Self { state: State::Open, trip: Some(Trip { slot, finding }), since: slot, ..self }
            }
            (State::Closed, _) => self,
            (_, verdict) => match self.recovery {
                Recovery::UntilRestart => self,
                Recovery::None if verdict == Verdict::Closed => Self::new(self.recovery),
                Recovery::None => self,
                Recovery::Hysteresis(slots) => self.recover(slots.get(), verdict, evidence, view),
            },
        }
    }

    fn recover(self, slots: u64, verdict: Verdict, evidence: &Evidence, view: View) -> Self {
        match verdict {
            // From here on it counts from nothing.
            Verdict::Open(_) => Self { state: State::Open, since: evidence.slot(), ..self },
            _ if evidence.last_status(view) == Status::Missed => {
                Self { state: State::Open, ..self }
            }
            Verdict::Closed => match self.recovered(evidence, view) {
                0 => self,
                present if present >= slots => Self::new(self.recovery),
                _ => Self { state: State::HalfOpen, ..self },
            },
            Verdict::Unknown => self,
        }
    }

    /// How many present slots in a row count towards recovery.
    fn recovered(&self, evidence: &Evidence, view: View) -> u64 {
        evidence.present_run(view).min(evidence.slot().saturating_sub(self.since))
    }

    /// How many more present slots it takes; none if slots alone do not close it.
    pub(crate) fn slots_left(&self, evidence: &Evidence, view: View) -> Option<u64> {
        match self.recovery {
            Recovery::UntilRestart => None,
            Recovery::None => Some(1),
            Recovery::Hysteresis(slots) => {
                Some(slots.get().saturating_sub(self.recovered(evidence, view)).max(1))
            }
        }
    }
}
