//! What the machine makes of nodes, admins and odd times.

use crate::script::{SLOT_MS, play, root};
use fusebox_builder::{
    Action, Breaker, Cause, Evidence, Observation, OnUnknown, Policy, Recovery, Seen, State,
    Verdict,
};

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
    let script = "100 start\n100 restart\n101 ask forward";
    let mut played = play("seed", None, script);
    played.tell(102, 0, &Observation::Restart);
    let decision = played.ask(102);
    assert_eq!((decision.forward, decision.cause.name()), (false, "no-node"));
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
