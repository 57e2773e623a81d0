#![doc = include_str!("../README.md")]

#[cfg(feature = "net")]
mod beacon;
mod breaker;
mod clock;
mod evidence;
mod fault;
mod latch;
#[cfg(feature = "net")]
mod live;
mod machine;
mod policy;
mod reorgs;
pub mod replay;
mod root;
#[cfg(feature = "net")]
mod sidecar;
pub mod simulate;
mod tally;

#[cfg(feature = "net")]
pub use beacon::{Api, ApiError, NodeUrlError, WatchError, watch};
pub use breaker::{Breaker, Cause, Decision, NextChange, Override};
pub use clock::{ChainSpecError, SlotClock, SlotsPerEpoch, SlotsPerEpochError};
pub use evidence::{DEPTH, Evidence, Gate, SlotFacts, Status, View};
pub use fault::{
    Block, Canonical, EmptyPayload, FaultSource, MissedBlock, Payload, SlotView, Validity,
};
pub use fusebox_breaker::State;
pub use latch::{Latch, Trip};
#[cfg(feature = "net")]
pub use live::{
    Answer, Clock, Live, LiveOptions, Network, NodeStatus, ROTATE_AT, Recorder, Sleep, Told,
    WallClock,
};
pub use machine::{
    Action, Counts, MAX_NODES, Machine, Observation, Output, Seen, Spec, Transition, Why,
};
pub use policy::{
    Compiled, Finding, Known, MAX_DEPTH, MAX_LEAVES, OnUnknown, OptionError, Policy, PolicyError,
    PolicyProblem, PolicySpec, Recovery, Start, TripCause, Verdict,
};
pub use root::{Root, RootError};
#[cfg(feature = "net")]
pub use sidecar::{
    BodyError, MAX_BODY, Paths, Sidecar, SidecarBody, SidecarOptions, Token, TokenError, Upstream,
    UpstreamError,
};
pub use tally::{Added, BLOCKS_PER_SLOT, RING, Tally};
