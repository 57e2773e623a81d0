//! `keeper simulate`: the main job as a program.

use crate::support::{keeper, keeper_output, stderr, stdout};
use std::process::Stdio;

#[test]
fn it_prints_the_timeline_the_ribbon_and_the_sums() {
    let output = keeper_output(["simulate", "outage-and-recovery"]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(err, "", "no progress where standard error is no terminal");
    let row = |time: &str| {
        let row = out.lines().find(|line| {
            let mut columns = line.split_whitespace().skip(1);
            columns.next() == Some(time) && columns.next() == Some("users")
        });
        row.unwrap_or_else(|| panic!("no row at {time} in {out}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(row("90").contains("primary"), "{}", row("90"));
    assert!(row("100").contains("backup"), "{}", row("100"));
    assert!(row("120").ends_with("closed → open Opened, retry at 220"), "{}", row("120"));
    assert!(row("130").contains("backup"), "{}", row("130"));
    assert!(row("220").ends_with("half-open → open Opened, retry at 320"), "{}", row("220"));
    assert!(row("320").ends_with("half-open → closed Closed"), "{}", row("320"));
    assert!(row("330").contains("primary"), "{}", row("330"));
    assert!(
        out.contains("60: 38 by the primary, 22 by the backup (18 while open, 4 after a failed attempt), 0 failed"),
        "{out}"
    );
    assert!(out.contains("PPPPPPPPPbbbbbbbbbbbbbbbbbbbbbbPPPPPPPPPPPPPPPPPPPPPPPPPPPPP"), "{out}");
}

#[test]
fn it_writes_the_result_where_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/folder");
    let output = keeper_output(["simulate", "outage-and-recovery", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("result.json"));
    let text = std::fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["summary"]["by_primary"], 38);
    assert_eq!(result["differences"], serde_json::json!([]));
    let opened =
        &result["timeline"].as_array().unwrap().iter().find(|row| !row["event"].is_null()).unwrap();
    assert_eq!(opened["event"]["opened"]["retry_at"], 220);
    assert_eq!((&opened["before"], &opened["after"]), (&"closed".into(), &"open".into()));

    let output = keeper_output(["simulate", "outage-and-recovery", "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(printed, result, "the same with --json, and the same in every run");
}

#[test]
fn a_flipped_policy_parameter_ends_with_7_and_says_what_differs() {
    for (policy, difference) in [
        ("failure_threshold=2", "the scenario expects by_primary = 38, and it was 39"),
        ("cooldown=50", "the scenario expects opened = 2, and it was 4"),
    ] {
        let output = keeper_output(["simulate", "outage-and-recovery", "--policy", policy]);
        assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
        assert!(stderr(&output).contains(difference), "{}", stderr(&output));
        assert!(!stdout(&output).is_empty(), "the timeline shows where");
    }
}

#[test]
fn what_cannot_be_played_is_refused_with_the_remedy() {
    for (args, code, message) in [
        (&["outage"][..], 2, "there is no scenario `outage`; there are outage-and-recovery"),
        (
            &["outage-and-recovery", "--policy", "cooldown=0"],
            2,
            "cooldown is a whole number from 1 to 4294967295",
        ),
        (
            &["outage-and-recovery", "--policy", "threshold=3"],
            2,
            "there are failure_threshold, cooldown",
        ),
        (&["outage-and-recovery", "--out", "/dev/null/x"], 3, "/dev/null/x"),
        (&["outage-and-recovery", "--out", "/proc"], 3, "/proc/result.json"),
    ] {
        let output = keeper_output(["simulate"].iter().chain(args));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

#[test]
fn a_missing_anvil_is_named_with_what_to_do() {
    let mut command = keeper(["simulate", "outage-and-recovery"]);
    let output = command.env("FUSEBOX_ANVIL", "/no/such/anvil").output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    for part in ["/no/such/anvil", "make setup", "FUSEBOX_ANVIL"] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn the_verdict_and_the_result_stand_when_nobody_reads() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let args = ["simulate", "outage-and-recovery", "--policy", "cooldown=50", "--out", out];
    let mut child = keeper(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(std::fs::metadata(dir.path().join("result.json")).unwrap().len() > 0);
}
