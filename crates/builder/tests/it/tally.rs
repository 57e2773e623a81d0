//! Case 18, and that evidence built slot by slot is what the ring holds.

use crate::script::{policy, root};
use fusebox_builder::{
    Block, Machine, Observation, Output, Payload, Recovery, Seen, SlotsPerEpoch, Spec, Start,
    State, Status, Tally, Validity, View,
};
use proptest::{collection::vec, prelude::*};
use std::collections::{BTreeMap, BTreeSet};

const ANCHOR: u64 = 100;

#[derive(Clone, Debug)]
enum Step {
    /// A block this many slots back, of that index, building on a slot further back.
    Block {
        back: u64,
        index: u64,
        parent_back: u64,
        linked: bool,
    },
    Head {
        back: u64,
        index: u64,
    },
    End {
        seen: bool,
    },
    Unsee {
        back: u64,
    },
    See {
        back: u64,
    },
    Invalid {
        back: u64,
        index: u64,
    },
    /// Many slots pass.
    Skip {
        slots: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..5u64, 0..3u64, 1..4u64, any::<bool>()).prop_map(|(back, index, parent_back, linked)| {
            Step::Block { back, index, parent_back, linked }
        }),
        3 => (0..3u64, 0..3u64).prop_map(|(back, index)| Step::Head { back, index }),
        8 => any::<bool>().prop_map(|seen| Step::End { seen }),
        1 => (0..9u64).prop_map(|back| Step::Unsee { back }),
        1 => (1..9u64).prop_map(|back| Step::See { back }),
        1 => (0..9u64, 0..3u64).prop_map(|(back, index)| Step::Invalid { back, index }),
        1 => (1..300u64).prop_map(|slots| Step::Skip { slots }),
    ]
}

fn block(root: fusebox_builder::Root, parent: Option<fusebox_builder::Root>) -> Block {
    Block { root, parent, validity: Validity::Valid, payload: Payload::Unknown }
}

/// The same, without a ring or a mask: sets, and counting.
#[derive(Default)]
struct Oracle {
    blocks: BTreeMap<u64, BTreeSet<u64>>,
    invalid: BTreeSet<(u64, u64)>,
    seen: BTreeSet<u64>,
}

impl Oracle {
    fn status(&self, slot: u64) -> Status {
        let valid = |index: &&u64| !self.invalid.contains(&(slot, **index));
        let blocks = self.blocks.get(&slot).map_or(0, |blocks| blocks.iter().filter(valid).count());
        match (slot <= ANCHOR || blocks > 0, self.seen.contains(&slot)) {
            (true, _) => Status::Present,
            (_, true) => Status::Missed,
            _ => Status::Unknown,
        }
    }
}

