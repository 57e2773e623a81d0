//! Rules that cannot be followed are refused, all at once.

use std::time::Duration;

use fusebox_breaker::{
    Breaker, Category, CategoryNames, Config, ConfigError, ConfigErrors, CountWindow, Quantity,
    SystemClock, TimeWindow,
};

use crate::rig::seconds;

fn errors(cfg: &Config) -> Vec<ConfigError> {
    cfg.validate().err().map_or_else(Vec::new, |ConfigErrors(errors)| errors)
}

fn field_errors(cfg: &Config) -> Vec<&'static str> {
    errors(cfg)
        .into_iter()
        .filter_map(|error| match error {
            ConfigError::OutOfRange { field, .. } => Some(field),
            _ => None,
        })
        .collect()
}

#[test]
fn presets_are_valid_and_have_their_figures() {
    for cfg in [Config::default(), Config::lasso(), Config::low_traffic(), Config::high_traffic()] {
        assert_eq!(errors(&cfg), []);
    }
    let lasso = Config::lasso();
    assert_eq!(
        (lasso.failure_threshold, lasso.success_threshold, lasso.half_open_max_inflight),
        (5, 2, 3)
    );
    assert_eq!((lasso.cooldown, lasso.max_cooldown), (seconds(60), seconds(600)));
    let thresholds: Vec<_> = lasso.category_thresholds.iter().collect();
    let expected = [
        (Category::SERVER, 5),
        (Category::NETWORK, 3),
        (Category::TIMEOUT, 2),
        (Category::AUTH, 2),
    ];
    assert_eq!(thresholds, expected);

    let low = Config::low_traffic();
    assert_eq!((low.failure_threshold, low.success_threshold, low.cooldown), (3, 1, seconds(30)));

    let high = Config::high_traffic();
    assert_eq!(
        (high.failure_threshold, high.success_threshold, high.half_open_max_inflight),
        (10, 3, 3)
    );
    let window = high.time_window.unwrap();
    assert_eq!(
        (high.cooldown, window.period, window.min_calls, window.failure_percent),
        (seconds(60), seconds(10), 100, 50)
    );
}

#[test]
fn each_bound_is_where_it_is_said_to_be() {
    type Set = fn(&mut Config, u64);
    let cases: &[(&str, Set, &[u64], &[u64])] = &[
        ("success_threshold", |c, v| c.success_threshold = v as u8, &[1, 255], &[0]),
        ("half_open_max_inflight", |c, v| c.half_open_max_inflight = v as u8, &[1, 16], &[0, 17]),
        (
            "cooldown",
            |c, v| c.cooldown = Duration::from_micros(v),
            &[1_000, 600_000_000],
            &[0, 999],
        ),
        (
            "max_cooldown",
            |c, v| c.max_cooldown = Duration::from_secs(v),
            &[60, 7 * 86_400],
            &[7 * 86_400 + 1],
        ),
        ("jitter_percent", |c, v| c.jitter_percent = v as u8, &[0, 50], &[51]),
        ("probe_lease", |c, v| c.probe_lease = Duration::from_micros(v), &[1_000], &[0, 999]),
        (
            "event_capacity",
            |c, v| c.event_capacity = v as usize,
            &[16, 1 << 20],
            &[0, 15, (1 << 20) + 1],
        ),
        ("count_window.size", |c, v| window(c).size = v as usize, &[20, 4_096], &[4_097]),
        ("count_window.min_calls", |c, v| window(c).min_calls = v as u32, &[1, 100], &[0]),
        (
            "count_window.failure_percent",
            |c, v| window(c).failure_percent = v as u8,
            &[1, 100],
            &[0, 101],
        ),
        ("time_window.buckets", |c, v| time(c).buckets = v as u8, &[2, 60], &[0, 1, 61]),
        ("time_window.min_calls", |c, v| time(c).min_calls = v as u32, &[1], &[0]),
        (
            "time_window.failure_percent",
            |c, v| time(c).failure_percent = v as u8,
            &[1, 100],
            &[0, 101],
        ),
        (
            "time_window.period",
            |c, v| {
                time(c).buckets = 10;
                time(c).period = Duration::from_micros(v);
            },
            &[10_000],
            &[0, 9_999],
        ),
        (
            "count_window.slow_percent",
            |c, v| {
                window(c).slow_percent = Some(v as u8);
                c.slow_call = Some(Duration::from_secs(1));
            },
            &[1, 100],
            &[0, 101],
        ),
        (
            "time_window.slow_percent",
            |c, v| {
                time(c).slow_percent = Some(v as u8);
                c.slow_call = Some(Duration::from_secs(1));
            },
            &[1, 100],
            &[0, 101],
        ),
        (
            "slow_call",
            |c, v| {
                window(c).slow_percent = Some(50);
                c.slow_call = Some(Duration::from_micros(v));
            },
            &[1_000],
            &[0, 999],
        ),
    ];
    for (field, set, good, bad) in cases {
        for value in *good {
            let mut cfg = Config::default();
            set(&mut cfg, *value);
            assert_eq!(errors(&cfg), [], "{field} = {value}");
        }
        for value in *bad {
            let mut cfg = Config::default();
            set(&mut cfg, *value);
            assert_eq!(field_errors(&cfg), [*field], "{field} = {value}");
        }
    }
}

