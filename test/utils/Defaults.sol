// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, Config, Status} from "contracts/CircuitBreaker.sol";

// Round numbers, so that sums in a test can be read off. The low byte of START is zero: START + n has the low byte n.
uint40 constant START = 1_700_000_000;
uint40 constant NEVER = type(uint40).max;

uint16 constant THRESHOLD = 3;
uint32 constant COOLDOWN = 100;
uint8 constant SUCCESS_THRESHOLD = 2;
uint32 constant MAX_COOLDOWN = 1600;
uint32 constant WINDOW = 60;

uint8 constant LATCH = 1;
uint8 constant ONCE_PER_BLOCK = 2;
uint8 constant PROBE_ONLY = 4;
uint16 constant TRIP_AT_ONCE = 65_535;

/// @title  Defaults
/// @notice The breakers that tests start from, at time START. A test changes only the fields that it is about.
/// @dev    Fields that a transition must leave alone are not zero here, so that losing one of them shows.
library Defaults {
    /// @notice A failure that everybody has forgotten; older than every window in use.
    uint40 internal constant LAST_FAILURE_AT = START - 1000;
    /// @notice Not the low byte of START nor near it.
    uint8 internal constant PROBED_AT = 200;
    uint8 internal constant REOPEN_COUNT = 1;

    function config() internal pure returns (Config memory) {
        return Config({
            failureThreshold: THRESHOLD,
            cooldown: COOLDOWN,
            successThreshold: SUCCESS_THRESHOLD,
            maxCooldown: MAX_COOLDOWN,
            window: 0,
            flags: 0
        });
    }

    /// @notice No failures counted, with a past: it has been open before.
    function closed() internal pure returns (Breaker memory breaker) {
        breaker.failureThreshold = THRESHOLD;
        breaker.cooldown = COOLDOWN;
        breaker.successThreshold = SUCCESS_THRESHOLD;
        breaker.maxCooldown = MAX_COOLDOWN;
        breaker.lastFailureAt = LAST_FAILURE_AT;
        breaker.probedAt = PROBED_AT;
    }

    /// @notice Open for another COOLDOWN seconds, after one failed probe.
    function open() internal pure returns (Breaker memory breaker) {
        breaker = closed();
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = START + COOLDOWN;
        breaker.reopenCount = REOPEN_COUNT;
    }

    /// @notice The same when its time has just come.
    function halfOpen() internal pure returns (Breaker memory breaker) {
        breaker = open();
        breaker.retryAt = START;
    }
}
