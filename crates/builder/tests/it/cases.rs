//! The cases that must hold, by their numbers in the specification. Case 2 is in `history`, 17 in `clock`, 18 in `tally`,
//! 21 in `simulate`.

use crate::script::{play, play_with};
use fusebox_builder::OnUnknown;

/// Blocks to 100, then none.
const DIES: &str = "
    100 start
    101-105 ask forward cause=none
    106 ask forward run=5 state=closed next_change=107
    107 ask refuse run=6 state=open cause=missed-run value=6 limit=5 next_change=restart last_present=100";

#[test]
fn case_01_seed_forwards_with_five_missed_and_refuses_with_six() {
    let played = play("seed", None, DIES);
    assert_eq!(played.trips(), 1);
}

#[test]
fn case_01_no_block_closes_it_again() {
    let script = format!(
        "{DIES}\n107 block\n108 ask refuse run=0 cause=latched\n108-300 block\n301 ask refuse run=0"
    );
    assert_eq!(play("seed", None, &script).trips(), 1);
}

#[test]
fn case_01_a_restart_closes_it() {
    let script = format!("{DIES}\n107 restart\n108 ask forward state=closed");
    // Nothing else does: the restart is the transition.
    assert_eq!(play("seed", None, &script).transitions.len(), 2);
}

#[test]
fn case_03_orphans_fill_slots_in_the_tree_and_not_in_the_canonical_view() {
    let orphans = "100 start\n101-106 orphan\n";
    for (view, answer) in [("tree", "forward run=0"), ("canonical", "refuse run=6")] {
        let policy = format!("consecutive(max=5,view={view})");
        play(&policy, None, &format!("{orphans}107 ask {answer}"));
    }
}

#[test]
fn case_04_two_orphans_in_a_slot_fill_it_in_the_tree_only() {
    for (view, answer) in [("tree", "forward"), ("canonical", "refuse value=1")] {
        let policy = format!("window(slots=8,max=0,view={view})");
        let script =
            format!("30 start\n31 block\n32 orphan\n32 orphan\n33 block\n34 ask {answer} run=0");
        play(&policy, None, &script);
    }
}

#[test]
fn case_05_two_blocks_fill_one_slot() {
    let script = "
        100 start
        101 block
        101 orphan
        107 ask forward run=5
        108 ask refuse run=6";
    play("seed", None, script);
}

#[test]
fn case_06_each_client_opens_at_its_own_slot() {
    let prysm = "100 start\n102 ask forward run=1\n103 ask refuse run=2 value=2 limit=3";
    let teku = "100 start\n104 ask forward run=3\n105 ask refuse run=4 cause=missed-run";
    // Nimbus sees a run only when a block has ended it.
    let nimbus = "
        100 start
        110 ask forward run=9 next_change=111
        110 block
        111 ask refuse run=0 cause=missed-window value=9 limit=5";
    for (policy, script) in [("prysm", prysm), ("teku", teku), ("nimbus", nimbus)] {
        play(policy, None, script);
    }
}

#[test]
fn case_07_the_first_match_gives_the_cause() {
    let lighthouse = "
        500 start
        500 finalized 9
        504 ask refuse cause=finality-lag value=6 limit=3
        507 ask refuse cause=missed-run value=6 limit=3";
    play("lighthouse", None, lighthouse);
    let grandine = "
        180 start
        181-189 block
        193-195 block
        198-200 block
        203 ask forward run=2 verdict=closed";
    play("grandine", None, grandine);
    play(
        "window(slots=32,max=6,view=canonical)",
        None,
        &grandine.replace("forward run=2 verdict=closed", "refuse value=7"),
    );
}

#[test]
fn case_08_a_new_network_is_no_outage() {
    let presets = ["seed", "lighthouse", "prysm", "teku", "lodestar", "nimbus", "grandine"];
    for policy in presets {
        let mut script = "0 start\n0 finalized 0\n".to_owned();
        for slot in 1..=100 {
            script.push_str(&format!("{slot} ask forward run=0 verdict=closed\n{slot} block\n"));
        }
        play(policy, None, &script);
    }
}

