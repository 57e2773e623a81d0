//! What survives a restart: a breaker that was open stays open for what was left, who asked for a pause has it, and a range
//! that was too long is not asked for again.
//!
//! Endpoints are named by identity, which shows no secret. What is cheap to learn again (heads, latencies) is not saved.

use std::collections::BTreeMap;
use std::time::Duration;

use fusebox_breaker::Snapshot;
use serde::{Deserialize, Serialize};

use super::Pool;
use super::target::Target;
use super::time::{since_origin, unix_millis};
use crate::method::MethodClass;

/// A pool's breakers, pauses and limits as data. If it is there and cannot be read, use [`PoolSnapshot::unknown`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSnapshot {
    version: u32,
    breakers: BTreeMap<String, Snapshot>,
    #[serde(default)]
    endpoints: BTreeMap<String, Kept>,
}

/// What is known of one endpoint, with deadlines by the wall clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paused_until_ms: Option<u64>,
    /// By method.
    #[serde(default)]
    limits: BTreeMap<String, Limit>,
}

/// The longest range that an endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Limit {
    blocks: u64,
    named: bool,
    until_ms: u64,
}

impl PoolSnapshot {
    /// The layout this crate writes.
    pub const VERSION: u32 = 1;

    /// What to restore when there is a snapshot and it cannot be read: every breaker half-open, since unknown is not
    /// healthy.
    #[must_use]
    pub fn unknown() -> Self {
        Self { version: u32::MAX, breakers: BTreeMap::new(), endpoints: BTreeMap::new() }
    }
}

fn key(target: &Target, class: MethodClass) -> String {
    format!("{} {class}", place(target))
}

fn place(target: &Target) -> String {
    format!("{} {}", target.endpoint.instance(), target.transport())
}

impl Kept {
    fn of(target: &Target, now: Duration, wall_ms: u64) -> Self {
        let at = |left: Duration| {
            wall_ms.saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
        };
        let known = target.state.known();
        let limits = known.methods().filter_map(|(method, learned)| {
            let (blocks, named, left) = learned.limit(now)?;
            Some((method.to_owned(), Limit { blocks, named, until_ms: at(left) }))
        });
        let pause = known.throttle.wait(now);
        let paused_until_ms = (!pause.is_zero()).then(|| at(pause));
        Self { paused_until_ms, limits: limits.collect() }
    }

    fn give_back(&self, target: &Target, now: Duration, wall_ms: u64) {
        let left = |until_ms: u64| Duration::from_millis(until_ms.saturating_sub(wall_ms));
        let mut known = target.state.known();
        if let Some(until) = self.paused_until_ms {
            known.throttle.resume(now, left(until));
        }
        for (method, Limit { blocks, named, until_ms }) in &self.limits {
            if let Some(learned) = known.learn(method) {
                learned.resume(*blocks, *named, left(*until_ms), now);
            }
        }
    }
}

impl Pool {
    /// The state of all breakers, and what endpoints have asked for.
    #[must_use]
    pub fn save(&self) -> PoolSnapshot {
        let wall = unix_millis(self.shared.time.wall());
        let breakers = self.shared.targets.iter().flat_map(|target| {
            MethodClass::ALL.map(|class| (key(target, class), target.breaker(class).snapshot(wall)))
        });
        let now = since_origin(self.shared.time.now());
        let endpoints = self.shared.targets.iter().filter_map(|target| {
            let kept = Kept::of(target, now, wall.0);
            (kept != Kept::default()).then(|| (place(target), kept))
        });
        PoolSnapshot {
            version: PoolSnapshot::VERSION,
            breakers: breakers.collect(),
            endpoints: endpoints.collect(),
        }
    }

    /// Puts the breakers where they were, as far as that still holds; right after the pool is made. A breaker that has
    /// moved since, in another pool that shares it, stays as it is. Endpoints that the snapshot does not know start closed; a snapshot from the future is unknown.
    pub fn restore(&self, snapshot: &PoolSnapshot) {
        let wall = unix_millis(self.shared.time.wall());
        let now = since_origin(self.shared.time.now());
        let unknown = Snapshot::unknown();
        for target in &self.shared.targets {
            let kept = snapshot.endpoints.get(&place(target));
            if let Some(kept) = kept.filter(|_| snapshot.version <= PoolSnapshot::VERSION) {
                kept.give_back(target, now, wall.0);
            }
            for class in MethodClass::ALL {
                let saved = match snapshot.version {
                    0..=PoolSnapshot::VERSION => snapshot.breakers.get(&key(target, class)),
                    _ => Some(&unknown),
                };
                let breaker = target.breaker(class);
                if let Some(saved) = saved.filter(|_| breaker.view().cause.is_none()) {
                    breaker.resume(saved, wall);
                }
            }
        }
        self.shared.servers.pump();
    }
}
