// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Recording while closed: what counts, and when it has been too much.
contract ClosedTest is BreakerTest {
    // ─── given no failure is counted ───

    modifier givenNoFailureIsCounted() {
        breaker = Defaults.closed();
        _store();
        _;
    }

    function test_WhenASuccessComes() external givenNoFailureIsCounted {
        host.success();
        _assertUntouched();
    }

    function test_WhenAFailureOfWeightZeroComes() external givenNoFailureIsCounted {
        host.fail(Outcome.BudgetSpent, 0);
        _assertUntouched();
    }

    function test_WhenAFailureComesWithoutAWeight() external givenNoFailureIsCounted {
        host.fail();
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function test_WhenAFailureComesWithACause() external givenNoFailureIsCounted {
        host.fail(Outcome.NoCode);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function test_WhenAFailureComesThatTripsAtOnce() external givenNoFailureIsCounted {
        host.fail(Outcome.Rejected, TRIP_AT_ONCE);
        _becomesOpen(type(uint16).max, START + COOLDOWN);
        _assertOpened(Outcome.Rejected);
    }

    // ─── given some failures are counted ───

    modifier givenSomeFailuresAreCounted() {
        breaker = Defaults.closed();
        breaker.failureThreshold = 1000;
        breaker.failureCount = 990;
        _store();
        _;
    }

    function test_WhenASuccessFollows() external givenSomeFailuresAreCounted {
        host.success();
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenTheCountStaysOneBelowTheThreshold() external givenSomeFailuresAreCounted {
        host.fail(Outcome.Reverted, 9);
        breaker.failureCount = 999;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function test_WhenTheCountReachesTheThreshold() external givenSomeFailuresAreCounted {
        host.fail(Outcome.BadReturn, 10);
        _becomesOpen(1000, START + COOLDOWN);
        _assertOpened(Outcome.BadReturn);
    }

    function test_WhenTheCountPassesTheThresholdByOne() external givenSomeFailuresAreCounted {
        host.fail(Outcome.ReturnTooLarge, 11);
        _becomesOpen(1001, START + COOLDOWN);
        _assertOpened(Outcome.ReturnTooLarge);
    }

    function test_WhenANeutralFailureFollows() external givenSomeFailuresAreCounted {
        host.fail(Outcome.Reverted, 0);
        _assertUntouched();
    }

    // ─── given a threshold of one ───

    modifier givenAThresholdOfOne() {
        breaker = Defaults.closed();
        breaker.failureThreshold = 1;
        _store();
        _;
    }

    function test_WhenOneFailureComes() external givenAThresholdOfOne {
        host.fail();
        _becomesOpen(1, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given the largest threshold ───

    modifier givenTheLargestThreshold() {
        breaker = Defaults.closed();
        breaker.failureThreshold = type(uint16).max;
        _;
    }

    function test_WhenAWeightOfOneBelowItComes() external givenTheLargestThreshold {
        _store();
        host.fail(Outcome.Reverted, TRIP_AT_ONCE - 1);
        breaker.failureCount = 65_534;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function test_WhenThatWeightComesAfterOneFailure() external givenTheLargestThreshold {
        breaker.failureCount = 1;
        _store();
        host.fail(Outcome.Reverted, TRIP_AT_ONCE - 1);
        _becomesOpen(65_535, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenThatWeightComesAfterTwoFailures() external givenTheLargestThreshold {
        breaker.failureCount = 2;
        _store();
        host.fail(Outcome.Reverted, TRIP_AT_ONCE - 1);
        _becomesOpen(65_535, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given a threshold of two ───

    modifier givenAThresholdOfTwo() {
        breaker = Defaults.closed();
        breaker.failureThreshold = 2;
        _store();
        _;
    }

    function test_WhenTenSuccessesComeBetweenTwoFailures_Row01() external givenAThresholdOfTwo {
        host.fail();
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();

        host.success();
        breaker.failureCount = 0;
        _assertWritten();
        for (uint256 i = 1; i < 10; ++i) {
            host.success();
            _assertUntouched();
        }

        host.fail();
        breaker.failureCount = 1;
        _assertWritten();
    }
}
