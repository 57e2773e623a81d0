//! `keeper builder replay` and `simulate`: what they print, and how they end.

use crate::support::{keeper_output, stderr, stdout};
use serde_json::Value;

const INCIDENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../builder/tests/data/incident.csv");

fn run(args: &[&str], code: i32) -> (String, String) {
    let output = keeper_output([&["builder"], args].concat());
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out}{err}");
    (out, err)
}

#[test]
fn replay_shows_that_five_missed_slots_trip_a_limit_of_four_only() {
    let (out, _) = run(
        &["replay", INCIDENT, "--policy", "seed", "--policy", "seed(max=4)", "--view", "tree"],
        0,
    );
    let rows: Vec<Vec<_>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |name: &str| rows.iter().find(|row| row.first() == Some(&name)).unwrap().clone();
    assert_eq!(row("seed")[3..6], ["0", "0", "0"], "{out}");
    assert_eq!(row("seed(max=4)")[3..7], ["1", "157", "1", "8728545"], "{out}");
}

#[test]
fn replay_prints_one_document_and_ends_with_7_on_a_trip_where_that_is_asked_for() {
    let args = ["replay", INCIDENT, "--policy", "seed(max=4)", "--json", "--decide", "8728545"];
    let (plain, _) = run(&args, 0);
    let (out, err) = run(&[&args[..], &["--fail-on-trip"]].concat(), 7);
    assert_eq!(plain, out);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["policies"][0]["first"], 8_728_545);
    assert_eq!(document["decisions"][0]["cause"], "missed-run");
    assert!(err.contains("2 trips"), "{err}");
    run(&["replay", INCIDENT, "--policy", "seed", "--fail-on-trip"], 0);
}

#[test]
fn a_log_is_answered_line_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.jsonl");
    let spec = r#"{"ms":1200000,"kind":"spec","slot_ms":12000,"slots_per_epoch":32}"#;
    let header = r#"{"ms":1284500,"kind":"header","slot":107}"#;
    std::fs::write(&path, format!("{spec}\n{header}\n")).unwrap();
    let (out, _) = run(&["replay", "--events", path.to_str().unwrap()], 0);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["transition"]["cause"], "missed-run");
    assert_eq!(lines[1]["forward"], false);

    std::fs::write(&path, format!("{spec}\n{header}\nnonsense\n")).unwrap();
    let (out, err) = run(&["replay", "--events", path.to_str().unwrap()], 3);
    assert_eq!(out, "", "a file that is no log prints nothing");
    assert!(err.contains("log.jsonl:3: not an event"), "{err}");
}

#[test]
fn bad_input_ends_with_the_code_of_its_kind() {
    let refusals: [(&[&str], i32, &str); 11] = [
        (&["simulate", "withhold"], 2, "--share"),
        (&["simulate", "withhold", "--share", "1.5"], 2, "--share 1.5: it must be from 0 to 1"),
        (&["simulate", "cascade", "--relays", "0.5", "--capacity", "1"], 2, "two relays"),
        (&["replay"], 2, "--events"),
        (&["replay", INCIDENT, "--blocks", INCIDENT], 2, "cannot be used with"),
        (&["replay", INCIDENT, "--policy", "seed(max=x)"], 2, "at character 10"),
        (&["replay", INCIDENT, "--policy", "window(slots=65,max=1)"], 2, "1 to 64"),
        (&["replay", INCIDENT, "--recovery", "hysteresis(0)"], 2, "until-restart"),
        (&["replay", INCIDENT, "--decide", "1"], 2, "slot 1 is not judged"),
        (&["replay", INCIDENT, "--to", "8728500"], 3, "incident.csv:14: slot 8728503 is outside"),
        (&["replay", "no/such.csv"], 3, "no/such.csv"),
    ];
    for (args, code, message) in refusals {
        let (out, err) = run(args, code);
        assert!(out.is_empty() && err.contains(message), "{args:?}: {out}{err}");
    }
}

#[test]
fn case_21_simulate_agrees_with_theory_and_repeats_itself() {
    let args = ["simulate", "withhold", "--share", "0.8", "--miss", "0", "--policy", "seed"];
    let (out, _) = run(&[&args[..], &["--runs", "200"]].concat(), 0);
    assert!(out.contains("14.07 agrees"), "{out}");
    let json = [&args[..], &["--runs", "20", "--json"]].concat();
    assert_eq!(run(&json, 0).0, run(&json, 0).0);
    for scenario in [
        &["reorg", "--stake", "0.3"][..],
        &["behind", "--lag", "8", "--lose", "20"],
        &["cascade", "--relays", "0.5,0.3", "--capacity", "0.5", "--el-bug", "0.1"],
    ] {
        let small = ["--runs", "2", "--slots", "100", "--policy", "seed"];
        let (out, _) = run(&[&["simulate"], scenario, &small].concat(), 0);
        assert!(out.contains("seed "), "{out}");
    }
}
