//! A node before it is started.

use crate::{
    chain::{Chain, block},
    clock::{Clock, SystemClock},
    door::{Door, Endpoint, Serve},
    http,
    node::{Line, Node},
    pipeline::{MAIN, Shared},
    record::Record,
    rule::{Rule, Rules},
    seed::Seed,
    upstream::Upstream,
};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet};

/// Why a [`Node`] does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The loopback has no port left, or can't be used.
    #[error("no port of the loopback can be listened on")]
    Bind(#[source] io::Error),
    /// A rule names an upstream or an endpoint that there is none of.
    #[error("a rule names {kind} {name:?}; there are {known:?}")]
    Unknown {
        /// What was named: `upstream` or `endpoint`.
        kind: &'static str,
        /// The name in the rule.
        name: String,
        /// The names that would do.
        known: Vec<String>,
    },
    /// Blocks at intervals are asked for, but the upstream is a real node, which makes its own.
    #[error("only a scripted chain can be given a block time")]
    NotScripted,
}

/// A node to be started.
#[derive(Debug)]
#[must_use = "nothing happens before start()"]
pub struct NodeBuilder {
    labels: Vec<String>,
    upstreams: BTreeMap<String, Upstream>,
    rules: Vec<Rule>,
    seed: Option<Seed>,
    clock: Arc<dyn Clock>,
    door: Door,
    block_time: Option<Duration>,
    cut_every: Option<Duration>,
}

impl NodeBuilder {
    pub(crate) fn new(main: Upstream) -> Self {
        Self {
            labels: vec![MAIN.to_owned()],
            upstreams: BTreeMap::from([(MAIN.to_owned(), main)]),
            rules: Vec::new(),
            seed: None,
            clock: Arc::new(SystemClock::new()),
            door: Door::Open,
            block_time: None,
            cut_every: None,
        }
    }

    /// The label of the first endpoint, instead of `main`.
    ///
    /// # Panics
    /// When another endpoint has it.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.labels[0] = self.unused(label.into());
        self
    }

    /// One more endpoint, on a port of its own.
    ///
    /// # Panics
    /// When another endpoint has the label.
    pub fn endpoint(mut self, label: impl Into<String>) -> Self {
        self.labels.push(self.unused(label.into()));
        self
    }

    fn unused(&self, label: String) -> String {
        assert!(!self.labels.contains(&label), "there is an endpoint {label:?} already");
        label
    }

    /// One more upstream, which only rules with [`pin_to`](Rule::pin_to) lead to. `main` is what calls without such a
    /// rule go to; a name that is there already is replaced.
    pub fn upstream(mut self, name: impl Into<String>, upstream: impl Into<Upstream>) -> Self {
        self.upstreams.insert(name.into(), upstream.into());
        self
    }

    /// One more rule.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Instead of the seed of this run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(Seed(seed));
        self
    }

    /// Instead of the machine's clock.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What becomes of connections at first.
    pub fn door(mut self, door: Door) -> Self {
        self.door = door;
        self
    }

    /// The scripted chain gets an empty block at this interval of the node's clock, and of its own timestamps.
    ///
    /// # Panics
    /// When the interval is zero.
    pub fn block_time(mut self, interval: Duration) -> Self {
        assert!(!interval.is_zero(), "a chain can't grow in no time");
        self.block_time = Some(interval);
        self
    }

    /// Each WebSocket is cut after this time, whatever it does.
    pub fn cut_websockets_every(mut self, time: Duration) -> Self {
        self.cut_every = Some(time);
        self
    }

    /// Starts it on free ports of the loopback, and prints its seed to standard error.
    ///
    /// # Errors
    /// See [`StartError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    // async although it waits for nothing: only inside a runtime can it be awaited, and only there can it spawn.
    pub async fn start(self) -> Result<Node, StartError> {
        for rule in &self.rules {
            known(rule, self.labels.iter(), self.upstreams.keys())?;
        }
        let seed = self.seed.unwrap_or_else(Seed::of_this_run);
        seed.print();
        let mut rules = Rules::new(seed);
        for rule in self.rules {
            rules.add(rule);
        }
        let mut tasks = JoinSet::new();
        if let Some(interval) = self.block_time {
            let chain = self.upstreams[MAIN].chain().ok_or(StartError::NotScripted)?.clone();
            tasks.spawn(grow(chain, Arc::clone(&self.clock), interval));
        }
        let shared = Arc::new(Shared {
            started: self.clock.now(),
            clock: self.clock,
            seed,
            record: Record::default(),
            rules: Mutex::new(rules),
            upstreams: self.upstreams,
            requests: AtomicU64::new(0),
            subscriptions: AtomicU64::new(0),
        });
        let cut = Arc::new(watch::Sender::new(()));
        let endpoints = self.labels.into_iter().map(|label| {
            let (shared, cut) = (Arc::clone(&shared), Arc::clone(&cut));
            let line =
                Line { label: label.as_str().into(), shared, cut, cut_every: self.cut_every };
            let serve: Serve = Arc::new(move |stream| Box::pin(http::serve(line.clone(), stream)));
            Ok((label, Endpoint::bind(self.door, seed, serve)?))
        });
        let endpoints: io::Result<Vec<_>> = endpoints.collect();
        let endpoints = endpoints.map_err(StartError::Bind)?;
        Ok(Node::new(endpoints, shared, cut, tasks))
    }
}

async fn grow(chain: Chain, clock: Arc<dyn Clock>, interval: Duration) {
    // A block is never as old as its parent, however fast they come.
    let seconds = interval.as_secs().max(1);
    let mut due = clock.now();
    loop {
        due = due.saturating_add(interval);
        clock.sleep_until(due).await;
        chain.mine(block().at(chain.header().timestamp + seconds));
    }
}

/// Whether there is all that the rule names.
pub(crate) fn known<'a>(
    rule: &Rule,
    endpoints: impl Iterator<Item = &'a String> + Clone,
    upstreams: impl Iterator<Item = &'a String> + Clone,
) -> Result<(), StartError> {
    let unknown = |kind, name: &str, known: Vec<String>| StartError::Unknown {
        kind,
        name: name.into(),
        known,
    };
    if let Some(name) = rule.endpoint().filter(|name| !endpoints.clone().any(|label| label == name))
    {
        return Err(unknown("endpoint", name, endpoints.cloned().collect()));
    }
    match rule.upstreams().find(|name| !upstreams.clone().any(|upstream| upstream == name)) {
        Some(name) => Err(unknown("upstream", name, upstreams.cloned().collect())),
        None => Ok(()),
    }
}
