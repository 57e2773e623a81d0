//! What is known about servers, shared by all pools that reach them.
//!
//! A server that is down is down for every profile, and one that says "too fast" means all of us. So breakers, throttles,
//! learned limits and heads belong to the server; a pool only has a name for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use fusebox_breaker::{Breaker, Config, Registry, RegistryError, Tick};

use super::event::EventQueue;
use super::time::{Clk, MachineTime, Time};
use crate::endpoint::{BreakerKey, Endpoint, Transport};
use crate::instance::InstanceId;
use crate::learned::{BatchLimit, Learned};
use crate::method::MethodClass;
use crate::throttle::Throttle;

/// A breaker of this crate.
pub(crate) type ServerBreaker = Breaker<Clk>;

/// Of how many methods limits are remembered per server. Nodes have about a hundred; callers can invent more.
const MOST_LEARNED: usize = 256;

/// The weight of the newest sample in a latency: the last ten calls make up nine tenths of it.
const EWMA_DIVISOR: u32 = 5;

/// Servers by identity. Give the same one to all pools of a process; clones are the same.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    time: Clk,
    registry: Registry<BreakerKey, Clk>,
    states: Mutex<BTreeMap<(InstanceId, Transport), Arc<ServerState>>>,
    queues: Mutex<BTreeMap<String, Weak<EventQueue>>>,
    next_listener: AtomicU64,
    /// Somebody wants the events brought.
    wanted: AtomicBool,
    /// Held by whoever brings them: two at once would turn their order round.
    bringing: Mutex<()>,
}

impl Default for Servers {
    fn default() -> Self {
        Self::new(Arc::new(MachineTime))
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Servers").field(&self.0.registry).finish()
    }
}

impl Servers {
    /// None yet, on this clock.
    #[must_use]
    pub fn new(time: Arc<dyn Time>) -> Self {
        Self(Arc::new(Inner {
            registry: Registry::new(Arc::clone(&time)),
            time,
            states: Mutex::default(),
            queues: Mutex::default(),
            next_listener: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            bringing: Mutex::default(),
        }))
    }

    pub(crate) fn time(&self) -> &Clk {
        &self.0.time
    }

    pub(crate) fn breaker(
        &self,
        key: &BreakerKey,
        owner: &str,
        cfg: &Config,
    ) -> Result<Arc<ServerBreaker>, RegistryError> {
        self.0.registry.get_or_insert(key.clone(), owner, cfg.clone())
    }

    pub(crate) fn state(&self, endpoint: &Endpoint) -> Arc<ServerState> {
        let key = (endpoint.instance().clone(), endpoint.transport());
        Arc::clone(lock(&self.0.states).entry(key).or_default())
    }

    /// A name under which a pool hears of events, and where they wait.
    pub(crate) fn listen(&self, profile: &str, chain: u64) -> Listener {
        let number = self.0.next_listener.fetch_add(1, Ordering::Relaxed);
        let key = format!("{profile}#{number}");
        let queue = Arc::new(EventQueue::new(chain));
        lock(&self.0.queues).insert(key.clone(), Arc::downgrade(&queue));
        Listener { key, queue, servers: self.clone(), heard: Mutex::default() }
    }

    /// Brings the events of all breakers to the pools that know them, each once, and counts them on the way. Where
    /// somebody is at it already, that one does it once more: nobody waits, not even a recorder that calls a pool.
    pub(crate) fn pump(&self) {
        self.0.wanted.store(true, Ordering::SeqCst);
        while self.0.wanted.load(Ordering::SeqCst) {
            let _bringing = match self.0.bringing.try_lock() {
                Ok(bringing) => bringing,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            if self.0.wanted.swap(false, Ordering::SeqCst) {
                self.bring();
            }
        }
    }

    fn bring(&self) {
        let queues = lock(&self.0.queues).clone();
        let queue = |profile: &str| queues.get(profile).and_then(Weak::upgrade);
        let lost = self.0.registry.drain(|delivery| {
            if let Some(queue) = queue(delivery.profile) {
                queue.breaker(delivery.provider, delivery.key, delivery.event);
            }
        });
        let lost = lost.transitions + lost.calls;
        if lost > 0 {
            // Whose they were is lost with them: every listener is told.
            queues.values().filter_map(Weak::upgrade).for_each(|queue| queue.lost(lost));
        }
    }
}

/// A pool's ear. Dropping it ends the listening.
#[derive(Debug)]
pub(crate) struct Listener {
    key: String,
    pub(crate) queue: Arc<EventQueue>,
    servers: Servers,
    heard: Mutex<Vec<BreakerKey>>,
}

impl Listener {
    pub(crate) fn attach(&self, key: &BreakerKey, provider: &str) {
        self.servers.0.registry.attach(key, &self.key, provider);
        lock(&self.heard).push(key.clone());
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for key in lock(&self.heard).iter() {
            self.servers.0.registry.detach(key, &self.key);
        }
        lock(&self.servers.0.queues).remove(&self.key);
    }
}

/// Which chain a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Identity {
    /// Nobody has asked, or nobody answered: not wrong.
    #[default]
    Unknown,
    /// The configured one, since this moment.
    Verified(Tick),
    /// Another.
    Wrong,
}

