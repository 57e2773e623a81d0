// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, NEVER, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Recording while open: traffic that arrives anyway must neither prolong nor shorten the cooldown.
contract OpenTest is BreakerTest {
    uint40 private constant DEADLINE = START + COOLDOWN;

    // ─── given it is a second before its deadline ───

    modifier givenItIsASecondBeforeItsDeadline() {
        _openAt(DEADLINE - 1);
        _;
    }

    function test_WhenASuccessIsReported_Row14() external givenItIsASecondBeforeItsDeadline {
        host.success();
        _assertUntouched();
    }

    function test_WhenAFailureIsReported_Row14() external givenItIsASecondBeforeItsDeadline {
        host.fail();
        _assertUntouched();
    }

    function test_WhenAFailureThatTripsAtOnceIsReported() external givenItIsASecondBeforeItsDeadline {
        host.fail(Outcome.Reverted, TRIP_AT_ONCE);
        _assertUntouched();
    }

    function test_WhenAThousandCallsAreReported_Row12() external givenItIsASecondBeforeItsDeadline {
        // Ten a second; the last twenty in the last second before the deadline.
        vm.warp(START);
        for (uint256 i; i < 1000; ++i) {
            if (i % 10 == 0 && block.timestamp < DEADLINE - 1) skip(1);
            if (i % 3 == 0) host.success();
            else host.fail();
            _assertUntouched();
        }
        assertEq(block.timestamp, DEADLINE - 1, "time of the last call");
    }

    // ─── given its deadline has come ───

    modifier givenItsDeadlineHasCome() {
        _openAt(DEADLINE);
        _;
    }

    function test_WhenASuccessIsReportedThen_Row14() external givenItsDeadlineHasCome {
        _succeedsAsProbe();
    }

    function test_WhenAFailureIsReportedThen_Row14() external givenItsDeadlineHasCome {
        _failsAsProbe();
    }

    // ─── given its deadline was a second ago ───

    modifier givenItsDeadlineWasASecondAgo() {
        _openAt(DEADLINE + 1);
        _;
    }

    function test_WhenASuccessIsReportedLate_Row14() external givenItsDeadlineWasASecondAgo {
        _succeedsAsProbe();
    }

    function test_WhenAFailureIsReportedLate_Row14() external givenItsDeadlineWasASecondAgo {
        _failsAsProbe();
    }

    // ─── given it never closes by itself ───

    modifier givenItNeverClosesByItself() {
        breaker = Defaults.open();
        breaker.retryAt = NEVER;
        _store();
        _;
    }

    function test_WhenAnythingIsReportedAtTheEndOfTime() external givenItNeverClosesByItself {
        vm.warp(NEVER);
        host.success();
        _assertUntouched();
        host.fail();
        _assertUntouched();
    }

    function test_WhenAnythingIsReportedBeyondTheEndOfTime() external givenItNeverClosesByItself {
        vm.warp(uint256(NEVER) + 1);
        host.success();
        _assertUntouched();
        host.fail();
        _assertUntouched();
    }

    function _openAt(uint40 time) private {
        vm.warp(time);
        breaker = Defaults.open();
        _store();
    }

    function _succeedsAsProbe() private {
        host.success();
        breaker.successCount = 1;
        breaker.probedAt = uint8(block.timestamp);
        _assertWritten();
    }

    function _failsAsProbe() private {
        host.fail();
        breaker.reopenCount = Defaults.REOPEN_COUNT + 1;
        breaker.retryAt = uint40(block.timestamp) + 4 * COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }
}
