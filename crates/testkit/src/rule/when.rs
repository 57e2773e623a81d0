//! When a rule applies: a question about one call, and one about how many there were.

use crate::record::Transport;
use serde_json::Value;
use std::{fmt, ops::Range, sync::Arc, time::Duration};

/// What [`on`](crate::on) takes for the moment in which a WebSocket opens.
pub const WS_OPEN: &str = "ws:open";

type Predicate = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// What a rule is asked about.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) endpoint: &'a str,
    pub(crate) transport: Transport,
    /// Or the kind of a notification, or [`WS_OPEN`].
    pub(crate) method: &'a str,
    pub(crate) params: &'a Value,
    pub(crate) is_call: bool,
    /// Since the node was started.
    pub(crate) at: Duration,
}

#[derive(Clone)]
pub(super) struct When {
    method: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) transport: Option<Transport>,
    pub(super) params: Vec<Predicate>,
    pub(super) during: Option<Range<Duration>>,
    pub(super) turn: Turn,
    pub(super) chance: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    All,
    Nth(u64),
    First(u64),
    After(u64),
    Every(u64),
}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("When")
            .field("method", &self.method)
            .field("endpoint", &self.endpoint)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl When {
    pub(super) fn method(method: Option<String>) -> Self {
        Self {
            method,
            endpoint: None,
            transport: None,
            params: Vec::new(),
            during: None,
            turn: Turn::All,
            chance: None,
        }
    }

    pub(super) fn matches(&self, subject: &Subject<'_>) -> bool {
        self.method.as_deref().map_or(subject.is_call, |method| method == subject.method)
            && self.endpoint.as_deref().is_none_or(|endpoint| endpoint == subject.endpoint)
            && self.transport.is_none_or(|transport| transport == subject.transport)
            && self.during.as_ref().is_none_or(|during| during.contains(&subject.at))
            && self.params.iter().all(|wanted| wanted(subject.params))
    }

    /// Whether it takes the `nth` call that matches, counted from 1; `draw` is between 0 and 1.
    pub(super) fn takes(&self, nth: u64, draw: impl FnOnce() -> f64) -> bool {
        let turn = match self.turn {
            Turn::All => true,
            Turn::Nth(n) => nth == n,
            Turn::First(n) => nth <= n,
            Turn::After(n) => nth > n,
            Turn::Every(n) => nth.is_multiple_of(n),
        };
        // `draw` never is 1, so a chance of 1 always holds and one of 0 never.
        turn && self.chance.is_none_or(|share| draw() < share)
    }
}