/// What one endpoint has shown.
#[derive(Debug, Default)]
pub(crate) struct ServerState {
    known: Mutex<Known>,
    /// One identity check at a time: twenty first calls would else ask twenty times.
    pub(crate) checking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) throttle: Throttle,
    pub(crate) parked: bool,
    pub(crate) head: Option<u64>,
    pub(crate) regressions: u64,
    pub(crate) identity: Identity,
    pub(crate) batches: BatchLimit,
    learned: BTreeMap<String, Learned>,
    latency: BTreeMap<MethodClass, Duration>,
}

impl ServerState {
    /// Never held across an await.
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

impl Known {
    /// The endpoint has shown this block. False if it has shown a higher one before.
    pub(crate) fn saw_head(&mut self, number: u64) -> bool {
        let regressed = self.head.is_some_and(|head| number < head);
        self.regressions += u64::from(regressed);
        self.head = self.head.max(Some(number));
        !regressed
    }

    /// A success of this class took so long.
    pub(crate) fn took(&mut self, class: MethodClass, elapsed: Duration) {
        let latency = self.latency.entry(class).or_insert(elapsed);
        *latency = (*latency * (EWMA_DIVISOR - 1) + elapsed) / EWMA_DIVISOR;
    }

    pub(crate) fn latency(&self, class: MethodClass) -> Option<Duration> {
        self.latency.get(&class).copied()
    }

    /// What is known to stand against a method.
    pub(crate) fn learned(&self, method: &str) -> Learned {
        self.learned.get(method).copied().unwrap_or_default()
    }

    /// The methods that something is known about.
    pub(crate) fn methods(&self) -> impl Iterator<Item = (&str, Learned)> {
        self.learned.iter().map(|(method, learned)| (method.as_str(), *learned))
    }

    /// To learn more about a method, unless too many are known.
    pub(crate) fn learn(&mut self, method: &str) -> Option<&mut Learned> {
        if !self.learned.contains_key(method) && self.learned.len() >= MOST_LEARNED {
            return None;
        }
        Some(self.learned.entry(method.to_owned()).or_default())
    }

    /// The same, for methods that something is known about.
    pub(crate) fn learned_mut(&mut self, method: &str) -> Option<&mut Learned> {
        self.learned.get_mut(method)
    }
}

/// A panic while a lock was held leaves whole values behind: each is set in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_goes_back_lowers_nothing_but_a_counter() {
        let mut known = Known::default();
        assert!(known.saw_head(5));
        assert!(!known.saw_head(4));
        assert!(known.saw_head(5));
        assert_eq!((known.head, known.regressions), (Some(5), 1));
    }

    #[test]
    fn latency_follows_and_does_not_jump() {
        let mut known = Known::default();
        assert_eq!(known.latency(MethodClass::Logs), None);
        known.took(MethodClass::Logs, Duration::from_millis(100));
        assert_eq!(known.latency(MethodClass::Logs), Some(Duration::from_millis(100)));
        known.took(MethodClass::Logs, Duration::from_millis(200));
        assert_eq!(known.latency(MethodClass::Logs), Some(Duration::from_millis(120)));
        assert_eq!(known.latency(MethodClass::Head), None);
    }

    #[test]
    fn methods_are_learned_up_to_a_bound() {
        let mut known = Known::default();
        for i in 0..MOST_LEARNED {
            assert!(known.learn(&format!("m{i}")).is_some());
        }
        assert!(known.learn("m0").is_some());
        assert!(known.learn("one more").is_none());
    }
}
