//! Configuration, snapshots and events as data (feature `serde`).

use fusebox_breaker::{
    Category, Cause, Config, CountWindow, Event, Mode, OnDrop, Snapshot, State, UnixMillis,
};

use crate::rig::{Rig, seconds};

#[test]
fn a_configuration_reads_as_it_is_documented() {
    let cfg: Config = toml::from_str(
        r#"
        failure_threshold = 4
        category_thresholds = { server = 4, network = 3, timeout = 2, auth = 2, lag = 3 }
        cooldown = "90s"
        slow_call = "1500ms"
        on_drop = "cancel"
        mode = "shadow"
        count_window = { size = 50, slow_percent = 80 }
        time_window = { period = "1m", min_calls = 20, failure_percent = 50 }
        category_names = { custom_a = "quota" }
        "#,
    )
    .unwrap();
    assert_eq!(cfg.validate(), Ok(()));
    assert_eq!(
        (cfg.failure_threshold, cfg.success_threshold),
        (4, 2),
        "what is absent has its default"
    );
    assert_eq!(
        (cfg.cooldown, cfg.slow_call),
        (seconds(90), Some(std::time::Duration::from_millis(1_500)))
    );
    assert_eq!((cfg.on_drop, cfg.mode), (OnDrop::Cancel, Mode::Shadow));
    assert_eq!(
        cfg.count_window,
        Some(CountWindow { size: 50, slow_percent: Some(80), ..CountWindow::default() })
    );
    assert_eq!(cfg.time_window.unwrap().period, seconds(60));
    assert_eq!(cfg.category_thresholds.get(Category::LAG), Some(3));
    assert_eq!(cfg.category_names.get(Category::CUSTOM_A), "quota");

    let json = serde_json::to_string(&cfg).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), cfg);
}

#[test]
fn lassos_names_are_understood() {
    let cfg: Config =
        toml::from_str("recovery_timeout = \"10s\"\nmax_recovery_timeout = \"20s\"").unwrap();
    assert_eq!((cfg.cooldown, cfg.max_cooldown), (seconds(10), seconds(20)));
}

#[test]
fn what_cannot_be_read_says_what_can() {
    for (text, expected) in [
        ("cooldown = 60", "string"),
        ("cooldown = \"60\"", "is no duration"),
        ("cooldwon = \"60s\"", "unknown field `cooldwon`"),
        ("category_thresholds = { quota = 2 }", "a category: generic, server"),
        ("count_window = { length = 2 }", "unknown field `length`"),
    ] {
        let error = toml::from_str::<Config>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_snapshot_is_plain_json() {
    let rig = Rig::open();
    let snapshot = rig.breaker.snapshot(UnixMillis(1_000));
    let json = serde_json::to_value(snapshot).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "version": 1, "state": "open", "mode": "normal", "n": 1, "cause": "total",
            "deadline_wall": 61_000, "saved_wall": 1_000
        })
    );
    assert_eq!(serde_json::from_value::<Snapshot>(json).unwrap(), snapshot);
}

#[test]
fn events_survive_json() {
    let rig = Rig::half_open();
    rig.fail(1);
    rig.breaker.reset();
    for event in rig.events() {
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
    }
    assert_eq!(
        serde_json::to_value(Cause::ProbeFailed(Category::LAG)).unwrap(),
        serde_json::json!({"probe_failed": "lag"})
    );
    assert_eq!(serde_json::to_value(State::HalfOpen).unwrap(), "half_open");
}
