//! How a chain is watched at this moment, for whoever serves it.

use super::Block;
use crate::{
    metrics::Metric,
    node::{Node, Nodes},
};
use fusebox_rpc::MethodClass;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// How a chain is watched at this moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// What the chain is called.
    pub(crate) name: Arc<str>,
    /// The newest block that the followed node has shown.
    pub(crate) head: Option<Block>,
    /// When that was another one than before.
    head_since: Option<Instant>,
    /// All up to this block is told.
    pub(crate) seen: Option<Block>,
    /// All up to this block is told, and will not leave.
    pub(crate) last_final: Option<Block>,
    /// A node has shown that it is on the chain that was read.
    pub(crate) identified: bool,
    /// What is wrong, by its reason: a word for metrics, and the same for a person.
    pub(crate) degraded: BTreeMap<&'static str, String>,
    /// Nothing more is believed of any node, for this reason.
    pub(crate) halted: Option<String>,
    /// The node that is followed.
    pub(crate) followed: Option<String>,
    pub(crate) nodes: Vec<NodeHealth>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeHealth {
    /// What metrics call it.
    pub(crate) name: String,
    /// What may be shown of where it is.
    pub(crate) host: String,
    /// `ok`, or what is wrong with it.
    pub(crate) state: String,
    /// The newest block it has shown, and how far that is behind the furthest.
    pub(crate) head: Option<u64>,
    pub(crate) lag: u64,
}

impl Health {
    /// How long the head has been the same.
    pub(crate) fn head_age(&self) -> Option<Duration> {
        Some(self.head_since?.elapsed())
    }

    /// Blocks between the head and what is told.
    pub(crate) fn behind(&self) -> Option<u64> {
        Some(self.head?.number.saturating_sub(self.seen?.number))
    }
}

/// Follows the health of a chain. Cheap to clone.
pub(crate) type Handle = watch::Receiver<Health>;

/// Where the watch says it.
#[derive(Debug)]
pub(super) struct Board(watch::Sender<Health>);

impl Board {
    pub(super) fn new(name: &str) -> (Self, Handle) {
        let health = Health { name: name.into(), ..Health::default() };
        let (sender, handle) = watch::channel(health);
        (Self(sender), handle)
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.0.borrow().name)
    }

    pub(super) fn head(&self, head: Block) {
        self.0.send_modify(|health| {
            if health.head.is_none_or(|old| old.hash != head.hash) {
                health.head_since = Some(Instant::now());
            }
            health.head = Some(head);
        });
        gauge(Metric::ChainHead, self.name(), head.number);
    }

    pub(super) fn cursors(&self, seen: Option<Block>, last_final: Option<Block>) {
        self.0.send_modify(|health| {
            health.seen = seen;
            health.last_final = last_final;
        });
        for (metric, block) in [(Metric::ChainSeen, seen), (Metric::ChainFinal, last_final)] {
            if let Some(block) = block {
                gauge(metric, self.name(), block.number);
            }
        }
    }

    pub(super) fn followed(&self, node: &Node) {
        self.0.send_if_modified(|health| {
            let is_news = health.followed.as_deref() != Some(&*node.name)
                || !health.identified
                || health.halted.is_some();
            health.followed = Some(node.name.clone());
            health.identified = true;
            health.halted = None;
            is_news
        });
    }

    /// Whether that is news.
    pub(super) fn halted(&self, reason: String) -> bool {
        let mut is_news = false;
        self.0.send_modify(|health| is_news = health.halted.replace(reason).is_none());
        is_news
    }

    pub(super) fn unhalted(&self) {
        self.0.send_modify(|health| health.halted = None);
    }

    pub(super) fn read(&self) -> Health {
        self.0.borrow().clone()
    }

    /// Something is wrong. Whether that is news.
    pub(super) fn degraded(&self, word: &'static str, reason: String) -> bool {
        metrics::gauge!(Metric::ChainDegraded.name(), "chain" => self.name().to_string(), "reason" => word)
            .set(1.0);
        let mut is_news = false;
        self.0.send_if_modified(|health| {
            is_news = !health.degraded.contains_key(word);
            health.degraded.insert(word, reason.clone()) != Some(reason)
        });
        is_news
    }

    /// That is over. Whether it was so.
    pub(super) fn recovered(&self, word: &'static str) -> bool {
        let was = self.0.send_if_modified(|health| health.degraded.remove(word).is_some());
        if was {
            metrics::gauge!(Metric::ChainDegraded.name(), "chain" => self.name().to_string(), "reason" => word)
                .set(0.0);
        }
        was
    }

    /// What is known of each node: what the watch has met with, else what the pool says.
    pub(super) fn nodes(&self, nodes: &Nodes, trouble: &BTreeMap<String, String>) {
        let now: Vec<_> = nodes
            .status()
            .into_iter()
            .map(|(node, status)| {
                let is_open = status.classes.iter().any(|class| {
                    class.class == MethodClass::Head
                        && class.breaker.state != fusebox_breaker::State::Closed
                });
                let state = match trouble.get(&node.host) {
                    Some(reason) => reason.clone(),
                    None if status.right_chain == Some(false) => "on another chain".to_owned(),
                    None if !status.throttled_for.is_zero() => "rate limited".to_owned(),
                    None if is_open => "failing".to_owned(),
                    None => "ok".to_owned(),
                };
                let (head, lag) = (status.head, status.lag);
                NodeHealth { name: node.name, host: node.host, state, head, lag }
            })
            .collect();
        self.0.send_if_modified(|health| {
            let is_news = health.nodes != now;
            health.nodes = now;
            is_news
        });
    }

    pub(super) fn age(&self) {
        let age = self.0.borrow().head_age();
        if let Some(age) = age {
            metrics::gauge!(Metric::ChainHeadAge.name(), "chain" => self.name().to_string())
                .set(age.as_secs_f64());
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "no chain has 2^53 blocks")]
fn gauge(metric: Metric, chain: Arc<str>, value: u64) {
    metrics::gauge!(metric.name(), "chain" => chain.to_string()).set(value as f64);
}