#[test]
fn case_09_a_restart_amid_an_outage_gives_builders_six_more_slots() {
    let script = "
        100 start
        110 restart
        111-116 ask forward
        117 ask refuse run=6 value=6";
    assert_eq!(play("seed", None, script).trips(), 2); // in 107 by itself, and again
}

#[test]
fn case_09_a_backfill_cures_that() {
    let script = "
        110 start backfill
        110 snapshot 50-100
        111 ask refuse run=10 value=10";
    play("seed", None, script);
}

const GAP: &str = "
    100 start
    101 stream down
    106 ask forward
    107 ask refuse state=closed verdict=unknown cause=no-node
    112 stream up";

#[test]
fn case_10_a_gap_in_the_stream_is_no_run_of_missed_slots() {
    let script = format!("{GAP}\n112 snapshot 101-111\n112 ask forward run=0 unknown_slots=0");
    assert_eq!(play("seed", None, &script).trips(), 0);
    play_with("seed", None, OnUnknown::Forward, &GAP.replace("107 ask refuse", "107 ask forward"));
}

#[test]
fn case_10_without_a_backfill_it_stays_unknown_until_a_block_comes() {
    let script = format!(
        "{GAP}
        112 ask refuse verdict=unknown cause=stream-gap
        112 block
        113 ask forward run=0
        118 ask forward
        119 ask refuse state=closed verdict=unknown"
    );
    assert_eq!(play("seed", None, &script).trips(), 0);
}

#[test]
fn case_10_headers_alone_prove_presence_only() {
    let script = format!(
        "{GAP}
        112 snapshot 105 headers
        112 ask refuse verdict=unknown run=0
        112-116 ask refuse verdict=unknown
        117 ask refuse verdict=unknown state=closed
        118 ask refuse state=open run=6"
    );
    // From 112 on it is watched: six slots later that is a trip.
    assert_eq!(play("seed", None, &script).trips(), 1);
}

#[test]
fn case_11_unknown_slots_are_taken_both_ways() {
    let script = "
        100 start
        104 stream down
        106 stream up
        106 snapshot 106 none
        106 ask forward verdict=closed
        107 ask refuse verdict=unknown state=closed unknown_slots=2
        111 ask refuse verdict=unknown
        112 ask refuse verdict=open value=6 state=open";
    play("seed", None, script);
}

#[test]
fn case_13_what_a_syncing_node_does_not_show_is_not_missed() {
    for (gate, during) in [("syncing", "refuse"), ("el-offline", "forward")] {
        let script = format!(
            "100 start
            101 sync {gate}
            102 ask {during} state=closed cause={gate}
            140 ask {during} state=closed cause={gate}
            140 sync head=140
            140 snapshot 101-139
            140 block
            141 ask forward cause=none run=0 unknown_slots=0"
        );
        // The poll comes after the snapshot within a slot: the snapshot that counts is the one of the next slot.
        let script =
            script.replace("140 snapshot 101-139\n            140 block", "141 snapshot 101-140");
        assert_eq!(play("seed", None, &script).trips(), 0, "{gate}");
    }
    let script = "100 start\n101 sync syncing\n102 ask forward cause=syncing";
    play_with("seed", None, OnUnknown::Forward, script);
}

#[test]
fn case_19_hysteresis_closes_after_four_present_slots_in_a_row() {
    let script = "
        100 start
        107 ask refuse state=open
        107 block
        108 ask refuse state=half-open cause=recovering next_change=111
        108-109 block
        110 ask refuse state=half-open
        111 ask refuse state=open cause=latched
        111 block
        112 ask refuse state=half-open next_change=115
        112-113 block
        114 ask refuse state=half-open
        114 block
        115 ask forward state=closed cause=none";
    let played = play("seed", Some("hysteresis(4)"), script);
    assert_eq!(played.trips(), 1);
    assert_eq!(played.transitions.len(), 5);
}
