//! The decision for one slot: may builders be asked?
//!
//! Everything that decides comes through here: the sidecar, replay and simulation.

use crate::{
    evidence::{Evidence, Gate, SlotFacts, View},
    latch::{Latch, Trip},
    policy::{Compiled, Finding, OnUnknown, Policy, Recovery, TripCause, Verdict},
};
use fusebox_breaker::State;
use serde::{Serialize, Serializer};
use std::panic::{self, AssertUnwindSafe};

/// What an admin holds it to. It changes answers and never what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Override {
    /// Every answer is to refuse.
    ForceOpen,
    /// Every answer is to forward.
    ForceClosed,
}

/// Why a decision is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Nothing speaks against builders.
    None,
    /// It is open, and its policy says so now.
    Trip(TripCause),
    /// It is open from an earlier trip.
    Latched,
    /// It is half-open.
    Recovering,
    /// An admin holds it open.
    ForcedOpen,
    /// An admin holds it closed.
    ForcedClosed,
    /// The head's payload is not verified.
    Optimistic,
    /// The node is catching up.
    Syncing,
    /// The execution client is gone.
    ElOffline,
    /// This machine's clock is wrong.
    ClockSkew,
    /// No node can be asked.
    NoNode,
    /// It depends on slots that nobody watched.
    StreamGap,
    /// As for a missed run or window, where what was missed are payloads.
    PayloadEmpty,
    /// The policy failed.
    Internal,
}

impl Cause {
    /// Why a finding opens: from Gloas on what is missed is a payload.
    pub(crate) fn of(finding: Finding, evidence: &Evidence) -> Self {
        match finding.cause {
            TripCause::MissedRun | TripCause::MissedWindow if evidence.payloads => {
                Self::PayloadEmpty
            }
            cause => Self::Trip(cause),
        }
    }

    /// Its name in JSON, metrics and texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Trip(cause) => cause.name(),
            Self::Latched => "latched",
            Self::Recovering => "recovering",
            Self::ForcedOpen => "forced-open",
            Self::ForcedClosed => "forced-closed",
            Self::Optimistic => "optimistic",
            Self::Syncing => "syncing",
            Self::ElOffline => "el-offline",
            Self::ClockSkew => "clock-skew",
            Self::NoNode => "no-node",
            Self::StreamGap => "stream-gap",
            Self::PayloadEmpty => "payload-empty",
            Self::Internal => "internal",
        }
    }
}

impl From<Gate> for Cause {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::ElOffline => Self::ElOffline,
            Gate::ClockSkew => Self::ClockSkew,
            Gate::Syncing => Self::Syncing,
            Gate::NoNode => Self::NoNode,
            Gate::Optimistic => Self::Optimistic,
        }
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// When an answer can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextChange {
    /// Not before this slot.
    Slot(u64),
    /// Only by a restart, or by an admin.
    Restart,
}

impl Serialize for NextChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Slot(slot) => serializer.serialize_u64(*slot),
            Self::Restart => serializer.serialize_str("restart"),
        }
    }
}

/// Whether builders are asked for a slot, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The slot being proposed.
    pub slot: u64,
    /// Whether the request goes on to the builders. Else the answer is that there is no bid.
    pub forward: bool,
    /// Where the breaker stands.
    #[serde(serialize_with = "state_name")]
    pub state: State,
    /// What the policy makes of the slots before; unknown if it failed.
    #[serde(serialize_with = "verdict_name")]
    pub verdict: Verdict,
    /// Why.
    pub cause: Cause,
    /// The number that decided: that of the verdict, else that of the trip.
    pub value: Option<u64>,
    /// What it was compared with.
    pub limit: Option<u64>,
    /// The missed run just before the slot.
    pub run: u64,
    /// The last slot that a block is known to fill.
    pub last_present: u64,
    /// How many of the last 64 slots are unknown.
    pub unknown_slots: u32,
    /// When it can change.
    pub next_change: NextChange,
}

/// The name of a state in JSON: `half-open`, as everywhere.
pub(crate) fn state_name<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(state)
}

fn verdict_name<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}

/// A policy with its state.
#[derive(Clone, Debug)]
pub struct Breaker<P = Compiled> {
    policy: P,
    view: View,
    latch: Latch,
    on_unknown: OnUnknown,
    force: Option<Override>,
}

impl Breaker {
    /// A closed one that recovers as is usual for its policy.
    #[must_use]
    pub fn new(policy: Compiled) -> Self {
        let recovery = policy.default_recovery();
        Self::with(policy, recovery, OnUnknown::Local)
    }
}

impl<P: Policy> Breaker<P> {
    /// A closed one.
    #[must_use]
    pub fn with(policy: P, recovery: Recovery, on_unknown: OnUnknown) -> Self {
        let view = policy.view();
        Self { policy, view, latch: Latch::new(recovery), on_unknown, force: None }
    }

    /// Its policy.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The view in which its run is reported.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// Its state, with the trip.
    #[must_use]
    pub fn latch(&self) -> &Latch {
        &self.latch
    }

