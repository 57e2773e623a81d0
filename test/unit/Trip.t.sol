// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, NEVER, START} from "../utils/Defaults.sol";
import {State} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice A person opens the breaker. It is open afterwards whatever deadline was given, and never for less long.
contract TripTest is BreakerTest {
    // ─── given it is closed with one failure ───

    modifier givenItIsClosedWithOneFailure() {
        breaker = Defaults.closed();
        breaker.failureCount = 1;
        _store();
        _;
    }

    function test_WhenNoDeadlineIsGiven_Row14() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(0, START + COOLDOWN);
    }

    function test_WhenTheDeadlineIsInThePast_Row14() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(1, START + 1);
    }

    function test_WhenTheDeadlineIsNow_Row14() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(START, START + 1);
    }

    function test_WhenTheDeadlineIsTheNextSecond_Row14() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(START + 1, START + 1);
    }

    function test_WhenTheDeadlineIsTwoSecondsAway() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(START + 2, START + 2);
    }

    function test_WhenTheDeadlineIsASecondBeforeNever_Row14() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(NEVER - 1, NEVER - 1);
    }

    function test_WhenTheDeadlineIsNever_Row14() external givenItIsClosedWithOneFailure {
        _tripsFromClosed(NEVER, NEVER);
    }

    // ─── given it is open for another cooldown ───

    modifier givenItIsOpenForAnotherCooldown() {
        breaker = Defaults.open();
        _store();
        _;
    }

    function test_WhenNoOtherDeadlineIsGiven() external givenItIsOpenForAnotherCooldown {
        host.trip(0, Outcome.Forced);
        _assertUntouched();
    }

    function test_WhenNoOtherDeadlineIsGivenASecondLater() external givenItIsOpenForAnotherCooldown {
        skip(1);
        _tripsFromOpen(0, START + COOLDOWN + 1);
    }

    function test_WhenTheNewDeadlineIsASecondBeforeItsOwn() external givenItIsOpenForAnotherCooldown {
        host.trip(START + COOLDOWN - 1, Outcome.Forced);
        _assertUntouched();
    }

    function test_WhenTheNewDeadlineIsItsOwn() external givenItIsOpenForAnotherCooldown {
        host.trip(START + COOLDOWN, Outcome.Forced);
        _assertUntouched();
    }

    function test_WhenTheNewDeadlineIsASecondAfterItsOwn() external givenItIsOpenForAnotherCooldown {
        _tripsFromOpen(START + COOLDOWN + 1, START + COOLDOWN + 1);
    }

    function test_WhenTheNewDeadlineIsInThePast() external givenItIsOpenForAnotherCooldown {
        host.trip(START - 1, Outcome.Forced);
        _assertUntouched();
    }

    function test_WhenTheNewDeadlineIsNever() external givenItIsOpenForAnotherCooldown {
        _tripsFromOpen(NEVER, NEVER);
    }

    // ─── given it is open for ever ───

    modifier givenItIsOpenForEver() {
        breaker = Defaults.open();
        breaker.retryAt = NEVER;
        _store();
        _;
    }

    function test_WhenAnyDeadlineIsGiven() external givenItIsOpenForEver {
        uint40[4] memory deadlines = [0, START, NEVER - 1, NEVER];
        for (uint256 i; i < deadlines.length; ++i) {
            host.trip(deadlines[i], Outcome.Forced);
            _assertUntouched();
        }
    }

    // ─── given it is open with a good probe left over ───

    /// A clock that ran backwards leaves such a breaker: half-open and probed, then open again.
    modifier givenItIsOpenWithAGoodProbeLeftOver() {
        breaker = Defaults.open();
        breaker.successCount = 1;
        _store();
        _;
    }

    function test_WhenItsOwnDeadlineIsGiven() external givenItIsOpenWithAGoodProbeLeftOver {
        _tripsFromOpen(START + COOLDOWN, START + COOLDOWN);
    }

    // ─── given it is half-open with a good probe ───

    modifier givenItIsHalf_openWithAGoodProbe() {
        breaker = Defaults.halfOpen();
        breaker.successCount = 1;
        _store();
        _;
    }

    function test_WhenNoLaterDeadlineIsGiven_Row14() external givenItIsHalf_openWithAGoodProbe {
        _tripsFromOpen(0, START + COOLDOWN);
    }

    function test_WhenTheLaterDeadlineIsInThePast_Row14() external givenItIsHalf_openWithAGoodProbe {
        _tripsFromOpen(START - 1, START + 1);
    }

    function test_WhenTheLaterDeadlineIsNow_Row14() external givenItIsHalf_openWithAGoodProbe {
        _tripsFromOpen(START, START + 1);
    }

    function test_WhenTheLaterDeadlineIsFarAway_Row14() external givenItIsHalf_openWithAGoodProbe {
        _tripsFromOpen(NEVER - 1, NEVER - 1);
    }

    function test_WhenTheLaterDeadlineIsNever_Row14() external givenItIsHalf_openWithAGoodProbe {
        _tripsFromOpen(NEVER, NEVER);
    }

    function _tripsFromClosed(uint40 until, uint40 retryAt) private {
        host.trip(until, Outcome.Forced);
        _becomesOpen(breaker.failureCount, retryAt);
        _assertOpened(Outcome.Forced);
        assertEq(uint8(host.state()), uint8(State.Open), "state");
    }

    /// The failure count, the failed probes and the time of leaving closed stay as they were.
    function _tripsFromOpen(uint40 until, uint40 retryAt) private {
        host.trip(until, Outcome.Flagged);
        breaker.successCount = 0;
        breaker.retryAt = retryAt;
        _assertOpened(Outcome.Flagged);
        assertEq(uint8(host.state()), uint8(State.Open), "state");
    }
}
