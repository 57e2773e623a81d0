//! Cases as text: what happens in which slot, and what the answer must be.
//!
//! A line is `SLOT WHAT`, or `FROM-TO WHAT` for each of them. Within a slot things happen at the times below, so a header is
//! asked for before the slot's own block comes, as on a real network. Mainnet: 12 s, 32 slots.
//!
//! ```text
//! 100 start                         all slots to 100 are filled (`start backfill`: unknown)
//! 101 block                         the next block of the canonical chain, and the head
//! 101 orphan                        a block on the canonical chain that is not the head
//! 102 ask forward run=1             the answer, and whatever of the decision is named
//! ```

use fusebox_builder::{
    Action, Compiled, Decision, Machine, Observation, OnUnknown, Output, PolicySpec, Recovery,
    Root, Seen, SlotsPerEpoch, Spec, Start, Transition,
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

pub(crate) const SLOT_MS: i64 = 12_000;

pub(crate) fn policy(text: &str) -> Compiled {
    let spec: PolicySpec = text.parse().unwrap();
    spec.compile(SlotsPerEpoch::MAINNET, &mut ChaCha8Rng::seed_from_u64(0))
}

/// The root of the `index`th block of a slot.
pub(crate) fn root(slot: u64, index: u64) -> Root {
    format!("0x{slot:x}{index:04x}").parse().unwrap()
}

pub(crate) struct Play {
    pub(crate) machine: Machine,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) late: Vec<u64>,
    tip: Root,
    tip_slot: u64,
    orphans: u64,
}

/// Plays a script; what it expects is checked.
pub(crate) fn play(policy_text: &str, recovery: Option<&str>, script: &str) -> Play {
    play_with(policy_text, recovery, OnUnknown::Local, script)
}

pub(crate) fn play_with(
    policy_text: &str,
    recovery: Option<&str>,
    on_unknown: OnUnknown,
    script: &str,
) -> Play {
    let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let first: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let anchor: u64 = first[0].parse().unwrap();
    assert_eq!(first[1], "start");
    let start = if first.get(2) == Some(&"backfill") { Start::Backfill } else { Start::Zero };
    let spec = Spec {
        slot_ms: 12_000.try_into().unwrap(),
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        start,
        on_unknown,
        trusts: true,
        gloas_epoch: first.get(2).and_then(|word| word.strip_prefix("gloas=")?.parse().ok()),
    };
    let policy = policy(policy_text);
    let recovery: Recovery =
        recovery.map_or(policy.default_recovery(), |recovery| recovery.parse().unwrap());
    let machine = Machine::new(&spec, policy, recovery, anchor as i64 * SLOT_MS);
    let mut play = Play {
        machine,
        transitions: Vec::new(),
        late: Vec::new(),
        tip: root(anchor, 0),
        tip_slot: anchor,
        orphans: 0,
    };
    if start == Start::Zero {
        play.trust(anchor);
    }
    for line in lines {
        let (slots, what) = line.split_once(' ').unwrap();
        let (from, to) = slots.split_once('-').unwrap_or((slots, slots));
        for slot in from.parse::<u64>().unwrap()..=to.parse().unwrap() {
            play.line(slot, what.trim(), line);
        }
    }
    play
}