    /// What an admin holds it to.
    #[must_use]
    pub fn forced(&self) -> Option<Override> {
        self.force
    }

    /// Holds it to an answer, or lets go.
    pub fn force(&mut self, force: Option<Override>) {
        self.force = force;
    }

    /// Closes it, as a restart does.
    pub fn reset(&mut self) {
        self.latch = Latch::new(self.latch.recovery());
    }

    /// Judges and steps. What [`Breaker::decide`] does first, and all that a proposal without gates needs.
    #[inline]
    pub fn step(&mut self, evidence: &Evidence) -> Verdict {
        let verdict = self.policy.judge(evidence);
        // Nearly every slot of every history.
        if !matches!(verdict, Verdict::Closed) || self.latch.state() != State::Closed {
            self.latch = self.latch.step(verdict, evidence, self.view);
        }
        verdict
    }

    /// The answer and its cause, without what explains them.
    pub(crate) fn answer(&mut self, evidence: &Evidence) -> (bool, Cause) {
        let verdict = self.step(evidence);
        self.conclude(verdict, false, evidence)
    }

    /// Decides. A policy that panics is a defect: it never trips, and the answer is that for the unknown.
    pub fn decide(&mut self, evidence: &Evidence) -> Decision {
        let judged = panic::catch_unwind(AssertUnwindSafe(|| self.policy.judge(evidence)));
        let verdict = *judged.as_ref().unwrap_or(&Verdict::Unknown);
        self.latch = self.latch.step(verdict, evidence, self.view);
        let (forward, cause) = self.conclude(verdict, judged.is_err(), evidence);
        let finding = match verdict {
            Verdict::Open(finding) => Some(finding),
            _ => self.latch.trip().map(|trip: Trip| trip.finding),
        };
        Decision {
            slot: evidence.slot(),
            forward,
            state: self.latch.state(),
            verdict,
            cause,
            value: finding.map(|Finding { value, .. }| value),
            limit: finding.map(|Finding { limit, .. }| limit),
            run: evidence.run(self.view),
            last_present: evidence.last_present(self.view),
            unknown_slots: evidence.unknown_slots(self.view),
            next_change: self.next_change(verdict, judged.is_err(), evidence),
        }
    }

    fn conclude(&self, verdict: Verdict, failed: bool, evidence: &Evidence) -> (bool, Cause) {
        let on_unknown = self.on_unknown == OnUnknown::Forward;
        match (self.force, self.latch.state(), evidence.gate, verdict) {
            (Some(Override::ForceOpen), ..) => (false, Cause::ForcedOpen),
            (Some(Override::ForceClosed), ..) => (true, Cause::ForcedClosed),
            (_, State::HalfOpen, ..) => (false, Cause::Recovering),
            (_, State::Open, _, Verdict::Open(finding)) => (false, Cause::of(finding, evidence)),
            (_, State::Open, ..) => (false, Cause::Latched),
            // The local builder is the broken part.
            (_, _, Some(Gate::ElOffline), _) => (true, Cause::ElOffline),
            (_, _, Some(gate), _) => (on_unknown, gate.into()),
            (_, _, None, Verdict::Unknown) if failed => (on_unknown, Cause::Internal),
            (_, _, None, Verdict::Unknown) if evidence.alone => (on_unknown, Cause::NoNode),
            (_, _, None, Verdict::Unknown) => (on_unknown, Cause::StreamGap),
            _ => (true, Cause::None),
        }
    }

    /// The earliest slot at which the answer can differ, if every slot from here on goes the way that changes it soonest.
    fn next_change(&self, verdict: Verdict, failed: bool, evidence: &Evidence) -> NextChange {
        let s = evidence.slot();
        if self.latch.state() != State::Closed {
            let left = self.latch.slots_left(evidence, self.view);
            return left.map_or(NextChange::Restart, |left| NextChange::Slot(s + left));
        }
        if failed || verdict != Verdict::Closed || evidence.gate.is_some() {
            return NextChange::Slot(s + 1);
        }
        let all_missed = self.first_not_closed(evidence, SlotFacts::EMPTY);
        // A rule that looks back from the head opens when a block ends the run, not before.
        let one_block = self.first_not_closed(evidence, SlotFacts::FILLED);
        NextChange::Slot(all_missed.min(one_block))
    }

    /// The first slot with another verdict, if the next slot is like `next` and all later ones are missed. Where it is
    /// further away than the mask, it is no earlier than what this says.
    fn first_not_closed(&self, evidence: &Evidence, next: SlotFacts) -> u64 {
        let mut future = *evidence;
        future.push(next);
        while future.slot() < evidence.slot() + LOOK_AHEAD {
            let judged = panic::catch_unwind(AssertUnwindSafe(|| self.policy.judge(&future)));
            if !matches!(judged, Ok(Verdict::Closed)) {
                break;
            }
            future.push(SlotFacts::EMPTY);
        }
        future.slot()
    }
}

/// After so many missed slots every mask is full.
const LOOK_AHEAD: u64 = 65;
