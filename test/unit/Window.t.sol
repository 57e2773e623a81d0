// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, NEVER, START, THRESHOLD, WINDOW} from "../utils/Defaults.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Failures far apart are not a streak. The window runs from the last counted failure, its end included.
contract WindowTest is BreakerTest {
    // ─── given a failure within a window of a minute ───

    modifier givenAFailureWithinAWindowOfAMinute() {
        _failedOnce(WINDOW);
        _;
    }

    function test_WhenTheNextOneComesASecondBeforeTheWindowEnds_Row14() external givenAFailureWithinAWindowOfAMinute {
        _failAt(START + WINDOW - 1);
        breaker.failureCount = 2;
        _assertWritten();
    }

    function test_WhenTheNextOneComesAsTheWindowEnds_Row14() external givenAFailureWithinAWindowOfAMinute {
        _failAt(START + WINDOW);
        breaker.failureCount = 2;
        _assertWritten();
    }

    function test_WhenTheNextOneComesASecondAfterTheWindowEnded_Row14() external givenAFailureWithinAWindowOfAMinute {
        _failAt(START + WINDOW + 1);
        breaker.failureCount = 1;
        _assertWritten();
    }

    function test_WhenAnOldCountWouldHaveTripped() external givenAFailureWithinAWindowOfAMinute {
        breaker.failureCount = THRESHOLD - 1;
        _store();
        _failAt(START + WINDOW + 1);
        breaker.failureCount = 1;
        _assertWritten();
    }

    function test_WhenTheLateOneTripsByItsOwnWeight() external givenAFailureWithinAWindowOfAMinute {
        uint40 late = START + WINDOW + 1;
        vm.warp(late);
        host.fail(Outcome.Reverted, THRESHOLD);
        _becomesOpen(THRESHOLD, late + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given the largest window ───

    modifier givenTheLargestWindow() {
        _failedOnce(type(uint32).max);
        _;
    }

    function test_WhenTheNextFailureComesAsItEnds_Row14() external givenTheLargestWindow {
        _failAt(START + type(uint32).max);
        breaker.failureCount = 2;
        _assertWritten();
    }

    function test_WhenTheNextFailureComesASecondAfter_Row14() external givenTheLargestWindow {
        _failAt(START + uint40(type(uint32).max) + 1);
        breaker.failureCount = 1;
        _assertWritten();
    }

    // ─── given no window ───

    modifier givenNoWindow() {
        _failedOnce(0);
        _;
    }

    function test_WhenTheNextFailureComesAtTheEndOfTime_Row14() external givenNoWindow {
        _failAt(NEVER);
        breaker.failureCount = 2;
        _assertWritten();
    }

    function _failedOnce(uint32 window) private {
        breaker = Defaults.closed();
        breaker.window = window;
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _store();
    }

    function _failAt(uint40 time) private {
        vm.warp(time);
        host.fail();
        breaker.lastFailureAt = time;
    }
}
