#![doc = include_str!("../README.md")]

mod drive;
pub mod engine;
mod observe;
mod plan;
mod result;
mod scenario;

pub use drive::{DriveError, Progress, drive};
pub use observe::{Observed, ObservedTransition, Observer, ObserverError};
pub use plan::{Action, Plan, PlannedBlock};
pub use result::{Answerer, Difference, ModelEvent, Row, Run, Summary};
pub use scenario::{
    Expect, Fault, FaultKind, FaultTarget, Policy, PolicyError, Scenario, Time, Traffic,
    TrafficKind,
};
