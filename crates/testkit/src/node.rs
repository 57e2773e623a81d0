//! A node under test: endpoints in front of upstreams, and rules in between.

use crate::{
    builder::{NodeBuilder, known},
    door::{Door, Endpoint},
    pipeline::Shared,
    record::Call,
    rule::{Rule, RuleId},
    seed::Seed,
    upstream::Upstream,
};
use std::{fmt, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet};

/// One endpoint's connections.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) label: Arc<str>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) cut: Arc<watch::Sender<()>>,
    pub(crate) cut_every: Option<Duration>,
}

/// A running node. Dropping it closes its ports and connections, and ends everything that it started.
pub struct Node {
    endpoints: Vec<(String, Endpoint)>,
    shared: Arc<Shared>,
    cut: Arc<watch::Sender<()>>,
    _tasks: JoinSet<()>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("url", &self.url()).field("seed", &self.seed()).finish()
    }
}

/// # Starting and reaching it
impl Node {
    /// In front of a chain that the test writes.
    pub fn scripted(chain: impl Into<Upstream>) -> NodeBuilder {
        NodeBuilder::new(chain.into())
    }

    /// In front of a real node, such as anvil; `http://…`. Its WebSocket is expected at the same address.
    pub fn proxy(url: impl Into<String>) -> NodeBuilder {
        NodeBuilder::new(url.into().into())
    }

    pub(crate) fn new(
        endpoints: Vec<(String, Endpoint)>,
        shared: Arc<Shared>,
        cut: Arc<watch::Sender<()>>,
        tasks: JoinSet<()>,
    ) -> Self {
        Self { endpoints, shared, cut, _tasks: tasks }
    }

    /// Where the first endpoint is.
    pub fn url(&self) -> String {
        format!("http://{}", self.endpoints[0].1.address)
    }

    /// Where the first endpoint's WebSocket is.
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.endpoints[0].1.address)
    }

    /// The first endpoint for clients that speak TLS, which it does not: for [`Door::TlsGarbage`].
    pub fn https_url(&self) -> String {
        format!("https://{}", self.endpoints[0].1.address)
    }

    /// Where the endpoint with this label is.
    ///
    /// # Panics
    /// When there is none.
    pub fn url_of(&self, label: &str) -> String {
        format!("http://{}", self.at(label).address)
    }

    /// Where the WebSocket of the endpoint with this label is.
    ///
    /// # Panics
    /// When there is none.
    pub fn ws_url_of(&self, label: &str) -> String {
        format!("ws://{}", self.at(label).address)
    }

    /// What chance follows from.
    pub fn seed(&self) -> Seed {
        self.shared.seed
    }

    fn at(&self, label: &str) -> &Endpoint {
        let found = self.endpoints.iter().find(|(name, _)| name == label);
        &found.unwrap_or_else(|| panic!("no endpoint {label:?}; there are {:?}", self.labels())).1
    }

    fn labels(&self) -> Vec<&str> {
        self.endpoints.iter().map(|(label, _)| label.as_str()).collect()
    }
}

/// # Faults while it runs
impl Node {
    /// One more rule, for calls that come from now on.
    ///
    /// # Panics
    /// When it names an endpoint or an upstream that there is none of.
    #[expect(clippy::must_use_candidate, reason = "most rules stay")]
    pub fn add(&self, rule: Rule) -> RuleId {
        let labels = self.endpoints.iter().map(|(label, _)| label);
        if let Err(error) = known(&rule, labels, self.shared.upstreams.keys()) {
            panic!("{error}");
        }
        self.shared.rules().add(rule)
    }

    /// Takes a rule away. What it has begun goes on.
    pub fn remove(&self, rule: RuleId) {
        self.shared.rules().remove(rule);
    }

    /// Takes all rules away. What they have begun goes on.
    pub fn clear(&self) {
        self.shared.rules().clear();
    }

    /// Closes every connection of every endpoint, and treats new ones like this.
    ///
    /// # Panics
    /// When a port can't be listened on again.
    pub async fn door(&self, door: Door) {
        for (label, _) in &self.endpoints {
            self.door_of(label, door).await;
        }
    }

    /// The same for one endpoint.
    ///
    /// # Panics
    /// When there is none, or its port can't be listened on again.
    pub async fn door_of(&self, label: &str, door: Door) {
        if let Err(error) = self.at(label).set(door).await {
            panic!("endpoint {label:?} can't be {door:?}: {error}");
        }
    }

    /// Cuts every WebSocket that is open, without a closing frame.
    pub fn cut_websockets(&self) {
        self.cut.send_replace(());
    }
}

/// # What it has seen
impl Node {
    /// The calls of this method so far.
    pub fn calls(&self, method: &str) -> Vec<Call> {
        self.shared.record.of(method)
    }

    /// All calls so far.
    pub fn all_calls(&self) -> Vec<Call> {
        self.shared.record.all()
    }

    /// # Panics
    /// When this method was called.
    #[track_caller]
    pub fn assert_never(&self, method: &str) {
        let calls = self.calls(method);
        assert!(
            calls.is_empty(),
            "{method} was called {} times, first as {:?}",
            calls.len(),
            calls[0]
        );
    }

    /// Waits until this method was called at least `count` times, and returns those calls. A call that hangs counts.
    ///
    /// # Panics
    /// After 20 s of real time.
    pub async fn called(&self, method: &str, count: usize) -> Vec<Call> {
        self.shared.record.wait(count, method, |call| call.method == method).await;
        self.calls(method)
    }

    /// How many connections the endpoint with this label has accepted.
    ///
    /// # Panics
    /// When there is none.
    pub fn connections(&self, label: &str) -> u64 {
        self.at(label).accepted()
    }

    /// How often the rules of this name applied.
    ///
    /// # Panics
    /// When there are none: a fault that a test believes in would be missing.
    #[track_caller]
    pub fn fired(&self, name: &str) -> u64 {
        let fired = self.shared.rules().fired(name);
        fired.unwrap_or_else(|| panic!("no rule is named {name:?}"))
    }
}
