// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, NEVER, START, THRESHOLD} from "../utils/Defaults.sol";
import {State, Status} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Clocks of some chains step back, and 40 bits end some day: neither may wrap a sum or revert.
contract ClockTest is BreakerTest {
    // ─── given the clock ran behind the last failure ───

    modifier givenTheClockRanBehindTheLastFailure() {
        breaker = Defaults.closed();
        breaker.failureCount = 1;
        breaker.lastFailureAt = START + 10;
        _;
    }

    function test_WhenAFailureComesWithinAWindowOfASecond_Row14() external givenTheClockRanBehindTheLastFailure {
        breaker.window = 1;
        _store();
        host.fail();
        breaker.failureCount = 2;
        _assertWritten();
    }

    function test_WhenTheFailureTripsIt_Row14() external givenTheClockRanBehindTheLastFailure {
        breaker.failureCount = THRESHOLD - 1;
        _store();
        host.fail();
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = START + 10 + COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenAPersonTripsIt_Row14() external givenTheClockRanBehindTheLastFailure {
        _store();
        host.trip(0, Outcome.Forced);
        breaker.status = Status.OPEN;
        breaker.retryAt = START + 10 + COOLDOWN;
        _assertOpened(Outcome.Forced);
    }

    // ─── given the clock ran back before the deadline ───

    modifier givenTheClockRanBackBeforeTheDeadline() {
        breaker = Defaults.halfOpen();
        breaker.successCount = 1;
        vm.warp(START - 1);
        _store();
        _;
    }

    function test_WhenAHalf_openBreakerIsAsked_Row14() external givenTheClockRanBackBeforeTheDeadline {
        assertEq(uint8(host.state()), uint8(State.Open));
        _assertStored();
    }

    function test_WhenAGoodProbeIsReported_Row14() external givenTheClockRanBackBeforeTheDeadline {
        host.success();
        _assertUntouched();
    }

    // ─── given one cooldown is left of time ───

    modifier givenOneCooldownIsLeftOfTime() {
        breaker = Defaults.closed();
        breaker.failureCount = THRESHOLD - 1;
        _store();
        _;
    }

    function test_WhenItTripsASecondEarlier_Row14() external givenOneCooldownIsLeftOfTime {
        _tripsAt(NEVER - COOLDOWN - 1, NEVER - 1);
    }

    function test_WhenItTripsJustThen_Row14() external givenOneCooldownIsLeftOfTime {
        _tripsAt(NEVER - COOLDOWN, NEVER);
    }

    function test_WhenItTripsASecondLater_Row14() external givenOneCooldownIsLeftOfTime {
        _tripsAt(NEVER - COOLDOWN + 1, NEVER);
    }

    // ─── given a doubled cooldown is left of time ───

    modifier givenADoubledCooldownIsLeftOfTime() {
        breaker = Defaults.halfOpen();
        breaker.reopenCount = 0;
        _store();
        _;
    }

    function test_WhenAProbeFailsASecondEarlier_Row14() external givenADoubledCooldownIsLeftOfTime {
        _reopensAt(NEVER - 2 * COOLDOWN - 1, NEVER - 1);
    }

    function test_WhenAProbeFailsJustThen_Row14() external givenADoubledCooldownIsLeftOfTime {
        _reopensAt(NEVER - 2 * COOLDOWN, NEVER);
    }

    function test_WhenAProbeFailsASecondLater_Row14() external givenADoubledCooldownIsLeftOfTime {
        _reopensAt(NEVER - 2 * COOLDOWN + 1, NEVER);
    }

    // ─── given the end of time ───

    modifier givenTheEndOfTime() {
        vm.warp(NEVER);
        _;
    }

    function test_WhenAPersonTripsItWithAPastDeadline_Row14() external givenTheEndOfTime {
        breaker = Defaults.closed();
        _store();
        host.trip(START, Outcome.Forced);
        _becomesOpen(0, NEVER);
        _assertOpened(Outcome.Forced);
    }

    function test_WhenAFailureIsCounted_Row14() external givenTheEndOfTime {
        _countsAtTheEnd();
    }

    function test_WhenTheLastDeadlineBeforeItHasPassed_Row14() external givenTheEndOfTime {
        _isHalfOpenAfterTheLastDeadline();
    }

    // ─── given a time that needs more than 40 bits ───

    modifier givenATimeThatNeedsMoreThan40Bits() {
        // Its low 40 bits are START, so a cast that cuts them off would show.
        vm.warp(2 ** 40 + uint256(START));
        _;
    }

    function test_WhenAFailureIsCountedThen_Row14() external givenATimeThatNeedsMoreThan40Bits {
        _countsAtTheEnd();
    }

    function test_WhenAnyDeadlineButNeverHasPassed_Row14() external givenATimeThatNeedsMoreThan40Bits {
        _isHalfOpenAfterTheLastDeadline();
        breaker.retryAt = NEVER;
        _store();
        assertEq(uint8(host.state()), uint8(State.Open), "state");
        assertTrue(host.isOpen(), "isOpen");
    }

    function _tripsAt(uint40 time, uint40 retryAt) private {
        vm.warp(time);
        host.fail();
        _becomesOpen(THRESHOLD, retryAt);
        _assertOpened(Outcome.Reverted);
    }

    function _reopensAt(uint40 time, uint40 retryAt) private {
        vm.warp(time);
        host.fail();
        breaker.reopenCount = 1;
        breaker.retryAt = retryAt;
        _assertOpened(Outcome.Reverted);
    }

    function _countsAtTheEnd() private {
        breaker = Defaults.closed();
        _store();
        host.fail();
        breaker.failureCount = 1;
        breaker.lastFailureAt = NEVER;
        _assertWritten();
    }

    function _isHalfOpenAfterTheLastDeadline() private {
        breaker = Defaults.open();
        breaker.retryAt = NEVER - 1;
        _store();
        assertEq(uint8(host.state()), uint8(State.HalfOpen), "state");
        assertFalse(host.isOpen(), "isOpen");
        assertTrue(host.isHalfOpen(), "isHalfOpen");
    }
}
