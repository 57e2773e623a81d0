//! The same things as the ABI spells them.
//!
//! The generator writes one `Breaker` and one `Config` for each contract whose ABI mentions it, so the same struct
//! arrives under several names. Everything past this file knows only one.

use crate::{
    config::Config,
    contracts::{
        circuit_breaker::CircuitBreaker, fault_tolerant_proxy::FaultTolerantProxy,
        i_circuit_breaker::ICircuitBreaker, resilient::Resilient, resilient_feed::ResilientFeed,
    },
    word::Fields,
};

macro_rules! fields_from {
    ($($breaker:ty),*) => {$(
        impl From<$breaker> for Fields {
            fn from(breaker: $breaker) -> Self {
                Self {
                    status: breaker.status,
                    failure_count: breaker.failureCount,
                    failure_threshold: breaker.failureThreshold,
                    cooldown: breaker.cooldown,
                    retry_at: breaker.retryAt.to(),
                    success_count: breaker.successCount,
                    success_threshold: breaker.successThreshold,
                    reopen_count: breaker.reopenCount,
                    max_cooldown: breaker.maxCooldown,
                    window: breaker.window,
                    last_failure_at: breaker.lastFailureAt.to(),
                    flags: breaker.flags,
                    probed_at: breaker.probedAt,
                }
            }
        }
    )*};
}

// 40 bits fit into u64, so `to` cannot panic.
fields_from!(
    FaultTolerantProxy::Breaker,
    ICircuitBreaker::Breaker,
    Resilient::Breaker,
    ResilientFeed::Breaker
);

macro_rules! config_as {
    ($($abi:ty),*) => {$(
        impl From<$abi> for Config {
            fn from(config: $abi) -> Self {
                Self {
                    failure_threshold: config.failureThreshold,
                    cooldown: config.cooldown,
                    success_threshold: config.successThreshold,
                    max_cooldown: config.maxCooldown,
                    window: config.window,
                    flags: config.flags,
                }
            }
        }

        impl From<Config> for $abi {
            fn from(config: Config) -> Self {
                Self {
                    failureThreshold: config.failure_threshold,
                    cooldown: config.cooldown,
                    successThreshold: config.success_threshold,
                    maxCooldown: config.max_cooldown,
                    window: config.window,
                    flags: config.flags,
                }
            }
        }
    )*};
}

config_as!(CircuitBreaker::Config, FaultTolerantProxy::Config, ResilientFeed::Config);
