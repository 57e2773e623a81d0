// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, MAX_COOLDOWN, START, THRESHOLD, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Status} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice How long a breaker stays open after failed probes. An overflow here would brick the host, or let it hammer
///         a primary that is down.
contract BackoffTest is BreakerTest {
    function setUp() public override {
        super.setUp();
        breaker = Defaults.halfOpen();
    }

    // ─── given a cap of sixteen cooldowns ───

    modifier givenACapOfSixteenCooldowns() {
        breaker.reopenCount = 0;
        _store();
        _;
    }

    function test_WhenProbeAfterProbeFails_Row13() external givenACapOfSixteenCooldowns {
        uint32[6] memory waits = [uint32(200), 400, 800, 1600, 1600, 1600];
        for (uint256 i; i < waits.length; ++i) {
            _failsAndWaits(waits[i]);
            vm.warp(breaker.retryAt);
        }
        assertEq(breaker.reopenCount, 6, "reopenCount");
    }

    function test_WhenItClosesAndTripsAgain() external givenACapOfSixteenCooldowns {
        _failsAndWaits(2 * COOLDOWN);
        vm.warp(breaker.retryAt);
        host.success();
        host.success();
        _watch();
        host.fail(Outcome.Reverted, TRIP_AT_ONCE);
        _becomesOpen(type(uint16).max, uint40(block.timestamp) + COOLDOWN);
        breaker.probedAt = uint8(block.timestamp % 256);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given the next wait is doubled to 400 seconds ───

    modifier givenTheNextWaitIsDoubledTo400Seconds() {
        breaker.reopenCount = 1;
        _;
    }

    function test_WhenTheCapIsASecondLess() external givenTheNextWaitIsDoubledTo400Seconds {
        breaker.maxCooldown = 399;
        _store();
        _failsAndWaits(399);
    }

    function test_WhenTheCapIsAsMuch() external givenTheNextWaitIsDoubledTo400Seconds {
        breaker.maxCooldown = 400;
        _store();
        _failsAndWaits(400);
    }

    function test_WhenTheCapIsASecondMore() external givenTheNextWaitIsDoubledTo400Seconds {
        breaker.maxCooldown = 401;
        _store();
        _failsAndWaits(400);
    }

    // ─── given a cap that equals the cooldown ───

    modifier givenACapThatEqualsTheCooldown() {
        breaker.maxCooldown = COOLDOWN;
        _store();
        _;
    }

    function test_WhenAProbeFails() external givenACapThatEqualsTheCooldown {
        _failsAndWaits(COOLDOWN);
    }

    // ─── given a cooldown of one second and the largest cap ───

    modifier givenACooldownOfOneSecondAndTheLargestCap() {
        breaker.cooldown = 1;
        breaker.maxCooldown = type(uint32).max;
        _;
    }

    function test_WhenThe31stProbeFails() external givenACooldownOfOneSecondAndTheLargestCap {
        breaker.reopenCount = 30;
        _store();
        _failsAndWaits(2 ** 31);
    }

    function test_WhenThe32ndProbeFails() external givenACooldownOfOneSecondAndTheLargestCap {
        breaker.reopenCount = 31;
        _store();
        _failsAndWaits(type(uint32).max);
    }

    // ─── given the largest cooldown ───

    modifier givenTheLargestCooldown() {
        breaker.cooldown = type(uint32).max;
        breaker.maxCooldown = type(uint32).max;
        _;
    }

    function test_WhenItTripsFromClosed_Row14() external givenTheLargestCooldown {
        breaker.status = Status.CLOSED;
        breaker.retryAt = 0;
        breaker.reopenCount = 0;
        breaker.failureCount = THRESHOLD - 1;
        _store();
        host.fail();
        _becomesOpen(THRESHOLD, 5_994_967_295); // START + 2^32 − 1
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenItsProbeFails_Row14() external givenTheLargestCooldown {
        _store();
        _failsAndWaits(type(uint32).max);
    }

    // ─── given very many failed probes ───

    modifier givenVeryManyFailedProbes() {
        breaker.reopenCount = 254;
        _store();
        _;
    }

    function test_WhenThe255thFails_Row13() external givenVeryManyFailedProbes {
        _failsAndWaits(MAX_COOLDOWN);
        assertEq(breaker.reopenCount, 255, "reopenCount");
    }

    function test_WhenThe256thFails_Row13() external givenVeryManyFailedProbes {
        breaker.reopenCount = 255;
        _store();
        host.fail();
        breaker.retryAt = START + MAX_COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    /// The only failure whose word is smaller than the one before: `fail` must not take that for nothing to store.
    function test_WhenThe256thFailsAfterAGoodOne_Row13() external givenVeryManyFailedProbes {
        breaker.reopenCount = 255;
        breaker.successCount = 1;
        _store();
        host.fail();
        breaker.successCount = 0;
        breaker.retryAt = START + MAX_COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    function test_When70_000HaveFailed_Row13() external givenVeryManyFailedProbes {
        breaker.reopenCount = 0;
        _store();
        vm.pauseGasMetering();
        // Recorded accesses and logs would be most of the time.
        vm.stopRecord();
        uint256 time = START;
        for (uint256 i; i < 70_000; ++i) {
            vm.warp(time);
            host.fail();
            time += i < 3 ? COOLDOWN * 2 ** (i + 1) : MAX_COOLDOWN;
        }
        breaker.reopenCount = 255;
        breaker.retryAt = uint40(time);
        _assertStored();

        _watch();
        vm.warp(time);
        host.success();
        breaker.successCount = 1;
        breaker.probedAt = uint8(time % 256);
        _assertWritten();
        host.success();
        _becomesClosed();
        _assertClosed();
    }

    function _failsAndWaits(uint32 wait) private {
        host.fail();
        breaker.reopenCount += 1;
        breaker.retryAt = uint40(block.timestamp) + wait;
        _assertOpened(Outcome.Reverted);
    }
}
