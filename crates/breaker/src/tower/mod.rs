//! The breaker as a layer around a [`tower_service::Service`].
//!
//! `poll_ready` asks the inner service alone. A permit taken there would be held by a caller that may never call, and a
//! rejection there would read as "not ready", which callers wait for instead of going elsewhere. So the permit is taken
//! in `call` and lives in the response future; dropping that is a dropped permit.

mod future;
mod layer;

use crate::state::CallError;

pub use self::future::ResponseFuture;
pub use self::layer::{BreakerLayer, BreakerService};

/// The error of a service behind a breaker.
pub type BreakerError<E> = CallError<E>;
