//! What the contract refuses, and what a new configuration leaves alone.

use fusebox_bindings::{
    CircuitBreaker, Config, ConfigError, Fields, LATCH, ONCE_PER_BLOCK, PROBE_ONLY, State, Word,
    configure,
};

const OK: Config = Config {
    failure_threshold: 3,
    cooldown: 100,
    success_threshold: 2,
    max_cooldown: 400,
    window: 60,
    flags: 7,
};

#[test]
fn each_mistake_has_its_error() {
    let cases = [
        (Config { failure_threshold: 0, ..OK }, ConfigError::FailureThresholdZero),
        (Config { cooldown: 0, ..OK }, ConfigError::CooldownZero),
        (Config { success_threshold: 0, ..OK }, ConfigError::SuccessThresholdZero),
        (
            Config { max_cooldown: 99, ..OK },
            ConfigError::MaxCooldownBelowCooldown { max_cooldown: 99, cooldown: 100 },
        ),
        (Config { flags: 0x0f, ..OK }, ConfigError::UnknownFlags { unknown: 0x08 }),
        (Config { flags: 0xff, ..OK }, ConfigError::UnknownFlags { unknown: 0xf8 }),
    ];
    for (config, error) in cases {
        assert_eq!(config.check(), Err(error));
        assert_eq!(Word::build(config), Err(error));
        assert_eq!(configure(Word::default(), config), Err(error));
    }
}

#[test]
fn the_smallest_configuration_passes_and_a_constant_cooldown_is_its_own_cap() {
    let smallest = Config {
        failure_threshold: 1,
        cooldown: 1,
        success_threshold: 1,
        max_cooldown: 1,
        window: 0,
        flags: 0,
    };
    assert_eq!(smallest.check(), Ok(()));
    assert_eq!(Config { max_cooldown: 100, ..OK }.check(), Ok(()));
    for flags in 0..=LATCH | ONCE_PER_BLOCK | PROBE_ONLY {
        assert_eq!(Config { flags, ..OK }.check(), Ok(()));
    }
}

#[test]
fn of_several_mistakes_the_one_that_the_contract_checks_first_is_named() {
    let mut config = Config {
        failure_threshold: 0,
        cooldown: 0,
        success_threshold: 0,
        max_cooldown: 0,
        window: 0,
        flags: 8,
    };
    assert_eq!(config.check(), Err(ConfigError::FailureThresholdZero));
    config.failure_threshold = 1;
    assert_eq!(config.check(), Err(ConfigError::CooldownZero));
    config.cooldown = 1;
    assert_eq!(
        config.check(),
        Err(ConfigError::MaxCooldownBelowCooldown { max_cooldown: 0, cooldown: 1 })
    );
    config.max_cooldown = 1;
    assert_eq!(config.check(), Err(ConfigError::SuccessThresholdZero));
    config.success_threshold = 1;
    assert_eq!(config.check(), Err(ConfigError::UnknownFlags { unknown: 8 }));
}

#[test]
fn errors_name_the_values() {
    let error = Config { max_cooldown: 99, ..OK }.check().unwrap_err();
    assert_eq!(error.to_string(), "max cooldown of 99 s is below the cooldown of 100 s");
    assert_eq!(
        Config { flags: 8, ..OK }.check().unwrap_err().to_string(),
        "unknown flags 0b00001000"
    );
}

#[test]
fn a_built_word_is_closed_and_holds_its_configuration() {
    let word = Word::build(OK).unwrap();
    assert_eq!(word.state(0), Ok(State::Closed));
    assert_eq!(word.config(), OK);
    let counts = Fields { failure_threshold: 0, cooldown: 0, success_threshold: 0, ..word.into() };
    assert_eq!(counts, Fields { max_cooldown: 400, window: 60, flags: 7, ..Fields::default() });
}

#[test]
fn simple_and_safe_are_those_of_the_contract() {
    let simple = Config { success_threshold: 1, max_cooldown: 100, window: 0, flags: 0, ..OK };
    assert_eq!(Config::simple(3, 100), simple);
    let safe =
        Config { success_threshold: 2, max_cooldown: 1_600, flags: ONCE_PER_BLOCK, ..simple };
    assert_eq!(Config::safe(3, 100), safe);
    // 16 · 2^28 is 2^32.
    assert_eq!(Config::safe(3, (1 << 28) - 1).max_cooldown, u32::MAX - 15);
    assert_eq!(Config::safe(3, 1 << 28).max_cooldown, u32::MAX);
    assert_eq!(Config::safe(3, u32::MAX).max_cooldown, u32::MAX);
}

#[test]
fn configure_keeps_the_state_and_clamps_counts_below_their_thresholds() {
    let live = Fields {
        status: 1,
        failure_count: 5,
        failure_threshold: 5,
        cooldown: 10,
        retry_at: 1_000,
        success_count: 3,
        success_threshold: 4,
        reopen_count: 7,
        max_cooldown: 10,
        window: 0,
        last_failure_at: 900,
        flags: 0,
        probed_at: 42,
    };
    for (threshold, count) in [(1, 0), (4, 3), (5, 4), (6, 5), (7, 5)] {
        for (successes, kept) in [(1, 0), (3, 2), (4, 3), (5, 3)] {
            let config =
                Config { failure_threshold: threshold, success_threshold: successes, ..OK };
            let word = configure(live.into(), config).unwrap();
            let expected = Fields {
                failure_count: count,
                failure_threshold: threshold,
                cooldown: 100,
                success_count: kept,
                success_threshold: successes,
                max_cooldown: 400,
                window: 60,
                flags: 7,
                ..live
            };
            assert_eq!(Fields::from(word), expected);
        }
    }
}

#[test]
fn the_abi_form_is_the_same_configuration() {
    assert_eq!(Config::from(CircuitBreaker::Config::from(OK)), OK);
    let abi = CircuitBreaker::Config::from(OK);
    assert_eq!((abi.failureThreshold, abi.cooldown, abi.successThreshold), (3, 100, 2));
    assert_eq!((abi.maxCooldown, abi.window, abi.flags), (400, 60, 7));
}
