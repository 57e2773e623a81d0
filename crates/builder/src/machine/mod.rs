//! A breaker from events to decisions.
//!
//! It is told what beacon nodes say, what is asked of it and what time it is, and answers with decisions and transitions. The
//! watcher drives it live and a log drives it in replay: nothing else decides. It has no clock; ticks follow from the
//! times of events.

mod node;
mod observation;
mod output;

pub use observation::{Action, MAX_NODES, Observation, Seen, Spec};
pub use output::{Counts, Output, Transition, Why};

use crate::{
    breaker::{Breaker, Cause, Decision},
    clock::SlotClock,
    evidence::{Evidence, Gate},
    fault::{Block, Payload, Validity},
    policy::{Compiled, Policy, Recovery, Start, Verdict},
    root::Root,
    tally::{Added, Tally, is_missed},
};
use fusebox_breaker::State;
use node::Node;
use std::collections::VecDeque;

/// A block so much before its slot, in milliseconds, means that a clock is wrong; less is the network's noise.
const SKEW_MS: i64 = 500;
/// After a silence of so many slots (a day) nobody has watched, whatever streams were up.
const LONGEST_SILENCE: u64 = 8_192;
/// No time is later, in milliseconds: sums of times stay numbers.
const LATEST: i64 = i64::MAX / 2;
/// Late blocks that are remembered by name.
const LATE_NAMED: usize = 16;

/// A breaker and all that it knows.
#[derive(Debug)]
pub struct Machine<P = Compiled> {
    clock: SlotClock,
    start: Start,
    gloas: Option<u64>,
    tally: Tally,
    nodes: Vec<Node>,
    /// Whether node 0 is taken for well at a start.
    trusts: bool,
    /// Whether any node was ever fit to be asked.
    was_fit: bool,
    breaker: Breaker<P>,
    ms: i64,
    /// Whether the current slot's own decision was taken.
    ticked: bool,
    force_until: Option<i64>,
    seq: u64,
    counts: Counts,
    late: VecDeque<(u64, Root)>,
}

impl<P: Policy> Machine<P> {
    /// A closed breaker that starts at `ms` since genesis, before any node was heard.
    #[must_use]
    pub fn new(spec: &Spec, policy: P, recovery: Recovery, ms: i64) -> Self {
        let clock = spec.clock();
        let gloas = spec.gloas_epoch.map(|epoch| epoch.saturating_mul(spec.slots_per_epoch.get()));
        let mut machine = Self {
            clock,
            start: spec.start,
            gloas,
            tally: Tally::new(0, Start::Zero),
            nodes: Vec::new(),
            trusts: false,
            was_fit: false,
            breaker: Breaker::with(policy, recovery, spec.on_unknown),
            ms: ms.max(0),
            ticked: false,
            force_until: None,
            seq: 0,
            counts: Counts::default(),
            late: VecDeque::new(),
        };
        machine.count_anew(spec.start);
        machine.trust_if(spec.trusts);
        machine
    }

    fn trust_if(&mut self, trusts: bool) {
        self.trusts = trusts;
        if trusts {
            self.nodes = vec![Node::trusted(self.tally.now())];
            self.nodes_changed();
        }
    }

    /// The slot that runs.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.tally.now()
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> SlotClock {
        self.clock
    }

    /// Its breaker.
    #[must_use]
    pub fn breaker(&self) -> &Breaker<P> {
        &self.breaker
    }

