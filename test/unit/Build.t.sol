// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, LATCH, ONCE_PER_BLOCK, PROBE_ONLY, THRESHOLD} from "../utils/Defaults.sol";
import {Word} from "../utils/Word.sol";
import {Breaker, CircuitBreaker, Config, Status} from "contracts/CircuitBreaker.sol";

/// @notice What a constructor stores: a mistake in it would stay with the host for ever, so `build` refuses them.
contract BuildTest is BreakerTest {
    Config private config;

    // ─── given a threshold and a cooldown alone ───

    modifier givenAThresholdAndACooldownAlone() {
        breaker.successThreshold = 1;
        _;
    }

    function test_WhenBothAreValid() external givenAThresholdAndACooldownAlone {
        breaker.failureThreshold = THRESHOLD;
        breaker.cooldown = COOLDOWN;
        breaker.maxCooldown = COOLDOWN;
        _assertBuilt(host.build(THRESHOLD, COOLDOWN));
    }

    function test_WhenBothAreAsLargeAsCanBe() external givenAThresholdAndACooldownAlone {
        breaker.failureThreshold = type(uint16).max;
        breaker.cooldown = type(uint32).max;
        breaker.maxCooldown = type(uint32).max;
        _assertBuilt(host.build(type(uint16).max, type(uint32).max));
    }

    function test_RevertWhen_ThisThresholdIsZero() external givenAThresholdAndACooldownAlone {
        vm.expectRevert(CircuitBreaker.FailureThresholdZero.selector);
        host.build(0, COOLDOWN);
    }

    function test_RevertWhen_ThisCooldownIsZero() external givenAThresholdAndACooldownAlone {
        vm.expectRevert(CircuitBreaker.CooldownZero.selector);
        host.build(THRESHOLD, 0);
    }

    // ─── given a whole config ───

    modifier givenAWholeConfig() {
        config = Defaults.config();
        _;
    }

    function test_WhenEveryFieldIsValid() external givenAWholeConfig {
        config = Config({
            failureThreshold: 11, cooldown: 12, successThreshold: 13, maxCooldown: 14, window: 15, flags: PROBE_ONLY
        });
        breaker.failureThreshold = 11;
        breaker.cooldown = 12;
        breaker.successThreshold = 13;
        breaker.maxCooldown = 14;
        breaker.window = 15;
        breaker.flags = PROBE_ONLY;
        _assertBuilt(host.build(config));
    }

    function test_WhenEveryFieldIsAsLargeAsCanBe() external givenAWholeConfig {
        config = Config({
            failureThreshold: type(uint16).max,
            cooldown: type(uint32).max,
            successThreshold: type(uint8).max,
            maxCooldown: type(uint32).max,
            window: type(uint32).max,
            flags: LATCH | ONCE_PER_BLOCK | PROBE_ONLY
        });
        breaker.failureThreshold = type(uint16).max;
        breaker.cooldown = type(uint32).max;
        breaker.successThreshold = type(uint8).max;
        breaker.maxCooldown = type(uint32).max;
        breaker.window = type(uint32).max;
        breaker.flags = LATCH | ONCE_PER_BLOCK | PROBE_ONLY;
        _assertBuilt(host.build(config));
    }

    function test_RevertWhen_TheFailureThresholdIsZero() external givenAWholeConfig {
        config.failureThreshold = 0;
        vm.expectRevert(CircuitBreaker.FailureThresholdZero.selector);
        host.build(config);
    }

    function test_RevertWhen_TheCooldownIsZero() external givenAWholeConfig {
        config.cooldown = 0;
        vm.expectRevert(CircuitBreaker.CooldownZero.selector);
        host.build(config);
    }

    function test_RevertWhen_TheCapIsOneSecondBelowTheCooldown() external givenAWholeConfig {
        config.maxCooldown = COOLDOWN - 1;
        vm.expectRevert(
            abi.encodeWithSelector(CircuitBreaker.MaxCooldownBelowCooldown.selector, COOLDOWN - 1, COOLDOWN)
        );
        host.build(config);
    }

    function test_WhenTheCapEqualsTheCooldown() external givenAWholeConfig {
        config.maxCooldown = COOLDOWN;
        assertEq(host.build(config).maxCooldown, COOLDOWN, "maxCooldown");
    }

    function test_RevertWhen_TheSuccessThresholdIsZero() external givenAWholeConfig {
        config.successThreshold = 0;
        vm.expectRevert(CircuitBreaker.SuccessThresholdZero.selector);
        host.build(config);
    }

    function test_RevertWhen_AFlagDoesNotExist() external givenAWholeConfig {
        for (uint256 bit = 3; bit < 8; ++bit) {
            uint8 unknown = uint8(1 << bit);
            config.flags = LATCH | PROBE_ONLY | unknown;
            vm.expectRevert(abi.encodeWithSelector(CircuitBreaker.UnknownFlags.selector, unknown));
            host.build(config);
        }
        config.flags = type(uint8).max;
        vm.expectRevert(abi.encodeWithSelector(CircuitBreaker.UnknownFlags.selector, 0xf8));
        host.build(config);
    }

    // ─── given the safe choice ───

    modifier givenTheSafeChoice() {
        config = Config({
            failureThreshold: THRESHOLD,
            cooldown: 0,
            successThreshold: 2,
            maxCooldown: 0,
            window: 0,
            flags: ONCE_PER_BLOCK
        });
        _;
    }

    function test_WhenSixteenCooldownsFitIntoTheCap() external givenTheSafeChoice {
        // 2^28 − 1, the largest that does.
        config.cooldown = 268_435_455;
        config.maxCooldown = 4_294_967_280;
        assertEq(abi.encode(host.safe(THRESHOLD, 268_435_455)), abi.encode(config));
    }

    function test_WhenSixteenCooldownsAreOneSecondTooMany() external givenTheSafeChoice {
        // 2^28, sixteen times which is 2^32.
        config.cooldown = 268_435_456;
        config.maxCooldown = type(uint32).max;
        assertEq(abi.encode(host.safe(THRESHOLD, 268_435_456)), abi.encode(config));
    }

    /// Every other field of `breaker` is zero: closed, no counts, no times.
    function _assertBuilt(Breaker memory built) private view {
        assertEq(uint8(built.status), uint8(Status.CLOSED), "status");
        assertEq(Word.pack(built), Word.pack(breaker), "word");
    }
}
