// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, LATCH, NEVER, ONCE_PER_BLOCK, PROBE_ONLY, THRESHOLD} from "../utils/Defaults.sol";
import {CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice A new configuration must neither trip nor un-trip: whoever tunes a breaker in trouble decides about the
///         future only.
contract ConfigureTest is BreakerTest {
    Config private config;

    function setUp() public override {
        super.setUp();
        config = Defaults.config();
    }

    // ─── given an empty slot ───

    modifier givenAnEmptySlot() {
        _store();
        _;
    }

    function test_WhenItIsConfigured() external givenAnEmptySlot {
        config.window = 60;
        config.flags = ONCE_PER_BLOCK;
        host.configure(config);
        breaker = Defaults.closed();
        breaker.lastFailureAt = 0;
        breaker.probedAt = 0;
        breaker.window = 60;
        breaker.flags = ONCE_PER_BLOCK;
        _assertConfigured(config);
    }

    // ─── given a closed breaker with one failure ───

    modifier givenAClosedBreakerWithOneFailure() {
        breaker = Defaults.closed();
        breaker.failureCount = 1;
        _store();
        _;
    }

    function test_WhenTheNewThresholdIsTwo_Row18() external givenAClosedBreakerWithOneFailure {
        config.failureThreshold = 2;
        host.configure(config);
        breaker.failureThreshold = 2;
        _assertConfigured(config);
    }

    function test_WhenTheNewThresholdIsOne_Row18() external givenAClosedBreakerWithOneFailure {
        config.failureThreshold = 1;
        host.configure(config);
        breaker.failureThreshold = 1;
        breaker.failureCount = 0;
        _assertConfigured(config);
    }

    function test_WhenEveryFieldChanges_Row18() external givenAClosedBreakerWithOneFailure {
        config = Config({
            failureThreshold: type(uint16).max,
            cooldown: type(uint32).max,
            successThreshold: type(uint8).max,
            maxCooldown: type(uint32).max,
            window: type(uint32).max,
            flags: LATCH | ONCE_PER_BLOCK | PROBE_ONLY
        });
        host.configure(config);
        breaker.failureThreshold = type(uint16).max;
        breaker.cooldown = type(uint32).max;
        breaker.successThreshold = type(uint8).max;
        breaker.maxCooldown = type(uint32).max;
        breaker.window = type(uint32).max;
        breaker.flags = LATCH | ONCE_PER_BLOCK | PROBE_ONLY;
        _assertConfigured(config);

        // And back: no bit of the old configuration stays.
        config = Defaults.config();
        host.configure(config);
        breaker = Defaults.closed();
        breaker.failureCount = 1;
        _assertConfigured(config);
    }

    // ─── given a closed breaker with many failures ───

    modifier givenAClosedBreakerWithManyFailures() {
        breaker = Defaults.closed();
        breaker.failureThreshold = 500;
        breaker.failureCount = 300;
        _store();
        _;
    }

    function test_WhenTheCountIsOneAboveTheNewThreshold_Row18() external givenAClosedBreakerWithManyFailures {
        config.failureThreshold = 299;
        host.configure(config);
        breaker.failureThreshold = 299;
        breaker.failureCount = 298;
        _assertConfigured(config);
    }

    function test_WhenTheCountEqualsTheNewThreshold_Row18() external givenAClosedBreakerWithManyFailures {
        config.failureThreshold = 300;
        host.configure(config);
        breaker.failureThreshold = 300;
        breaker.failureCount = 299;
        _assertConfigured(config);
    }

    function test_WhenTheCountIsOneBelowTheNewThreshold_Row18() external givenAClosedBreakerWithManyFailures {
        config.failureThreshold = 301;
        host.configure(config);
        breaker.failureThreshold = 301;
        _assertConfigured(config);
    }

    // ─── given an open breaker ───

    modifier givenAnOpenBreaker() {
        breaker = Defaults.open();
        breaker.failureCount = THRESHOLD - 1;
        _store();
        _;
    }

    function test_WhenTheCooldownChanges_Row18() external givenAnOpenBreaker {
        config.cooldown = COOLDOWN - 1;
        host.configure(config);
        breaker.cooldown = COOLDOWN - 1;
        _assertConfigured(config);
    }

    function test_WhenLatchIsSet_Row18() external givenAnOpenBreaker {
        config.flags = LATCH;
        host.configure(config);
        breaker.flags = LATCH;
        _assertConfigured(config);

        vm.warp(breaker.retryAt);
        host.fail();
        breaker.reopenCount = Defaults.REOPEN_COUNT + 1;
        breaker.retryAt = NEVER;
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenLatchIsTakenAway_Row18() external givenAnOpenBreaker {
        breaker.retryAt = NEVER;
        breaker.flags = LATCH;
        _store();
        host.configure(config);
        breaker.flags = 0;
        _assertConfigured(config);
        assertEq(uint8(host.state()), uint8(State.Open));
    }

    function test_WhenTheThresholdIsRaisedAboveTheCount_Row18() external givenAnOpenBreaker {
        config.failureThreshold = 1000;
        host.configure(config);
        breaker.failureThreshold = 1000;
        _assertConfigured(config);
        assertEq(uint8(host.state()), uint8(State.Open));
    }

    // ─── given a half-open breaker with two good probes ───

    modifier givenAHalf_openBreakerWithTwoGoodProbes() {
        breaker = Defaults.halfOpen();
        breaker.failureCount = THRESHOLD - 1;
        breaker.successThreshold = 9;
        breaker.successCount = 2;
        _store();
        _;
    }

    function test_WhenOneGoodProbeClosesNow_Row18() external givenAHalf_openBreakerWithTwoGoodProbes {
        config.successThreshold = 1;
        host.configure(config);
        breaker.successThreshold = 1;
        breaker.successCount = 0;
        _assertConfigured(config);
        assertEq(uint8(host.state()), uint8(State.HalfOpen));
    }

    function test_WhenTwoGoodProbesCloseNow_Row18() external givenAHalf_openBreakerWithTwoGoodProbes {
        config.successThreshold = 2;
        host.configure(config);
        breaker.successThreshold = 2;
        breaker.successCount = 1;
        _assertConfigured(config);
        assertEq(uint8(host.state()), uint8(State.HalfOpen));
    }

    function test_WhenThreeGoodProbesCloseNow_Row18() external givenAHalf_openBreakerWithTwoGoodProbes {
        config.successThreshold = 3;
        host.configure(config);
        breaker.successThreshold = 3;
        _assertConfigured(config);
        assertEq(uint8(host.state()), uint8(State.HalfOpen));
    }

    // ─── given a config with a mistake ───

    modifier givenAConfigWithAMistake() {
        breaker = Defaults.closed();
        _store();
        _;
        _assertStored();
    }

    function test_RevertWhen_TheThresholdIsZero() external givenAConfigWithAMistake {
        config.failureThreshold = 0;
        vm.expectRevert(CircuitBreaker.FailureThresholdZero.selector);
        host.configure(config);
    }

    function test_RevertWhen_TheCooldownIsZero() external givenAConfigWithAMistake {
        config.cooldown = 0;
        vm.expectRevert(CircuitBreaker.CooldownZero.selector);
        host.configure(config);
    }

    function test_RevertWhen_TheCapIsBelowTheCooldown() external givenAConfigWithAMistake {
        config.maxCooldown = COOLDOWN - 1;
        vm.expectRevert(
            abi.encodeWithSelector(CircuitBreaker.MaxCooldownBelowCooldown.selector, COOLDOWN - 1, COOLDOWN)
        );
        host.configure(config);
    }

    function test_RevertWhen_TheSuccessThresholdIsZero() external givenAConfigWithAMistake {
        config.successThreshold = 0;
        vm.expectRevert(CircuitBreaker.SuccessThresholdZero.selector);
        host.configure(config);
    }

    function test_RevertWhen_AFlagDoesNotExist() external givenAConfigWithAMistake {
        config.flags = 8;
        vm.expectRevert(abi.encodeWithSelector(CircuitBreaker.UnknownFlags.selector, 8));
        host.configure(config);
    }
}