    /// Its tally.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What was dropped or ignored.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The newest late blocks, by slot and root.
    pub fn late_blocks(&self) -> impl Iterator<Item = (u64, Root)> + '_ {
        self.late.iter().copied()
    }

    /// Whether a node can be asked and says everything.
    #[must_use]
    pub fn is_fit(&self, node: u8) -> bool {
        self.nodes.get(usize::from(node)).is_some_and(Node::is_fit)
    }

    /// What is wrong with a node, by what it says of itself.
    #[must_use]
    pub fn node_gate(&self, node: u8) -> Option<Gate> {
        self.nodes.get(usize::from(node)).and_then(Node::gate)
    }

    /// When time alone changes something next: the slot's own decision, or the end of the slot.
    #[must_use]
    pub fn next_wake(&self) -> i64 {
        let now = self.tally.now();
        if self.ticked { self.clock.start(now + 1) } else { self.clock.tick(now) }
    }

    /// Time goes on. A time before the last one is no time passed: no slot is un-ended.
    pub fn advance(&mut self, ms: i64, out: &mut Vec<Output>) {
        let ms = ms.min(LATEST);
        let to = self.clock.slot_at(ms);
        if to.saturating_sub(self.tally.now()) > LONGEST_SILENCE {
            for node in &mut self.nodes {
                node.blind();
            }
            self.tally.advance(to);
            self.nodes_changed();
            self.ticked = false;
        }
        loop {
            let due = self.next_wake();
            if due > ms {
                break;
            }
            self.ms = self.ms.max(due);
            self.expire(out);
            let now = self.tally.now();
            if self.ticked {
                let seen = self.nodes.iter().enumerate().filter(|(_, node)| node.has_seen(now));
                let seen = seen.fold(0, |seen, (index, _)| seen | 1 << index);
                self.tally.end_slot(seen);
                self.ticked = false;
            } else {
                self.ticked = true;
                let decision = self.decide(now, out);
                out.push(Output::Tick(decision));
            }
        }
        self.ms = self.ms.max(ms);
        self.expire(out);
    }

    /// Something happened at `ms` since genesis. `Spec` is the start, and means nothing later.
    pub fn observe(&mut self, ms: i64, observation: &Observation, out: &mut Vec<Output>) {
        self.advance(ms, out);
        match *observation {
            Observation::Spec(_) => {}
            Observation::Block { node, block } => self.block(node, ms, &block, out),
            Observation::Payload { slot, root, .. } => self.tally.reveal(slot, root),
            Observation::Head { node, slot, root } => {
                // A head is a block that was imported, whether or not its own event has come.
                self.add(&Seen::new(slot, root, None), out);
                self.told(node, |node| node.head = Some((slot, root)));
            }
            Observation::Finalized { node, epoch } => {
                self.told(node, |node| node.finalized = node.finalized.max(Some(epoch)));
            }
            Observation::Reorg { node, slot, depth } => {
                // Each of several nodes tells of the same one.
                if self.speaker().is_some_and(|speaker| speaker == usize::from(node)) {
                    self.tally.reorg(slot, depth);
                }
            }
            Observation::Stream { node, up } => self.told(node, |node| node.stream(up)),
            Observation::Snapshot { node, from, ref blocks, whole_tree } => {
                self.snapshot(node, from, blocks, whole_tree, out);
            }
            Observation::Sync { node, head_slot, is_syncing, is_optimistic, el_offline } => {
                let is_early = self.is_early(ms, head_slot);
                self.sync(node, (head_slot, is_early), (is_syncing, el_offline), is_optimistic);
            }
            Observation::Header { slot } => {
                let now = self.tally.now();
                let near = slot.abs_diff(now) <= 1;
                self.counts.requests_out_of_reach += u64::from(!near);
                let decision = self.decide(if near { slot } else { now }, out);
                out.push(Output::Answer(decision));
            }
            Observation::Admin { action, ttl } => self.admin(action, ttl, out),
            Observation::Restart => self.restart(out),
        }
    }

    /// Decides about a slot that is the current one or its neighbour.
    pub fn decide(&mut self, slot: u64, out: &mut Vec<Output>) -> Decision {
        let mut evidence: Evidence = self.tally.evidence_for(slot);
        evidence.gate = self.gate();
        evidence.payloads = self.gloas.is_some_and(|gloas| slot > gloas);
        evidence.alone = !self.nodes.iter().any(|node| node.up);
        let speaker = self.speaker().and_then(|speaker| self.nodes.get(speaker));
        evidence.finalized = speaker.and_then(|node| node.finalized);
        let before = self.breaker.latch().state();
        let decision = self.breaker.decide(&evidence);
        if decision.state != before {
            let finding = (decision.state == State::Open).then_some(decision);
            // What the answer's cause hides while an admin holds it.
            let cause = match (decision.verdict, decision.state) {
                (Verdict::Open(finding), State::Open) => Cause::of(finding, &evidence),
                (_, State::Open) => Cause::Latched,
                (_, State::HalfOpen) => Cause::Recovering,
                (_, State::Closed) => Cause::None,
            };
            let value = finding.and_then(|decision| decision.value);
            let limit = finding.and_then(|decision| decision.limit);
            self.transition(slot, before, Why::Decided(cause), (value, limit), out);
        }
        decision
    }

    fn transition(
        &mut self,
        slot: u64,
        from: State,
        cause: Why,
        (value, limit): (Option<u64>, Option<u64>),
        out: &mut Vec<Output>,
    ) {
        self.seq += 1;
        let (seq, ms, to) = (self.seq, self.ms, self.breaker.latch().state());
        out.push(Output::Transition(Transition { seq, ms, slot, from, to, cause, value, limit }));
    }

    fn block(&mut self, node: u8, ms: i64, block: &Seen, out: &mut Vec<Output>) {
        let early = self.is_early(ms, block.slot);
        let lost = self.node(node).and_then(|node| node.skew(early));
        if let Some(from) = lost {
            self.tally.unsee(from, node);
        }
        self.add(block, out);
        // Only the node's own account clears it.
        self.told(node, |node| node.optimistic |= block.optimistic);
    }

    /// Whether a block at that time means that a clock is wrong.
    fn is_early(&self, ms: i64, slot: u64) -> bool {
        ms.saturating_add(SKEW_MS) < self.clock.start(slot)
    }

    fn add(&mut self, seen: &Seen, out: &mut Vec<Output>) {
        let &Seen { slot, root, parent, invalid, external, .. } = seen;
        let is_late = self.breaker.latch().state() != State::Closed
            && is_missed(self.tally.status(slot))
            && !self.tally.knows(slot, root);
        let validity = match (invalid, is_late) {
            (true, _) => Validity::Invalid,
            (_, true) => Validity::Late,
            _ => Validity::Valid,
        };
        let payload = match external {
            None => Payload::Unknown,
            Some(false) => Payload::Own,
            Some(true) => Payload::Awaited,
        };
        match self.tally.add(slot, Block { root, parent, validity, payload }) {
            Added::New if validity == Validity::Late => {
                self.counts.late_blocks += 1;
                self.late.truncate(LATE_NAMED - 1);
                self.late.push_front((slot, root));
                out.push(Output::Late { slot, root });
            }
            Added::New | Added::Known => {}
            Added::Full => self.counts.blocks_dropped += 1,
            Added::TooOld | Added::TooEarly => self.counts.blocks_out_of_reach += 1,
        }
    }

    fn snapshot(
        &mut self,
        node: u8,
        from: u64,
        blocks: &[Seen],
        whole_tree: bool,
        out: &mut Vec<Output>,
    ) {
        for block in blocks {
            self.add(block, out);
        }
        let now = self.tally.now();
        let Some(asked) = self.node(node) else { return };
        // What a node says while it catches up is what it has, not what there is.
        if asked.gate().is_some() {
            return;
        }
        asked.reconciled(now);
        if whole_tree {
            for slot in from.max(self.tally.floor())..now {
                self.tally.see(slot, node);
            }
        }
        self.nodes_changed();
    }

    fn sync(
        &mut self,
        index: u8,
        (head_slot, is_early): (u64, bool),
        (syncing, el_offline): (bool, bool),
        optimistic: bool,
    ) {
        let now = self.tally.now();
        let in_reach = (self.tally.floor()..=now).contains(&head_slot);
        let unseen = in_reach && !self.tally.has_block(head_slot);
        let Some(node) = self.node(index) else { return };
        node.optimistic = optimistic;
        // A head of which its stream said nothing: the stream has lost more than that, since who knows when.
        let lost = match unseen {
            true => Some(node.blind().min(head_slot)),
            false => None,
        };
        // A head in time clears nothing: it may be an old one. Only a block in time does.
        if is_early {
            node.skew(true);
        }
        let gated = node.report(syncing, el_offline, now);
        if let Some(from) = lost.min(gated).or(lost).or(gated) {
            self.tally.unsee(from, index);
        }
        self.nodes_changed();
    }

    fn admin(&mut self, action: Action, ttl: Option<u64>, out: &mut Vec<Output>) {
        let before = self.breaker.latch().state();
        if action == Action::Reset {
            self.breaker.reset();
            // The nodes are as they were; what they have seen until now counts no more.
            self.count_anew(Start::Zero);
        } else {
            self.breaker.force(action.force());
            let ttl = ttl.filter(|_| action != Action::Clear);
            let ms = |ttl: u64| i64::try_from(ttl.saturating_mul(1_000)).unwrap_or(i64::MAX);
            self.force_until = ttl.map(|ttl| self.ms.saturating_add(ms(ttl)));
        }
        self.transition(self.tally.now(), before, Why::Admin(action), (None, None), out);
    }

    fn expire(&mut self, out: &mut Vec<Output>) {
        if self.force_until.is_some_and(|until| until <= self.ms) {
            self.force_until = None;
            self.breaker.force(None);
            let state = self.breaker.latch().state();
            self.transition(self.tally.now(), state, Why::Expired, (None, None), out);
        }
    }

    fn restart(&mut self, out: &mut Vec<Output>) {
        let before = self.breaker.latch().state();
        self.breaker.reset();
        self.breaker.force(None);
        self.force_until = None;
        self.nodes.clear();
        self.was_fit = false;
        self.count_anew(self.start);
        self.trust_if(self.trusts);
        self.transition(self.tally.now(), before, Why::Restart, (None, None), out);
    }

    fn count_anew(&mut self, start: Start) {
        self.tally = Tally::new(self.clock.slot_at(self.ms), start);
        self.tally.set_gloas(self.gloas);
        self.nodes_changed();
    }

    fn told(&mut self, node: u8, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.node(node) {
            change(node);
        }
        self.nodes_changed();
    }

    /// The node of that number, which is made when it is first heard of; none beyond the last one.
    fn node(&mut self, index: u8) -> Option<&mut Node> {
        if index >= MAX_NODES {
            return None;
        }
        let index = usize::from(index);
        if self.nodes.len() <= index {
            self.nodes.resize_with(index + 1, Node::default);
        }
        self.nodes.get_mut(index)
    }

    /// The node whose head, finality and reorgs count: the first one that is fit, else the first one that is up.
    fn speaker(&self) -> Option<usize> {
        let first = |wanted: fn(&Node) -> bool| self.nodes.iter().position(wanted);
        first(Node::is_fit).or_else(|| first(|node| node.up))
    }

    fn nodes_changed(&mut self) {
        self.was_fit |= self.nodes.iter().any(Node::is_fit);
        let head = self.speaker().and_then(|speaker| self.nodes[speaker].head);
        if let Some((slot, root)) = head {
            self.tally.set_head(slot, root);
        }
    }

    /// What keeps a decision from being one: the state of the first fit node, or why none is.
    fn gate(&self) -> Option<Gate> {
        if let Some(fit) = self.nodes.iter().find(|node| node.is_fit()) {
            return fit.optimistic.then_some(Gate::Optimistic);
        }
        let gate = self.nodes.iter().filter(|node| node.up).find_map(Node::gate);
        gate.or((!self.was_fit).then_some(Gate::NoNode))
    }
}
