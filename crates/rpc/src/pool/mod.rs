//! The pool: many endpoints behind one alloy transport.
//!
//! A call goes through deadline → failover → selection → throttle → breaker → one attempt → verdict. What is decided is
//! decided in pure modules (`classify`, `select`, the breaker); this folder does the I/O around them.

mod answer;
mod attempt;
mod batch;
mod build;
mod call;
mod ending;
mod error;
mod event;
mod failover;
mod filters;
mod frame;
mod hedge;
mod identity;
mod line;
mod logs;
mod metrics;
mod note;
mod options;
mod pick;
mod pin;
mod probe;
mod select;
mod send;
mod servers;
mod service;
mod shared;
mod snapshot;
mod socket;
mod status;
mod target;
mod time;
mod upgrade;
mod wake;
mod wire;

use std::fmt;
use std::sync::Arc;

pub use build::PoolBuilder;
pub use error::{Attempt, BadRequest, Name, PoolError, Rejection, pool_error};
pub use event::PoolEvent;
pub use options::CallOptions;
pub use pin::Pinned;
pub use servers::Servers;
pub use snapshot::PoolSnapshot;
pub use status::{Admin, ClassStatus, EndpointStatus};
pub use time::{MachineTime, ManualTime, Sleep, Time};
pub use wake::Wake;

use shared::Shared;
use time::since_origin;

/// Endpoints of one chain behind one alloy transport. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Pool {
    pub(crate) shared: Arc<Shared>,
    pub(crate) options: CallOptions,
}

impl Pool {
    /// The same pool, for calls with these options.
    #[must_use]
    pub fn with(&self, options: CallOptions) -> Self {
        Self { shared: Arc::clone(&self.shared), options }
    }

    /// The chain whose endpoints these are.
    #[must_use]
    pub fn chain_id(&self) -> u64 {
        self.shared.chain
    }

    /// The most blocks of logs to ask for at once, as far as the endpoints' refusals tell: what each of them takes.
    #[must_use]
    pub fn longest_log_range(&self) -> Option<u64> {
        let now = since_origin(self.shared.time.now());
        let known = |index: usize| self.shared.targets[index].state.known();
        let of = |index| known(index).learned("eth_getLogs").max_blocks(now);
        self.shared.eligible(&self.options).into_iter().filter_map(of).min()
    }

    /// Shutdown: from now on a call that is dropped counts for nothing, so that ending tasks invents no failure.
    pub fn seal(&self) {
        let breakers = self.shared.targets.iter().flat_map(|target| &target.breakers);
        breakers.for_each(|breaker| breaker.seal());
    }

    /// Takes all events since the last drain, oldest first. `f` may call the pool: no lock is held.
    ///
    /// Metrics and log have them already, whether or not anybody drains.
    pub fn drain(&self, mut f: impl FnMut(PoolEvent)) {
        self.shared.servers.pump();
        let (events, lost) = self.shared.listener.queue.take();
        if lost > 0 {
            f(PoolEvent::Lost { count: lost });
        }
        events.into_iter().for_each(f);
    }
}

impl fmt::Debug for Pool {
    /// Whom it asks, and how: what is known about them is in its status.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints: Vec<_> =
            self.shared.targets.iter().map(|target| (&target.name, &target.endpoint)).collect();
        f.debug_struct("Pool")
            .field("chain", &self.shared.chain)
            .field("endpoints", &endpoints)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
