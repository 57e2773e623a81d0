//! What the machine makes of nodes, admins and odd times.

use crate::script::{SLOT_MS, play, policy, root};
use fusebox_builder::{
    Action, Breaker, Cause, Evidence, Machine, Observation, OnUnknown, Output, Policy, Recovery,
    Seen, SlotsPerEpoch, Spec, Start, State, Verdict,
};
use proptest::prelude::*;

#[test]
fn one_node_that_watches_is_enough_and_its_silence_counts_alone() {
    let script = "
        100 start
        100 stream up node=1
        100 snapshot 100 none node=1
        101 stream down
        106 ask forward unknown_slots=0
        107 ask refuse state=open run=6";
    play("seed", None, script);
}

#[test]
fn a_block_that_only_one_node_has_fills_the_slot() {
    let script = "
        100 start
        100 stream up node=1
        100 snapshot 100 none node=1
        101-106 orphan node=1
        107 ask forward run=0";
    play("seed", None, script);
}

#[test]
fn a_head_that_no_stream_told_of_makes_its_slots_unknown() {
    let script = "
        100 start
        101 block
        102 sync
        104 sync head=103
        107 ask forward
        108 ask refuse state=closed verdict=unknown
        109 snapshot 102-108
        109 ask forward unknown_slots=0 run=0";
    assert_eq!(play("seed", None, script).trips(), 0);
}

#[test]
fn a_late_block_fills_its_slot_while_closed_and_nothing_after_a_trip() {
    let closed = "100 start\n101 block in=106\n107 ask forward run=5\n108 ask refuse run=6";
    assert!(play("seed", None, closed).late.is_empty());
    let open = "
        100 start
        107 ask refuse run=6
        106 block in=107
        108 ask refuse run=7 state=open";
    let played = play("seed", Some("none"), open);
    assert_eq!((played.late.as_slice(), played.machine.counts().late_blocks), (&[106][..], 1));
}

#[test]
fn a_block_that_a_node_calls_invalid_fills_nothing() {
    let script = "
        100 start
        103 block
        103 invalid
        106 ask forward run=5
        107 ask refuse run=6";
    play("seed", None, script);
}

#[test]
fn a_node_whose_blocks_come_early_is_not_believed() {
    let mut played = play("seed", None, "100 start\n101 block");
    let block = Seen::new(102, root(102, 0), None);
    played.tell(102, -501, &Observation::Block { node: 0, block });
    let decision = played.ask(102);
    assert_eq!((decision.forward, decision.cause.name()), (false, "clock-skew"));
}

#[test]
fn an_optimistic_node_is_a_gate_and_its_blocks_count() {
    let script = "
        100 start
        101 sync head=100 optimistic
        101-110 block
        111 ask refuse state=closed cause=optimistic run=0
        112 sync head=110
        112 ask forward";
    play("seed", None, script);
    play(
        "lighthouse",
        None,
        "
        100 start
        100 finalized 2
        101 sync head=100 optimistic
        101 ask refuse state=open cause=optimistic",
    );
}

#[test]
fn overrides_change_answers_and_not_what_is_recorded() {
    let script = "
        100 start
        101 admin force-open
        101 ask refuse state=closed cause=forced-open
        102 admin force-closed ttl=72
        106 ask forward cause=forced-closed
        107 ask forward cause=forced-closed state=open run=6
        108 ask refuse cause=missed-run state=open
        109 admin reset
        110 ask forward state=closed run=0
        115 ask forward run=5
        116 ask refuse run=6";
    let played = play("seed", None, script);
    let causes: Vec<_> = played
        .transitions
        .iter()
        .map(|change| serde_json::to_value(change.cause).unwrap().as_str().unwrap().to_owned())
        .collect();
    let expected = ["force-open", "force-closed", "missed-run", "expired", "reset", "missed-run"];
    assert_eq!(causes, expected);
    assert!(played.transitions.iter().enumerate().all(|(i, change)| change.seq == i as u64 + 1));
}

