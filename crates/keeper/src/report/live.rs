//! What only a running keeper knows.

use crate::{builder::mirror, watch::Handle};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// All chains of a process at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    pub(crate) chains: Vec<LiveChain>,
    pub(crate) providers: Vec<LiveProvider>,
    /// What the sidecar says of itself.
    pub(crate) builder: Option<Value>,
}

/// How a chain is watched.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LiveChain {
    #[serde(skip)]
    pub(crate) chain: u64,
    /// The newest block that the followed node has shown.
    pub(crate) head: Option<u64>,
    /// How long the head has been the same.
    pub(crate) head_age_seconds: Option<u64>,
    /// Blocks between the head and what is told.
    pub(crate) behind: Option<u64>,
    pub(crate) identified: bool,
    /// What is wrong, by a word.
    pub(crate) degraded: BTreeMap<String, String>,
    /// Nothing more is believed of any node, for this reason.
    pub(crate) halted: Option<String>,
    /// The node that is followed.
    pub(crate) followed: Option<String>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LiveProvider {
    pub(crate) chain: String,
    pub(crate) provider: String,
    /// `ok`, or what is wrong with it.
    pub(crate) state: String,
    pub(crate) head: Option<u64>,
    pub(crate) lag: u64,
}

/// The chains of a process, each with its watch while it has one, and the builder's sidecar. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    chains: Arc<Mutex<BTreeMap<u64, Watched>>>,
    builder: Arc<OnceLock<mirror::Handle>>,
}

#[derive(Debug)]
struct Watched {
    name: String,
    max_lag: u64,
    /// None until nodes answer for the first time.
    watch: Option<Handle>,
}

impl Watches {
    /// Says that a chain is to be watched.
    pub(crate) fn expect(&self, chain: u64, name: &str, max_lag: u64) {
        self.all().insert(chain, Watched { name: name.to_owned(), max_lag, watch: None });
    }

    /// Says that it is. A watch that was started again takes the place of the one before.
    pub(crate) fn put(&self, chain: u64, watch: Handle) {
        if let Some(watched) = self.all().get_mut(&chain) {
            watched.watch = Some(watch);
        }
    }

    /// Says that the builder's sidecar is asked.
    pub(crate) fn mirror(&self, builder: mirror::Handle) {
        // There is one at the most.
        self.builder.set(builder).ok();
    }

    /// How all of them are.
    pub(crate) fn live(&self) -> Live {
        let builder = self.builder.get().map(mirror::Handle::document);
        let mut live = Live { builder, ..Live::default() };
        for (chain, Watched { name, watch, .. }) in &*self.all() {
            let Some(watch) = watch else { continue };
            let health = watch.borrow();
            let degraded = health.degraded.iter();
            live.chains.push(LiveChain {
                chain: *chain,
                head: health.head.map(|head| head.number),
                head_age_seconds: health.head_age().map(|age| age.as_secs()),
                behind: health.behind(),
                identified: health.identified,
                degraded: degraded.map(|(word, why)| ((*word).to_owned(), why.clone())).collect(),
                halted: health.halted.clone(),
                followed: health.followed.clone(),
            });
            live.providers.extend(health.nodes.iter().map(|node| LiveProvider {
                chain: name.clone(),
                provider: node.name.clone(),
                state: node.state.clone(),
                head: node.head,
                lag: node.lag,
            }));
        }
        live
    }

    /// Why what is told cannot be relied upon: empty where it can.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for Watched { name, max_lag, watch } in self.all().values() {
            let Some(watch) = watch else {
                reasons.push(format!("{name}: no node has answered yet"));
                continue;
            };
            let health = watch.borrow();
            if !health.identified {
                reasons.push(format!("{name}: no node has shown that it is on this chain"));
            }
            if let Some(halted) = &health.halted {
                reasons.push(format!("{name}: halted: {halted}"));
            }
            reasons.extend(health.degraded.values().map(|why| format!("{name}: {why}")));
            match health.behind() {
                None => reasons.push(format!("{name}: nothing is read yet")),
                Some(behind) if behind > *max_lag => {
                    reasons.push(format!("{name}: {behind} blocks behind its node"));
                }
                Some(_) => {}
            }
        }
        reasons
    }

    /// Nothing that is done while it is held can panic half way.
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Watched>> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
