//! A rule: when it applies, and what goes wrong then.

mod caps;
mod effect;
mod faults;
mod logs;
mod views;
mod when;

pub use caps::{RangeWording, ResultWording};
pub use views::Finality;
pub use when::WS_OPEN;

pub(crate) use caps::{RangeCap, ResultCap};
pub(crate) use effect::{Bytes, Effect, Notice, Point};
pub(crate) use when::Subject;

use crate::{record::Transport, seed::Seed};
use serde_json::Value;
use std::{fmt, ops::Range, sync::Arc, time::Duration};
use when::{Turn, When};

/// One fault, or several that belong together. Made by [`on`] or [`any`].
///
/// All rules that match a call apply. Whatever their order: first the call waits, hangs or is cut off; then the first
/// rule that answers in the upstream's place does, or the upstream is asked, through all views; then the answer is
/// changed, in the order of the rules; and last it is written.
#[derive(Clone)]
#[must_use = "give it to NodeBuilder::rule or Node::add"]
pub struct Rule {
    name: Option<String>,
    when: When,
    effects: Vec<Effect>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("name", &self.name).field("when", &self.when).finish()
    }
}

/// A rule for calls of one method; for notifications of the kind that was subscribed to, `newHeads` or `logs`; or for
/// [`WS_OPEN`].
pub fn on(method: impl Into<String>) -> Rule {
    Rule { name: None, when: When::method(Some(method.into())), effects: Vec::new() }
}

/// A rule for every call. Notifications and opening WebSockets are no calls.
pub fn any() -> Rule {
    Rule { name: None, when: When::method(None), effects: Vec::new() }
}

impl Rule {
    /// A name for [`Node::fired`](crate::Node::fired).
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only calls to the endpoint with this label.
    pub fn at(mut self, endpoint: impl Into<String>) -> Self {
        self.when.endpoint = Some(endpoint.into());
        self
    }

    /// Only calls over this transport.
    pub fn over(mut self, transport: Transport) -> Self {
        self.when.transport = Some(transport);
        self
    }

    /// Only calls whose parameters are as `wanted` says, which must not touch the node. Each further one must hold too.
    pub fn params(mut self, wanted: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.when.params.push(Arc::new(wanted));
        self
    }

    /// Only calls with this value at a JSON pointer into the parameters, such as `/0/address`.
    pub fn param(self, pointer: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.params(move |params| params.pointer(pointer) == Some(&value))
    }

    /// Only in this time since the node was started; the end is not part of it.
    pub fn during(mut self, time: Range<Duration>) -> Self {
        self.when.during = Some(time);
        self
    }

    /// Only the `n`-th of the calls that match otherwise; the first is 1.
    pub fn nth(self, n: u64) -> Self {
        self.turn(Turn::Nth(n))
    }

    /// Only the first `n` of the calls that match otherwise.
    pub fn first(self, n: u64) -> Self {
        self.turn(Turn::First(n))
    }

    /// All but the first `n` of the calls that match otherwise.
    pub fn after(self, n: u64) -> Self {
        self.turn(Turn::After(n))
    }

    /// Each `n`-th of the calls that match otherwise.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn every(self, n: u64) -> Self {
        assert_ne!(n, 0, "every 0th call is none: leave the rule out");
        self.turn(Turn::Every(n))
    }

    /// Only this share of the calls that match otherwise: 0 is none, 1 is all. Which, follows from the seed.
    ///
    /// # Panics
    /// When it is no share.
    pub fn chance(mut self, share: f64) -> Self {
        assert!((0.0..=1.0).contains(&share), "a chance is between 0 and 1, not {share}");
        self.when.chance = Some(share);
        self
    }

    fn turn(mut self, turn: Turn) -> Self {
        self.when.turn = turn;
        self
    }

    fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// Names a rule of a running [`Node`](crate::Node).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(u64);

/// The rules of a running node.
#[derive(Debug)]
pub(crate) struct Rules {
    seed: Seed,
    next: u64,
    live: Vec<Live>,
}

#[derive(Debug)]
struct Live {
    id: RuleId,
    rule: Rule,
    /// Calls that match but for turn and chance.
    seen: u64,
    /// Those of them that got the effects.
    fired: u64,
}

impl Rules {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { seed, next: 0, live: Vec::new() }
    }

    pub(crate) fn add(&mut self, rule: Rule) -> RuleId {
        let id = RuleId(self.next);
        self.next += 1;
        self.live.push(Live { id, rule, seen: 0, fired: 0 });
        id
    }

    pub(crate) fn remove(&mut self, id: RuleId) {
        self.live.retain(|live| live.id != id);
    }

    pub(crate) fn clear(&mut self) {
        self.live.clear();
    }

    /// How often the rules of this name got a call; None if there are none.
    pub(crate) fn fired(&self, name: &str) -> Option<u64> {
        let named = self.live.iter().filter(|live| live.rule.name.as_deref() == Some(name));
        named.map(|live| live.fired).reduce(|all, next| all + next)
    }

    /// What goes wrong with this call. Each question counts.
    pub(crate) fn effects(&mut self, subject: &Subject<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for live in &mut self.live {
            if !live.rule.when.matches(subject) {
                continue;
            }
            live.seen += 1;
            let draw = || self.seed.draw(live.id.0, live.seen);
            if live.rule.when.takes(live.seen, draw) {
                live.fired += 1;
                effects.extend(live.rule.effects.iter().cloned());
            }
        }
        effects
    }
}

impl Rule {
    /// The upstreams that it names.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::PinTo(upstream) => Some(upstream.as_str()),
            _ => None,
        })
    }

    /// The endpoint that it names.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.when.endpoint.as_deref()
    }
}