#[test]
fn before_any_node_was_heard_nothing_is_forwarded() {
    let spec = Spec {
        slot_ms: 12_000.try_into().unwrap(),
        slots_per_epoch: SlotsPerEpoch::MAINNET,
        start: Start::Zero,
        on_unknown: OnUnknown::Local,
        trusts: false,
        gloas_epoch: None,
    };
    let seed = policy("seed");
    let mut machine = Machine::new(&spec, seed, Recovery::UntilRestart, 100 * 12_000);
    for slot in [102, 103] {
        let mut out = Vec::new();
        let decision = machine.decide(slot, &mut out);
        assert_eq!((decision.forward, decision.cause.name()), (false, "no-node"));
        machine.observe(102 * 12_000, &Observation::Restart, &mut out);
    }
}

#[test]
fn a_request_for_a_far_slot_is_decided_with_the_current_one() {
    let mut played = play("seed", None, "100 start\n101 block");
    for slot in [0, 50, 1_000, u64::MAX] {
        let mut out = Vec::new();
        played.machine.observe(102 * SLOT_MS + 500, &Observation::Header { slot }, &mut out);
    }
    assert_eq!(played.machine.counts().requests_out_of_reach, 4);
    // Its neighbours are decided as themselves; what is not over is not missed.
    assert_eq!(played.ask(102).slot, 102);
    let mut out = Vec::new();
    played.machine.observe(102 * SLOT_MS + 600, &Observation::Header { slot: 103 }, &mut out);
    assert!(format!("{out:?}").contains("slot: 103"), "{out:?}");
}

#[test]
fn odd_times_and_slots_neither_panic_nor_hang_nor_trip() {
    let mut played = play("seed", None, "100 start\n101 block");
    let mut out = Vec::new();
    for ms in [i64::MIN, -1, 0, i64::MAX / 2, i64::MAX, 5] {
        for slot in [0, 1, 100, 1 << 40, u64::MAX] {
            let block = Seen::new(slot, root(7, 0), Some(root(8, 0)));
            for observation in [
                Observation::Block { node: 0, block },
                Observation::Head { node: 200, slot, root: block.root },
                Observation::Reorg { node: 0, slot, depth: u64::MAX },
                Observation::Finalized { node: 0, epoch: u64::MAX },
                Observation::Header { slot },
                Observation::Snapshot {
                    node: 0,
                    from: 0,
                    blocks: vec![block; 3],
                    whole_tree: true,
                },
                Observation::Admin { action: Action::ForceOpen, ttl: Some(u64::MAX) },
                Observation::Sync {
                    node: 1,
                    head_slot: slot,
                    is_syncing: true,
                    is_optimistic: true,
                    el_offline: true,
                },
            ] {
                played.machine.observe(ms, &observation, &mut out);
            }
        }
    }
    assert_eq!(played.trips(), 0);
}

#[test]
fn case_20_from_gloas_on_the_payload_is_what_can_be_missed() {
    let mut played = play("window(slots=8,max=0)", None, "100 start gloas=0\n100 ask forward");
    let block = |external| Seen { external, ..Seen::new(101, root(101, 0), Some(root(100, 0))) };
    played.tell(101, 1_000, &Observation::Block { node: 0, block: block(Some(true)) });
    played.tell(101, 1_000, &Observation::Head { node: 0, slot: 101, root: root(101, 0) });
    // A full block off the canonical chain does not hide the empty one.
    let full = Seen { external: Some(true), ..Seen::new(101, root(101, 1), Some(root(100, 0))) };
    played.tell(101, 1_100, &Observation::Block { node: 0, block: full });
    played.tell(101, 1_200, &Observation::Payload { node: 0, slot: 101, root: root(101, 1) });
    let decision = played.ask(102);
    assert_eq!((decision.forward, decision.value), (false, Some(1)));
    assert_eq!(decision.cause.name(), "payload-empty");
    // Late, but there.
    played.tell(102, 1_000, &Observation::Payload { node: 0, slot: 101, root: root(101, 0) });
    assert!(played.ask(103).forward);
}

#[test]
fn a_policy_that_panics_never_trips() {
    struct Broken;
    impl Policy for Broken {
        fn judge(&self, _: &Evidence) -> Verdict {
            panic!("a defect")
        }
    }
    for (on_unknown, forward) in [(OnUnknown::Local, false), (OnUnknown::Forward, true)] {
        let mut breaker = Breaker::with(Broken, Recovery::UntilRestart, on_unknown);
        let decision = breaker.decide(&Evidence::filled(100));
        assert_eq!((decision.forward, decision.cause), (forward, Cause::Internal));
        assert_eq!((decision.state, decision.verdict), (State::Closed, Verdict::Unknown));
    }
}

