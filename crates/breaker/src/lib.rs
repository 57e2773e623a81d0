#![doc = include_str!("../README.md")]

mod breaker;
mod call;
mod clock;
mod config;
pub mod core;
#[cfg(feature = "serde")]
mod duration;
mod event;
mod outcome;
mod permit;
mod registry;
mod samples;
#[cfg(feature = "serde")]
mod serde_impl;
mod snapshot;
mod state;
mod sync;
#[cfg(feature = "tower")]
pub mod tower;
mod word;

pub use crate::core::View;
pub use breaker::Breaker;
pub use clock::{CachedClock, Clock, ManualClock, SystemClock, Tick};
pub use config::{
    CategoryThresholds, Config, ConfigError, ConfigErrors, CountWindow, OnDrop, Quantity,
    TimeWindow,
};
pub use event::{Dropped, Event, EventKind, StaleOutcome};
pub use outcome::{Category, CategoryNames, Failure, Outcome};
pub use permit::{OwnedPermit, Permit, PermitOn};
pub use registry::{ConfigConflict, Delivery, Registry, RegistryError};
pub use snapshot::{Snapshot, UnixMillis};
pub use state::{CallError, Cause, Mode, Rejected, State};
