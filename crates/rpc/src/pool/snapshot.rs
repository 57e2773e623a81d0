//! What survives a restart: a breaker that was open stays open for what was left.
//!
//! Endpoints are named by identity, which shows no secret. What is cheap to learn again (throttles, limits, heads) is
//! not saved.

use std::collections::BTreeMap;

use fusebox_breaker::Snapshot;
use serde::{Deserialize, Serialize};

use super::Pool;
use super::target::Target;
use super::time::unix_millis;
use crate::method::MethodClass;

/// A pool's breakers as data. If it is there and cannot be read, use [`PoolSnapshot::unknown`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSnapshot {
    version: u32,
    breakers: BTreeMap<String, Snapshot>,
}

impl PoolSnapshot {
    /// The layout this crate writes.
    pub const VERSION: u32 = 1;

    /// What to restore when there is a snapshot and it cannot be read: every breaker half-open, since unknown is not
    /// healthy.
    #[must_use]
    pub fn unknown() -> Self {
        Self { version: u32::MAX, breakers: BTreeMap::new() }
    }
}

fn key(target: &Target, class: MethodClass) -> String {
    format!("{} {} {class}", target.endpoint.instance(), target.transport())
}

impl Pool {
    /// The state of all breakers.
    #[must_use]
    pub fn save(&self) -> PoolSnapshot {
        let wall = unix_millis(self.shared.time.wall());
        let breakers = self.shared.targets.iter().flat_map(|target| {
            MethodClass::ALL.map(|class| (key(target, class), target.breaker(class).snapshot(wall)))
        });
        PoolSnapshot { version: PoolSnapshot::VERSION, breakers: breakers.collect() }
    }

    /// Puts the breakers where they were, as far as that still holds; right after the pool is made. A breaker that has
    /// moved since, in another pool that shares it, stays as it is. Endpoints that the snapshot does not know start closed; a snapshot from the future is unknown.
    pub fn restore(&self, snapshot: &PoolSnapshot) {
        let wall = unix_millis(self.shared.time.wall());
        let unknown = Snapshot::unknown();
        for target in &self.shared.targets {
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
