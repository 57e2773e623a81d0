//! What all clones of a pool share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use fusebox_breaker::Tick;

use super::event::PoolEvent;
use super::filters::Filters;
use super::hedge::Hedging;
use super::metrics::Metrics;
use super::servers::{Listener, Servers};
use super::target::Target;
use super::time::Clk;
use super::wake::Wakes;
use super::wire::Http;
use crate::config::ChainConfig;
use crate::rules::Rules;
use crate::scrub::Scrubber;

/// A pool's inside.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Itself, for the tasks of its connections, which must not keep it alive.
    pub(crate) me: Weak<Shared>,
    pub(crate) chain: u64,
    pub(crate) cfg: ChainConfig,
    pub(crate) targets: Vec<Target>,
    pub(crate) wakes: Wakes,
    pub(crate) time: Clk,
    pub(crate) rules: Arc<Rules>,
    pub(crate) http: Http,
    /// Where there are any.
    pub(crate) websockets: Option<Http>,
    pub(crate) scrubber: Scrubber,
    pub(crate) metrics: Metrics,
    pub(crate) servers: Servers,
    pub(crate) listener: Listener,
    pub(crate) filters: Filters,
    pub(crate) hedging: Hedging,
    /// When the last call without a permit was made.
    pub(crate) last_resort: Mutex<Option<Tick>>,
    /// For which classes nothing was usable when last looked at, in the order of the classes.
    pub(crate) all_open: [AtomicBool; 6],
    /// Whether background probes run, and own the recovery of the classes they exercise.
    pub(crate) probing: AtomicBool,
}

impl Shared {
    /// Queues an event for the pool's owner.
    pub(crate) fn tell(&self, event: PoolEvent) {
        self.listener.queue.push(event);
    }
}
