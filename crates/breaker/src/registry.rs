//! One breaker for each thing that can break, however many use it.
//!
//! Two profiles that reach the same node share its breaker: the node is down for both. Each may know the node by a name
//! of its own, and hears of every event under that name.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::breaker::Breaker;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigErrors};
use crate::event::{Dropped, Event};

/// Breakers by key.
///
/// Whoever calls often keeps the [`Arc`]; asking the registry each time takes its lock.
pub struct Registry<K, C: Clock = SystemClock> {
    clock: C,
    entries: RwLock<BTreeMap<K, Entry<C>>>,
}

struct Entry<C: Clock> {
    breaker: Arc<Breaker<C>>,
    owner: Arc<str>,
    attached: Vec<(Arc<str>, Arc<str>)>,
}

/// An event on its way to one profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a, K> {
    /// The breaker.
    pub key: &'a K,
    /// Who is told.
    pub profile: &'a str,
    /// How that profile calls it.
    pub provider: &'a str,
    /// What happened.
    pub event: Event,
}

impl<K: Ord + Clone, C: Clock + Clone> Registry<K, C> {
    /// An empty registry; each breaker gets a clone of `clock`.
    #[must_use]
    pub const fn new(clock: C) -> Self {
        Self { clock, entries: RwLock::new(BTreeMap::new()) }
    }

    /// The breaker of `key`, made with `cfg` if there is none. `owner` says who asked, for the error of the next one
    /// who asks with other rules.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Invalid`] if no breaker can have these rules; [`RegistryError::Conflict`] if the breaker has
    /// others already.
    pub fn get_or_insert(
        &self,
        key: K,
        owner: &str,
        cfg: Config,
    ) -> Result<Arc<Breaker<C>>, RegistryError> {
        let mut entries = self.write();
        if let Some(entry) = entries.get(&key) {
            return if *entry.breaker.config() == cfg {
                Ok(Arc::clone(&entry.breaker))
            } else {
                let (first, second) = (entry.owner.to_string(), owner.to_owned());
                Err(RegistryError::Conflict(ConfigConflict { first, second }))
            };
        }
        let breaker =
            Arc::new(Breaker::new(cfg, self.clock.clone()).map_err(RegistryError::Invalid)?);
        entries.insert(
            key,
            Entry { breaker: Arc::clone(&breaker), owner: owner.into(), attached: Vec::new() },
        );
        Ok(breaker)
    }

    /// The breaker of `key`.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<Arc<Breaker<C>>> {
        self.read().get(key).map(|entry| Arc::clone(&entry.breaker))
    }

    /// All breakers, in the order of their keys.
    #[must_use]
    pub fn all(&self) -> Vec<(K, Arc<Breaker<C>>)> {
        self.read().iter().map(|(key, entry)| (key.clone(), Arc::clone(&entry.breaker))).collect()
    }

    /// From now on `profile` hears of the breaker of `key` under the name `provider`. False if there is no such breaker.
    ///
    /// A second name for the same profile replaces the first.
    pub fn attach(&self, key: &K, profile: &str, provider: &str) -> bool {
        let mut entries = self.write();
        let Some(entry) = entries.get_mut(key) else { return false };
        entry.attached.retain(|(name, _)| **name != *profile);
        entry.attached.push((profile.into(), provider.into()));
        true
    }

    /// `profile` hears no more of the breaker of `key`. False if it did not before.
    pub fn detach(&self, key: &K, profile: &str) -> bool {
        let mut entries = self.write();
        let Some(entry) = entries.get_mut(key) else { return false };
        let before = entry.attached.len();
        entry.attached.retain(|(name, _)| **name != *profile);
        entry.attached.len() < before
    }

    /// Hands every event of every breaker to each attached profile once, in the order in which it happened to its
    /// breaker, and says how many were lost. Events of a breaker that nobody is attached to wait in its rings.
    ///
    /// No lock is held while `f` runs. One owner drains: two at a time would share the events between them.
    pub fn drain(&self, mut f: impl FnMut(Delivery<'_, K>)) -> Dropped {
        let heard: Vec<_> = self
            .read()
            .iter()
            .filter(|(_, entry)| !entry.attached.is_empty())
            .map(|(key, entry)| (key.clone(), Arc::clone(&entry.breaker), entry.attached.clone()))
            .collect();
        let mut lost = Dropped::default();
        let mut events = Vec::new();
        for (key, breaker, attached) in &heard {
            let Dropped { transitions, calls } = breaker.drain(&mut events);
            lost.transitions += transitions;
            lost.calls += calls;
            for event in events.drain(..) {
                for (profile, provider) in attached {
                    f(Delivery { key, profile, provider, event });
                }
            }
        }
        lost
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<K, Entry<C>>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<K, Entry<C>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: fmt::Debug, C: Clock> fmt::Debug for Registry<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_map().entries(entries.iter().map(|(key, entry)| (key, &entry.breaker))).finish()
    }
}

/// Why a registry has no breaker to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// No breaker can have these rules.
    Invalid(ConfigErrors),
    /// The breaker has other rules.
    Conflict(ConfigConflict),
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(errors) => errors.fmt(f),
            Self::Conflict(conflict) => conflict.fmt(f),
        }
    }
}

impl Error for RegistryError {}

/// Two owners want the same breaker with different rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigConflict {
    /// Who came first; its rules hold.
    pub first: String,
    /// Who came later.
    pub second: String,
}

impl fmt::Display for ConfigConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second } = self;
        write!(
            f,
            "{first} and {second} share one breaker and give it different rules: make them equal"
        )
    }
}

impl Error for ConfigConflict {}
