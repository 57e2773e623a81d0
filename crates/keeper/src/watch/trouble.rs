//! What is wrong with the nodes: told once, and alerted when it lasts.

use super::{Book, Watch};
use crate::{alert::AlertType, node::Node, output::log};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// A node that fails for less is nobody's business but the pool's.
const LASTING: Duration = Duration::from_secs(60);

/// Words that were said once are remembered, up to so many.
const SAID: usize = 256;

/// What is wrong with which node, by its host.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    with: BTreeMap<String, String>,
    /// What was said last, while no node answers.
    told: Option<String>,
    said: BTreeSet<String>,
    /// Since when each node fails, and whether that was alerted.
    down: BTreeMap<String, (Instant, bool)>,
    behind: Option<(Instant, bool)>,
}

impl Trouble {
    pub(super) fn met(&mut self, node: &Node, reason: String) {
        self.with.insert(node.host.clone(), reason);
    }

    pub(super) fn turned_away(&mut self, node: &Node) {
        self.with.entry(node.host.clone()).or_insert_with(|| "it is busy".to_owned());
    }

    /// What is wrong with all of them, for a person.
    fn reason(&self) -> String {
        let each = self.with.iter().map(|(host, why)| format!("no answer from {host}: {why}"));
        each.collect::<Vec<_>>().join("; ")
    }

    pub(super) fn unread(&mut self, why: &str) {
        let why = format!("storage is not read back: {why}");
        if self.is_news(&why) {
            log(&why);
        }
    }

    /// Whether this was not said yet.
    pub(super) fn is_news(&mut self, what: &str) -> bool {
        if self.said.len() >= SAID {
            self.said.clear();
        }
        self.said.insert(what.to_owned())
    }
}

/// Whether what began then has lasted, and was not alerted yet.
fn is_due(since: &mut (Instant, bool)) -> bool {
    since.0.elapsed() >= LASTING && !std::mem::replace(&mut since.1, true)
}

impl<B: Book> Watch<B> {
    /// This node brought a tick to its end.
    pub(super) fn answered(&mut self, node: &Node) {
        self.trouble.with.clear();
        if self.trouble.told.take().is_some() {
            log(&format!("{} answers again", node.host));
            self.board.recovered("unreachable");
        }
        self.followed = Some(node.name.clone());
        self.board.followed(node);
    }

    /// No node brought the tick to its end: told once while the reasons are the same.
    pub(super) fn unanswered(&mut self) {
        let reason = self.trouble.reason();
        if self.trouble.told.as_ref() == Some(&reason) {
            return;
        }
        log(&format!("{reason}; trying again"));
        self.board.degraded("unreachable", reason.clone());
        self.trouble.told = Some(reason);
    }

    /// After a tick: what is shown of the nodes, and alerts for what lasts.
    pub(super) async fn look_around(&mut self) {
        self.board.age();
        self.board.nodes(&self.nodes, &self.trouble.with);
        let health = self.board.read();
        let mut alerts = Vec::new();
        for node in &health.nodes {
            if matches!(&*node.state, "ok" | "rate limited") {
                self.trouble.down.remove(&node.name);
                continue;
            }
            let since =
                self.trouble.down.entry(node.name.clone()).or_insert((Instant::now(), false));
            if is_due(since) {
                let data = json!({ "provider": node.name, "reason": node.state });
                alerts.push((AlertType::ProviderDown, node.name.clone(), data));
            }
        }
        let is_behind = self.trouble.told.is_some()
            || health.behind().is_some_and(|blocks| blocks > self.plan.max_lag);
        match is_behind {
            false => self.trouble.behind = None,
            true => {
                let since = self.trouble.behind.get_or_insert((Instant::now(), false));
                if is_due(since) {
                    let reason = self.trouble.told.clone().unwrap_or_else(|| {
                        format!("{} blocks are not read yet", health.behind().unwrap_or_default())
                    });
                    alerts.push((
                        AlertType::ChainBehind,
                        String::new(),
                        json!({ "reason": reason }),
                    ));
                }
            }
        }
        let at = self.seen.map_or(0, |seen| seen.time);
        let hash = self.seen.map(|seen| seen.hash.to_string()).unwrap_or_default();
        for (kind, cause, data) in alerts {
            // The same again after another block is news.
            let cause = format!("{cause}:{hash}");
            if let Err(error) = self.book.note(kind, &cause, at, data).await {
                log(&error.to_string());
            }
        }
    }
}