#[test]
fn a_block_whose_payload_is_not_verified_is_a_gate() {
    let mut played = play("seed", None, "100 start\n101 block");
    let block = Seen { optimistic: true, ..Seen::new(102, root(102, 0), None) };
    played.tell(102, 1_000, &Observation::Block { node: 0, block });
    assert_eq!(played.ask(103).cause, Cause::Optimistic);
}

/// Anything that nodes, clients and admins may say, near the current slot and far from it.
fn observations() -> impl Strategy<Value = (i64, Observation)> {
    let slot = prop_oneof![8 => 95..140u64, 1 => 0..1_000u64, 1 => Just(u64::MAX)];
    let seen = (slot.clone(), 0..3u64, any::<bool>(), any::<bool>()).prop_map(
        |(slot, index, optimistic, linked)| Seen {
            optimistic,
            ..Seen::new(slot, root(slot, index), linked.then(|| root(slot.wrapping_sub(1), 0)))
        },
    );
    let node = prop_oneof![9 => 0..3u8, 1 => any::<u8>()];
    let what = prop_oneof![
        6 => (node.clone(), seen.clone()).prop_map(|(node, block)| Observation::Block { node, block }),
        3 => (node.clone(), slot.clone(), 0..3u64).prop_map(|(node, slot, index)| {
            Observation::Head { node, slot, root: root(slot, index) }
        }),
        2 => (node.clone(), any::<bool>()).prop_map(|(node, up)| Observation::Stream { node, up }),
        2 => (node.clone(), slot.clone(), proptest::collection::vec(seen, 0..6), any::<bool>())
            .prop_map(|(node, from, blocks, whole_tree)| {
                Observation::Snapshot { node, from, blocks, whole_tree }
            }),
        2 => (node.clone(), slot.clone(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(node, head_slot, is_syncing, is_optimistic, el_offline)| {
                Observation::Sync { node, head_slot, is_syncing, is_optimistic, el_offline }
            }
        ),
        1 => (node.clone(), slot.clone(), any::<u64>()).prop_map(|(node, slot, depth)| {
            Observation::Reorg { node, slot, depth }
        }),
        1 => (node, any::<u64>()).prop_map(|(node, epoch)| Observation::Finalized { node, epoch }),
        3 => slot.prop_map(|slot| Observation::Header { slot }),
        1 => (0..4u8, proptest::option::of(0..99u64)).prop_map(|(action, ttl)| {
            let actions =
                [Action::Reset, Action::ForceOpen, Action::ForceClosed, Action::Clear];
            Observation::Admin { action: actions[usize::from(action)], ttl }
        }),
        1 => Just(Observation::Restart),
    ];
    (-2_000..30_000i64, what)
}

proptest! {
    #[test]
    fn whatever_is_said_evidence_is_what_the_ring_holds_and_answers_follow_states(
        said in proptest::collection::vec(observations(), 1..80),
        policy in proptest::sample::select(vec!["seed", "prysm", "nimbus", "lighthouse", "lodestar"]),
        recovery in proptest::sample::select(vec!["none", "until-restart", "hysteresis(3)"]),
    ) {
        let mut played = play(policy, Some(recovery), "100 start");
        let mut ms = 100 * SLOT_MS;
        let (mut out, mut seq, mut state) = (Vec::new(), 0, State::Closed);
        for (after, observation) in said {
            ms += after;
            played.machine.observe(ms, &observation, &mut out);
            for output in out.drain(..) {
                match output {
                    Output::Transition(change) => {
                        prop_assert_eq!((change.seq, change.from), (seq + 1, state));
                        (seq, state) = (change.seq, change.to);
                    }
                    Output::Answer(decision) | Output::Tick(decision) => {
                        prop_assert_eq!(decision.state, state, "a change that nobody was told of");
                        let open = decision.state != State::Closed;
                        let forced = decision.cause == Cause::ForcedClosed;
                        prop_assert!(!open || !decision.forward || forced);
                    }
                    _ => {}
                }
            }
            let mut tally = played.machine.tally().clone();
            let rebuilt = tally.rebuild(tally.now());
            prop_assert_eq!(*tally.evidence(), rebuilt);
        }
    }
}
