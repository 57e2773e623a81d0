// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, ONCE_PER_BLOCK, START, THRESHOLD, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Whoever can make the primary fail within one transaction must not trip, nor close, the breaker with it.
contract OncePerBlockTest is BreakerTest {
    // ─── given a failure was counted in this block ───

    modifier givenAFailureWasCountedInThisBlock() {
        breaker = Defaults.closed();
        breaker.flags = ONCE_PER_BLOCK;
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _store();
        _;
    }

    function test_WhenAnotherOneComesInTheSameBlock() external givenAFailureWasCountedInThisBlock {
        host.fail();
        _assertUntouched();
    }

    function test_WhenAHeavyOneComesInTheSameBlock() external givenAFailureWasCountedInThisBlock {
        host.fail(Outcome.Reverted, TRIP_AT_ONCE - 1);
        _assertUntouched();
    }

    function test_WhenOneThatTripsAtOnceComesInTheSameBlock() external givenAFailureWasCountedInThisBlock {
        host.fail(Outcome.Reverted, TRIP_AT_ONCE);
        _becomesOpen(type(uint16).max, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenASuccessCameInBetween() external givenAFailureWasCountedInThisBlock {
        host.success();
        breaker.failureCount = 0;
        _assertWritten();
        host.fail();
        breaker.failureCount = 1;
        _assertWritten();
    }

    function test_WhenAnotherOneComesASecondLater() external givenAFailureWasCountedInThisBlock {
        skip(1);
        host.fail();
        breaker.failureCount = 2;
        breaker.lastFailureAt = START + 1;
        _assertWritten();
    }

    function test_WhenTheClockRunsASecondBackwards() external givenAFailureWasCountedInThisBlock {
        rewind(1);
        host.fail();
        _assertUntouched();
    }

    // ─── given a threshold of three failing calls ───

    modifier givenAThresholdOfThreeFailingCalls() {
        breaker = Defaults.closed();
        breaker.flags = ONCE_PER_BLOCK;
        _store();
        _;
    }

    function test_WhenAllComeInOneTransaction_Row11() external givenAThresholdOfThreeFailingCalls {
        host.fail();
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
        for (uint256 i = 1; i < THRESHOLD; ++i) {
            host.fail();
            _assertUntouched();
        }
    }

    function test_WhenEachComesInABlockOfItsOwn_Row11() external givenAThresholdOfThreeFailingCalls {
        for (uint16 count = 1; count < THRESHOLD; ++count) {
            host.fail();
            breaker.failureCount = count;
            breaker.lastFailureAt = uint40(block.timestamp);
            _assertWritten();
            skip(1);
        }
        host.fail();
        _becomesOpen(THRESHOLD, START + 2 + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given a good probe was counted in this block ───

    modifier givenAGoodProbeWasCountedInThisBlock() {
        breaker = Defaults.halfOpen();
        breaker.flags = ONCE_PER_BLOCK;
        _store();
        host.success();
        breaker.successCount = 1;
        breaker.probedAt = 0; // the low byte of START
        _assertWritten();
        _;
    }

    function test_WhenAnotherOneComesInThisBlock_Row11() external givenAGoodProbeWasCountedInThisBlock {
        host.success();
        _assertUntouched();
    }

    function test_WhenAnotherOneComesInTheNextSecond_Row11() external givenAGoodProbeWasCountedInThisBlock {
        _closesAfter(1);
    }

    function test_WhenAnotherOneComes255SecondsLater() external givenAGoodProbeWasCountedInThisBlock {
        _closesAfter(255);
    }

    function test_WhenAnotherOneComes256SecondsLater() external givenAGoodProbeWasCountedInThisBlock {
        skip(256);
        host.success();
        _assertUntouched();
    }

    function test_WhenAnotherOneComes257SecondsLater() external givenAGoodProbeWasCountedInThisBlock {
        _closesAfter(257);
    }

    function test_WhenAFailureComesInThisBlock() external givenAGoodProbeWasCountedInThisBlock {
        host.fail();
        breaker.successCount = 0;
        breaker.reopenCount = Defaults.REOPEN_COUNT + 1;
        breaker.retryAt = START + 4 * COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    // ─── given no good probe was counted yet ───

    modifier givenNoGoodProbeWasCountedYet() {
        breaker = Defaults.halfOpen();
        breaker.flags = ONCE_PER_BLOCK;
        breaker.probedAt = 0; // the low byte of START
        _store();
        _;
    }

    function test_WhenOneComesWhoseTimeHasTheSameLowByteAsAnOldOne() external givenNoGoodProbeWasCountedYet {
        host.success();
        breaker.successCount = 1;
        _assertWritten();
    }

    // ─── given it is closed and the flag is not set ───

    modifier givenItIsClosedAndTheFlagIsNotSet() {
        breaker = Defaults.closed();
        _store();
        _;
    }

    function test_WhenTwoFailuresComeInOneBlock() external givenItIsClosedAndTheFlagIsNotSet {
        host.fail();
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
        host.fail();
        breaker.failureCount = 2;
        _assertWritten();
    }

    // ─── given it is half-open and the flag is not set ───

    modifier givenItIsHalf_openAndTheFlagIsNotSet() {
        breaker = Defaults.halfOpen();
        _store();
        _;
    }

    function test_WhenTwoGoodProbesComeInOneBlock() external givenItIsHalf_openAndTheFlagIsNotSet {
        host.success();
        breaker.successCount = 1;
        breaker.probedAt = 0;
        _assertWritten();
        _closesAfter(0);
    }

    function _closesAfter(uint256 time) private {
        skip(time);
        host.success();
        _becomesClosed();
        _assertClosed();
    }
}