impl Play {
    fn line(&mut self, slot: u64, what: &str, line: &str) {
        let words: Vec<_> = what.split_whitespace().collect();
        let node = words
            .iter()
            .find_map(|word| word.strip_prefix("node="))
            .map_or(0, |n| n.parse().unwrap());
        match words[0] {
            "block" => {
                let block = Seen::new(slot, root(slot, 0), Some(self.tip));
                (self.tip, self.tip_slot) = (block.root, slot);
                let late = words.iter().find_map(|word| word.strip_prefix("in="));
                let at = late.map_or(slot, |slot| slot.parse().unwrap());
                self.tell(at, 1_000, &Observation::Block { node, block });
                self.tell(at, 1_000, &Observation::Head { node, slot, root: block.root });
            }
            "orphan" => {
                self.orphans += 1;
                let block = Seen::new(slot, root(slot, self.orphans), Some(self.tip));
                self.tell(slot, 1_000, &Observation::Block { node, block });
            }
            "invalid" => {
                let mut block = Seen::new(slot, root(slot, 0), None);
                block.invalid = true;
                self.tell(
                    slot,
                    1_500,
                    &Observation::Snapshot {
                        node,
                        from: slot,
                        blocks: vec![block],
                        whole_tree: false,
                    },
                );
            }
            "stream" => self.tell(slot, 100, &Observation::Stream { node, up: words[1] == "up" }),
            // `snapshot 101-111`: these have blocks, of the canonical chain; `snapshot 101 none`: no blocks.
            "snapshot" => {
                let (from, to) = words[1].split_once('-').unwrap_or((words[1], words[1]));
                let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
                let mut blocks = Vec::new();
                if words.get(2) != Some(&"none") {
                    for slot in from..=to {
                        let block = Seen::new(slot, root(slot, 0), Some(self.tip));
                        (self.tip, self.tip_slot) = (block.root, slot);
                        blocks.push(block);
                    }
                }
                let whole_tree = !words.contains(&"headers");
                self.tell(slot, 200, &Observation::Snapshot { node, from, blocks, whole_tree });
            }
            "sync" => {
                let head = words.iter().find_map(|word| word.strip_prefix("head="));
                self.tell(
                    slot,
                    250,
                    &Observation::Sync {
                        node,
                        head_slot: head.map_or(slot - 1, |head| head.parse().unwrap()),
                        is_syncing: words.contains(&"syncing"),
                        is_optimistic: words.contains(&"optimistic"),
                        el_offline: words.contains(&"el-offline"),
                    },
                );
            }
            "finalized" => {
                let epoch = words[1].parse().unwrap();
                self.tell(slot, 300, &Observation::Finalized { node, epoch });
            }
            "reorg" => {
                let depth = words[1].parse().unwrap();
                self.tell(slot, 1_100, &Observation::Reorg { node, slot, depth });
            }
            "restart" => {
                self.tell(slot, 150, &Observation::Restart);
                self.trust(slot);
            }
            "admin" => {
                let action = match words[1] {
                    "reset" => Action::Reset,
                    "force-open" => Action::ForceOpen,
                    "force-closed" => Action::ForceClosed,
                    "clear" => Action::Clear,
                    other => panic!("{other}"),
                };
                let ttl = words.get(2).map(|word| word.strip_prefix("ttl=").unwrap());
                let ttl = ttl.map(|ttl| ttl.parse().unwrap());
                self.tell(slot, 400, &Observation::Admin { action, ttl });
            }
            "ask" => {
                let decision = self.ask(slot);
                for word in &words[1..] {
                    check(&decision, word, line);
                }
            }
            other => panic!("{other}"),
        }
    }

    /// Node 0 is up, and has the last canonical block as its head.
    fn trust(&mut self, slot: u64) {
        self.tell(slot, 150, &Observation::Head { node: 0, slot: self.tip_slot, root: self.tip });
    }

    pub(crate) fn ask(&mut self, slot: u64) -> Decision {
        let out = self.out(slot as i64 * SLOT_MS + 500, &Observation::Header { slot });
        let answer = out.iter().find_map(|output| match output {
            Output::Answer(decision) => Some(*decision),
            _ => None,
        });
        answer.unwrap()
    }

    pub(crate) fn tell(&mut self, slot: u64, after: i64, observation: &Observation) {
        self.out(slot as i64 * SLOT_MS + after, observation);
    }

    fn out(&mut self, ms: i64, observation: &Observation) -> Vec<Output> {
        let mut out = Vec::new();
        self.machine.observe(ms, observation, &mut out);
        for output in &out {
            match output {
                Output::Transition(transition) => self.transitions.push(*transition),
                Output::Late { slot, .. } => self.late.push(*slot),
                _ => {}
            }
        }
        out
    }

    /// How often it opened.
    pub(crate) fn trips(&self) -> usize {
        use fusebox_builder::State::{Closed, Open};
        self.transitions.iter().filter(|change| (change.from, change.to) == (Closed, Open)).count()
    }
}

fn check(decision: &Decision, expected: &str, line: &str) {
    let json = serde_json::to_value(decision).unwrap();
    let (key, value) = match expected {
        "forward" => ("forward", "true"),
        "refuse" => ("forward", "false"),
        pair => pair.split_once('=').unwrap(),
    };
    let actual = match &json[key] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    assert_eq!(actual, value, "{key} of `{line}`: {decision:?}");
}