fn window(cfg: &mut Config) -> &mut CountWindow {
    cfg.count_window.get_or_insert_with(CountWindow::default)
}

fn time(cfg: &mut Config) -> &mut TimeWindow {
    cfg.time_window.get_or_insert_with(TimeWindow::default)
}

#[test]
fn all_problems_are_reported_at_once() {
    let cfg = Config {
        failure_threshold: 2,
        success_threshold: 0,
        jitter_percent: 51,
        cooldown: seconds(700),
        min_cooldown: Some(seconds(701)),
        count_window: Some(CountWindow { size: 10, min_calls: 11, ..CountWindow::default() }),
        slow_call: Some(seconds(1)),
        ..Config::default()
    }
    .category_threshold(Category::LAG, 3)
    .category_threshold(Category::AUTH, 0);
    let found = errors(&cfg);
    assert_eq!(found.len(), 8, "{found:#?}");
    assert!(found.contains(&ConfigError::CooldownAboveMax {
        cooldown: seconds(700),
        max_cooldown: seconds(600)
    }));
    assert!(found.contains(&ConfigError::CategoryAboveTotal {
        category: Category::LAG,
        threshold: 3,
        failure_threshold: 2
    }));
    assert!(found.contains(&ConfigError::MinCallsAboveWindow { min_calls: 11, size: 10 }));
    assert!(found.contains(&ConfigError::SlowWithoutWindow));
    let (min, max, got) = (Quantity::Number(0), Quantity::Number(50), Quantity::Number(51));
    assert!(found.contains(&ConfigError::OutOfRange { field: "jitter_percent", min, max, got }));
    assert!(Breaker::new(cfg, SystemClock).is_err());
}

#[test]
fn hints_are_bounded_around_the_cooldowns() {
    let bad = |cfg: Config| matches!(errors(&cfg)[..], [ConfigError::HintBounds { .. }]);
    let plain = Config::default;
    assert_eq!(errors(&Config { min_cooldown: Some(seconds(60)), ..plain() }), []);
    assert!(bad(Config { min_cooldown: Some(seconds(61)), ..plain() }));
    assert_eq!(errors(&Config { max_hint: Some(seconds(600)), ..plain() }), []);
    assert!(bad(Config { max_hint: Some(seconds(599)), ..plain() }));
    // The defaults follow the cooldowns.
    assert_eq!(errors(&Config { cooldown: Duration::from_millis(1), ..plain() }), []);
    assert_eq!(errors(&Config { max_cooldown: seconds(7 * 86_400), ..plain() }), []);
}

#[test]
fn a_category_may_have_any_threshold_where_the_total_is_off() {
    let cfg = Config { failure_threshold: 0, ..Config::default() };
    assert_eq!(errors(&cfg), [ConfigError::NothingTrips]);
    assert_eq!(errors(&cfg.clone().category_threshold(Category::LAG, u16::MAX)), []);
    assert_eq!(errors(&Config { count_window: Some(CountWindow::default()), ..cfg.clone() }), []);
    assert_eq!(errors(&Config { time_window: Some(TimeWindow::default()), ..cfg }), []);
}

#[test]
fn a_slow_percent_needs_a_slow_call_too() {
    let mut cfg = Config::default();
    window(&mut cfg).slow_percent = Some(50);
    assert_eq!(errors(&cfg), [ConfigError::SlowWithoutWindow]);
}

#[test]
fn messages_say_what_to_do() {
    let cfg = Config {
        failure_threshold: 0,
        jitter_percent: 60,
        cooldown: Duration::ZERO,
        ..Config::default()
    };
    assert_eq!(
        cfg.validate().unwrap_err().to_string(),
        "cooldown is 0ns: choose a value from 1ms to 604800s; jitter_percent is 60: choose a value from 0 to 50; \
         nothing would ever trip: set failure_threshold, a category threshold or a window, or disable it by its mode"
    );
}

#[test]
fn categories_have_names_that_can_be_changed_for_display() {
    let names = CategoryNames::default().with(Category::CUSTOM_A, "quota");
    assert_eq!(names.get(Category::CUSTOM_A), "quota");
    assert_eq!(names.get(Category::CUSTOM_B), "custom_b");
    for category in Category::ALL {
        assert_eq!(Category::from_name(category.name()), Some(category));
        assert_eq!(Category::ALL[category.index()], category);
    }
    assert_eq!(Category::from_name("quota"), None);
}
