#![doc = include_str!("../README.md")]

mod breaker;
mod clock;
mod evidence;
mod fault;
mod latch;
mod machine;
mod policy;
pub mod replay;
mod root;
pub mod simulate;
mod tally;

pub use breaker::{Breaker, Cause, Decision, NextChange, Override};
pub use clock::{ChainSpecError, SlotClock, SlotsPerEpoch, SlotsPerEpochError};
pub use evidence::{DEPTH, Evidence, Gate, SlotFacts, Status, View};
pub use fault::{
    Block, Canonical, EmptyPayload, FaultSource, MissedBlock, Payload, SlotView, Validity,
};
pub use fusebox_breaker::State;
pub use latch::{Latch, Trip};
pub use machine::{
    Action, Counts, MAX_NODES, Machine, Observation, Output, Seen, Spec, Transition, Why,
};
pub use policy::{
    Compiled, Finding, Known, MAX_DEPTH, MAX_LEAVES, OnUnknown, OptionError, Policy, PolicyError,
    PolicyProblem, PolicySpec, Recovery, Start, TripCause, Verdict,
};
pub use root::{Root, RootError};
pub use tally::{Added, BLOCKS_PER_SLOT, RING, Tally};
