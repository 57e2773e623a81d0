//! Logs of events: the same machine as live.

use fusebox_builder::replay::{EventLine, EventLog, EventOptions, InputError, replay_events};
use serde_json::{Value, json};

const SPEC: &str = r#"{"ms":1200000,"kind":"spec","slot_ms":12000,"slots_per_epoch":32,"start":"zero","on_unknown":"local"}"#;

fn run(policies: &[&str], lines: &[&str]) -> Result<(Vec<Value>, u64), InputError> {
    let text = lines.join("\n");
    let mut log = EventLog::new(text.as_bytes(), "e.jsonl")?;
    let policies = policies.iter().map(|policy| policy.parse().unwrap()).collect();
    let options = EventOptions { policies, recovery: None, seed: 0 };
    let mut told = Vec::new();
    let trips = replay_events(&mut log, &options, |line| {
        told.push(serde_json::to_value(line).unwrap());
        Ok::<_, InputError>(())
    })?;
    Ok((told, trips))
}

#[test]
fn an_outage_in_a_log_trips_as_it_would_live() {
    let (told, trips) = run(
        &["seed"],
        &[
            SPEC,
            r#"{"ms":1272500,"kind":"header","slot":106}"#,
            r#"{"ms":1284500,"kind":"header","slot":107}"#,
            r#"{"ms":1285000,"kind":"block","slot":107,"root":"0x6b"}"#,
            r#"{"ms":1296500,"kind":"header","slot":108}"#,
            r#"{"ms":1297000,"kind":"admin","action":"reset"}"#,
            r#"{"ms":1297500,"kind":"header","slot":108}"#,
        ],
    )
    .unwrap();
    assert_eq!(trips, 1);
    let answers: Vec<_> = told.iter().map(|line| line["forward"].as_bool()).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(answers, [yes, None, no, no, None, yes]);
    let transition = json!({
        "seq": 1, "ms": 1_284_500, "slot": 107, "from": "closed", "to": "open",
        "cause": "missed-run", "value": 6, "limit": 5
    });
    assert_eq!(told[1], json!({ "transition": transition }));
    let decision = json!({
        "slot": 107, "forward": false, "state": "open", "verdict": "open", "cause": "missed-run",
        "value": 6, "limit": 5, "run": 6, "last_present": 100, "unknown_slots": 0,
        "next_change": "restart"
    });
    assert_eq!(told[2], decision);
}

#[test]
fn the_outage_trips_by_itself_at_the_tick_where_nobody_asks() {
    let (told, trips) =
        run(&["seed"], &[SPEC, r#"{"ms":1300000,"kind":"finalized","epoch":1}"#]).unwrap();
    assert_eq!((trips, told[0]["transition"]["ms"].as_i64()), (1, Some(107 * 12_000 + 4_000)));
}

#[test]
fn several_policies_are_told_apart() {
    let (told, _) =
        run(&["seed", "prysm"], &[SPEC, r#"{"ms":1212500,"kind":"header","slot":101}"#]).unwrap();
    assert_eq!((&told[0]["policy"], &told[1]["policy"]), (&json!("seed"), &json!("prysm")));
}

#[test]
fn what_is_no_log_is_refused_with_its_line() {
    let wrong: [(&[&str], &str); 8] = [
        (&[""], "e.jsonl:1: "),
        (&[r#"{"ms":1,"kind":"restart"}"#], "e.jsonl:1: the first event must be `spec`"),
        (&[SPEC, SPEC], "e.jsonl:2: `spec` stands here a second time"),
        (&[SPEC, "{"], "e.jsonl:2: not an event"),
        (&[SPEC, r#"{"ms":1,"kind":"blok"}"#], "unknown variant `blok`"),
        (&[SPEC, r#"{"ms":1,"kind":"block","slot":1,"root":"x"}"#], "not a root"),
        (&[SPEC, r#"{"kind":"restart"}"#], "missing field `ms`"),
        (&[&SPEC.replace("32", "33")], "33 slots per epoch: it must be 1 to 32"),
    ];
    for (lines, message) in wrong {
        let error = run(&["seed"], lines).unwrap_err().to_string();
        assert!(error.contains(message), "{error}, not {message}");
    }
}

#[test]
fn events_are_written_as_they_are_read() {
    let lines = [
        SPEC,
        r#"{"ms":1,"kind":"block","node":0,"slot":5,"root":"0x01","parent":"0x02","optimistic":true}"#,
        r#"{"ms":-1,"kind":"head","node":1,"slot":5,"root":"0x01"}"#,
        r#"{"ms":1,"kind":"reorg","slot":5,"depth":1}"#,
        r#"{"ms":1,"kind":"stream","node":7,"up":true}"#,
        r#"{"ms":1,"kind":"snapshot","from":5,"blocks":[{"slot":5,"root":"0x01","invalid":true}],"whole_tree":false}"#,
        r#"{"ms":1,"kind":"sync","head_slot":5,"is_syncing":true}"#,
        r#"{"ms":1,"kind":"admin","action":"force-open","ttl":60}"#,
        r#"{"ms":1,"kind":"payload","slot":5,"root":"0x01"}"#,
        r#"{"ms":1,"kind":"restart"}"#,
    ];
    for line in lines {
        let event: EventLine = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let written = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<EventLine>(&written).unwrap(), event, "{written}");
    }
}