proptest! {
    #[test]
    fn evidence_built_slot_by_slot_is_what_the_ring_holds(steps in vec(step(), 1..120)) {
        let mut tally = Tally::new(ANCHOR, Start::Zero);
        let mut oracle = Oracle::default();
        for step in steps {
            let now = tally.now();
            match step {
                Step::Block { back, index, parent_back, linked } => {
                    let slot = now.saturating_sub(back);
                    let parent = root(slot.saturating_sub(parent_back), 0);
                    tally.add(slot, block(root(slot, index), linked.then_some(parent)));
                    if slot >= tally.floor() {
                        oracle.blocks.entry(slot).or_default().insert(index);
                    }
                }
                Step::Head { back, index } => {
                    let slot = now.saturating_sub(back);
                    tally.add(slot, block(root(slot, index), None));
                    tally.set_head(slot, root(slot, index));
                    if slot >= tally.floor() {
                        oracle.blocks.entry(slot).or_default().insert(index);
                    }
                }
                Step::End { seen } => {
                    tally.end_slot(u8::from(seen));
                    if seen && now > ANCHOR {
                        oracle.seen.insert(now);
                    }
                }
                Step::Unsee { back } => {
                    tally.unsee(now.saturating_sub(back), 0);
                    oracle.seen.retain(|slot| *slot < now.saturating_sub(back));
                }
                Step::See { back } => {
                    let slot = now.saturating_sub(back);
                    tally.see(slot, 0);
                    if slot >= tally.floor() {
                        oracle.seen.insert(slot);
                    }
                }
                Step::Invalid { back, index } => {
                    let slot = now.saturating_sub(back);
                    let block = Block { validity: Validity::Invalid, ..block(root(slot, index), None) };
                    tally.add(slot, block);
                    if slot >= tally.floor() {
                        oracle.blocks.entry(slot).or_default().insert(index);
                        oracle.invalid.insert((slot, index));
                    }
                }
                Step::Skip { slots } => {
                    for _ in 0..slots {
                        tally.end_slot(1);
                    }
                    oracle.seen.extend(now.max(ANCHOR + 1)..now + slots);
                }
            }
            let now = tally.now();
            let rebuilt = tally.rebuild(now);
            prop_assert_eq!(*tally.evidence(), rebuilt);

            let run = (1..now).rev().take_while(|slot| oracle.status(*slot) == Status::Missed);
            prop_assert_eq!(rebuilt.run(View::Tree), run.count() as u64);
            let last = (0..now).rev().find(|slot| oracle.status(*slot) == Status::Present);
            prop_assert_eq!(rebuilt.last_present(View::Tree), last.unwrap_or(0));
            let recent = now.saturating_sub(64)..now;
            let unknown = recent.filter(|slot| oracle.status(*slot) == Status::Unknown).count();
            prop_assert_eq!(rebuilt.unknown_slots(View::Tree) as usize, unknown);
            for slot in tally.floor()..now {
                let facts = tally.status(slot).unwrap();
                prop_assert_eq!(facts.tree, oracle.status(slot));
                // What is canonical is in the tree.
                prop_assert!(facts.canonical != Status::Present || facts.tree == Status::Present);
                prop_assert!(facts.tree != Status::Missed || facts.canonical == Status::Missed);
            }
        }
    }

    /// Blocks of a healthy chain with gaps of up to three, told in any order and some twice, or not at all and backfilled:
    /// nothing of that trips what the plain order does not trip.
    #[test]
    fn case_18_no_order_of_events_before_the_decision_adds_a_trip(
        filled in vec(any::<bool>(), 24),
        delays in vec(0..4u64, 24),
        twice in vec(any::<bool>(), 24),
        lost in vec(any::<bool>(), 24),
    ) {
        let spec = Spec {
            slot_ms: 12_000.try_into().unwrap(),
            slots_per_epoch: SlotsPerEpoch::MAINNET,
            start: Start::Zero,
            on_unknown: fusebox_builder::OnUnknown::Local,
            trusts: true,
            gloas_epoch: None,
        };
        let slot = |i: usize| ANCHOR + 1 + i as u64;
        let start = |slot: u64| slot as i64 * 12_000;
        let end = ANCHOR + 25;
        let told: Vec<_> = (0..24).filter(|i| filled[*i]).collect();
        let seen = |i: usize| Seen::new(slot(i), root(slot(i), 0), None);
        let fresh = || {
            Machine::new(&spec, policy("seed"), Recovery::UntilRestart, start(ANCHOR))
        };

        let (mut machine, mut plain) = (fresh(), Vec::new());
        for &i in &told {
            let block = Observation::Block { node: 0, block: seen(i) };
            machine.observe(start(slot(i)) + 1_000, &block, &mut plain);
        }
        machine.observe(start(end), &Observation::Header { slot: end }, &mut plain);
        let evidence = *machine.tally().clone().evidence();

        // The same blocks late, some twice and some not at all, on a stream that ends; then a backfill, in another order.
        let (mut machine, mut out) = (fresh(), Vec::new());
        machine.observe(start(ANCHOR + 1), &Observation::Stream { node: 0, up: false }, &mut out);
        for &i in told.iter().filter(|i| !lost[**i]) {
            let at = start(slot(i) + delays[i]) + 1_000;
            for _ in 0..=usize::from(twice[i]) {
                let block = Observation::Block { node: 0, block: seen(i) };
                machine.observe(at.min(start(end) - 1), &block, &mut out);
            }
        }
        machine.observe(start(end), &Observation::Stream { node: 0, up: true }, &mut out);
        prop_assert_eq!(trips(&out), 0, "a gap tripped it");
        let blocks = told.iter().rev().map(|i| seen(*i)).collect();
        let snapshot =
            Observation::Snapshot { node: 0, from: ANCHOR + 1, blocks, whole_tree: true };
        machine.observe(start(end), &snapshot, &mut out);
        machine.observe(start(end), &Observation::Header { slot: end }, &mut out);
        prop_assert_eq!(*machine.tally().clone().evidence(), evidence);
        prop_assert!(trips(&out) <= trips(&plain), "the order tripped it");
    }
}

fn trips(out: &[Output]) -> usize {
    let opened =
        |output: &&Output| matches!(output, Output::Transition(change) if change.to == State::Open);
    out.iter().filter(opened).count()
}

#[test]
fn a_run_longer_than_the_ring_is_counted_right() {
    let mut tally = Tally::new(ANCHOR, Start::Zero);
    for _ in 0..1_000 {
        tally.end_slot(1);
    }
    assert_eq!(tally.evidence().run(View::Tree), 999);
    assert_eq!(tally.evidence().last_present(View::Canonical), ANCHOR);
}

#[test]
fn a_ninth_block_of_a_slot_is_dropped() {
    let mut tally = Tally::new(ANCHOR, Start::Zero);
    tally.end_slot(1);
    for index in 0..8 {
        let added = tally.add(101, block(root(101, index), None));
        assert_eq!(added, fusebox_builder::Added::New);
    }
    assert_eq!(tally.add(101, block(root(101, 8), None)), fusebox_builder::Added::Full);
    assert_eq!(tally.status(101).unwrap().blocks, 8);
}
