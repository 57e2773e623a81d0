//! The text of policies, and what each of them compares.

use crate::script::{play, policy};
use fusebox_builder::{
    Evidence, Policy as _, PolicyProblem, PolicySpec, Recovery, SlotFacts, Verdict,
};

#[test]
fn what_is_no_policy_is_refused_with_its_place_and_what_could_stand_there() {
    let wrong = [
        ("", 1, "expected the name of a policy"),
        ("sed", 1, "there is no policy `sed`"),
        ("seed(", 6, "expected a key"),
        ("seed(max=5", 11, "expected `,` or `)`"),
        ("seed(max=5))", 12, "expected the end"),
        ("seed seed", 6, "expected the end"),
        ("seed(max)", 9, "expected `=`"),
        ("seed(min=5)", 6, "seed has no `min`; it takes max"),
        ("seed(view=tree)", 6, "seed has no `view`"),
        ("nimbus(max=5)", 8, "it takes no keys"),
        ("seed(max=5,max=6)", 12, "`max` stands here a second time"),
        ("consecutive", 1, "consecutive needs `max`"),
        ("consecutive(max=3,view=orphan)", 24, "`orphan` is no view, which is tree or canonical"),
        ("seed(max=-1)", 10, "`-1` is no max"),
        ("seed(max=+1)", 10, "`+1` is no max"),
        ("seed(max=)", 10, "`` is no max"),
        ("seed(max=18446744073709551616)", 10, "is no max"),
        ("window(slots=0,max=1)", 14, "a number from 1 to 64"),
        ("window(slots=65,max=1)", 14, "a number from 1 to 64"),
        ("reorg-depth(max=1,slots=65)", 25, "a number from 1 to 64"),
        ("teku(window=5)", 1, "faults=5 can never be exceeded"),
        ("teku(faults=32)", 13, "faults=32 can never be exceeded: it must be below window=32"),
        ("lodestar(window=48,faults=48)", 27, "faults=48"),
        ("lodestar(window=65)", 17, "or random"),
        ("any()", 5, "expected the name of a policy"),
        ("any", 4, "expected `(`"),
        ("any(seed,)", 10, "expected the name of a policy"),
        ("any(any(any(any(any(seed)))))", 17, "nested deeper than 4"),
        ("Ä(seed)", 1, "there is no policy `Ä`"),
    ];
    for (text, at, problem) in wrong {
        let error = text.parse::<PolicySpec>().unwrap_err();
        assert_eq!(error.at, at, "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
    let seventeen = format!("any({})", ["seed"; 17].join(","));
    let error = seventeen.parse::<PolicySpec>().unwrap_err();
    assert_eq!(error.problem, PolicyProblem::TooManyLeaves);
}

#[test]
fn good_policies_are_read() {
    let right = [
        " seed ( max = 0 ) ",
        "any(seed,all(window(slots=64,max=9,view=canonical),finality(max=4)))",
        "any(any(any(any(seed))))",
        "lodestar(window=random)",
        "lodestar(window=48,faults=47)",
        "nimbus()",
        "teku(window=1,faults=0)",
    ];
    for text in right {
        let spec: PolicySpec = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.to_string(), text.trim());
    }
    assert_eq!(policy("seed(max=9)").default_recovery(), Recovery::UntilRestart);
    assert_eq!(policy("any(seed)").default_recovery(), Recovery::None);
    assert_eq!(policy("consecutive(max=5)").default_recovery(), Recovery::None);
}

/// The first slot at which it opens, if all slots to 1,000 are filled and none after.
fn opens_at(text: &str) -> u64 {
    let policy = policy(text);
    let mut evidence = Evidence::filled(1_001).with_finalized(Some(30));
    while !matches!(policy.judge(&evidence), Verdict::Open(_)) {
        evidence.push(SlotFacts::EMPTY);
        assert!(evidence.slot() < 1_200, "{text} never opens");
    }
    evidence.slot()
}

#[test]
fn each_policy_opens_at_its_own_length_of_an_outage() {
    let lengths = [
        ("seed", 1_007),
        ("seed(max=0)", 1_002),
        ("consecutive(max=100)", 1_102),
        ("window(slots=64,max=9)", 1_011),
        ("window(slots=1,max=0)", 1_002),
        ("finality(max=1)", 1_024),
        ("lighthouse", 1_005),
        ("prysm", 1_003),
        ("prysm(consecutive=9,epoch=5)", 1_006),
        ("teku", 1_005),
        ("teku(consecutive=99)", 1_007),
        ("lodestar", 1_014),
        ("lodestar(window=48,faults=47)", 1_014), // capped to a quarter
        ("lodestar(window=8)", 1_004),
        ("grandine", 1_005),
        ("grandine(skips=99)", 1_010),
        ("all(seed,grandine(skips=99))", 1_010),
        ("any(seed,grandine(skips=99))", 1_007),
    ];
    for (text, slot) in lengths {
        assert_eq!(opens_at(text), slot, "{text}");
    }
}

#[test]
fn teku_does_not_see_the_fault_in_the_first_slot_of_its_window() {
    let policy = policy("teku(window=8,faults=3)");
    let mut evidence = Evidence::filled(100);
    for missed in [true, false, true, false, true, false, true, false] {
        evidence.push(if missed { SlotFacts::EMPTY } else { SlotFacts::FILLED });
    }
    // Four missed in the last eight slots, the oldest of them is not counted: 5 roots are enough.
    assert_eq!(policy.judge(&evidence), Verdict::Closed);
    evidence.push(SlotFacts::EMPTY);
    // 101, filled, is first now: four faults.
    assert!(matches!(policy.judge(&evidence), Verdict::Open(_)));
}

#[test]
fn lodestar_counts_every_block_and_so_orphans_hide_missed_slots() {
    let policy = policy("lodestar(window=8,faults=2)");
    let mut evidence = Evidence::filled(100);
    for _ in 0..3 {
        evidence.push(SlotFacts::EMPTY);
    }
    let two = SlotFacts { blocks: 2, ..SlotFacts::FILLED };
    assert!(matches!(policy.judge(&evidence), Verdict::Open(_)));
    evidence.push(two);
    assert_eq!(policy.judge(&evidence), Verdict::Closed);
}

#[test]
fn nimbus_opens_on_a_run_of_four_that_a_block_has_ended() {
    for (run, open) in [(3, false), (4, true)] {
        let mut evidence = Evidence::filled(100);
        for _ in 0..run {
            evidence.push(SlotFacts::EMPTY);
        }
        evidence.push(SlotFacts::FILLED);
        let verdict = policy("nimbus").judge(&evidence);
        assert_eq!(matches!(verdict, Verdict::Open(_)), open, "{run}");
    }
}

#[test]
fn reorgs_are_judged_by_depth_and_by_number() {
    let script = "
        100 start
        101-110 block
        105 reorg 2
        111 ask ANSWER
        111-140 block
        141 ask forward";
    let script = script.replace("105 reorg 2\n", "").replace("111 ask", "110 reorg 2\n111 ask");
    for (policy, answer) in [
        ("reorg-depth(max=1,slots=8)", "refuse cause=reorg-depth value=2"),
        ("reorg-depth(max=2,slots=8)", "forward"),
        ("reorg-count(max=0,slots=8)", "refuse cause=reorg-count value=1"),
        ("reorg-count(max=1,slots=8)", "forward"),
    ] {
        play(policy, None, &script.replace("ANSWER", answer));
    }
}

#[test]
fn finality_that_nobody_told_is_unknown() {
    play("finality(max=3)", None, "100 start\n101 ask refuse verdict=unknown state=closed");
}
