// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {Defaults, LATCH, NEVER, START, THRESHOLD} from "../utils/Defaults.sol";
import {State} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice A latched breaker waits for a person, except where a person gave a deadline.
contract LatchTest is BreakerTest {
    // ─── given a latched breaker is closed ───

    modifier givenALatchedBreakerIsClosed() {
        breaker = Defaults.closed();
        breaker.flags = LATCH;
        breaker.failureCount = THRESHOLD - 1;
        _store();
        _;
    }

    function test_WhenFailuresTripIt() external givenALatchedBreakerIsClosed {
        host.fail();
        _becomesOpen(THRESHOLD, NEVER);
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenItIsTrippedWithoutADeadline() external givenALatchedBreakerIsClosed {
        host.trip(0, Outcome.Forced);
        _becomesOpen(THRESHOLD - 1, NEVER);
        _assertOpened(Outcome.Forced);
    }

    function test_WhenItIsTrippedWithADeadline() external givenALatchedBreakerIsClosed {
        host.trip(START + 5, Outcome.Forced);
        _becomesOpen(THRESHOLD - 1, START + 5);
        _assertOpened(Outcome.Forced);
    }

    // ─── given a latched breaker is half-open ───

    modifier givenALatchedBreakerIsHalf_open() {
        breaker = Defaults.halfOpen();
        breaker.flags = LATCH;
        _store();
        _;
    }

    function test_WhenItsProbeSucceeds() external givenALatchedBreakerIsHalf_open {
        host.success();
        breaker.successCount = 1;
        breaker.probedAt = 0; // the low byte of START
        _assertWritten();
    }

    function test_WhenItsProbeFails() external givenALatchedBreakerIsHalf_open {
        host.fail();
        breaker.reopenCount = Defaults.REOPEN_COUNT + 1;
        breaker.retryAt = NEVER;
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenItIsTrippedOnceMoreWithoutADeadline() external givenALatchedBreakerIsHalf_open {
        host.trip(0, Outcome.Forced);
        breaker.retryAt = NEVER;
        _assertOpened(Outcome.Forced);
    }

    // ─── given a latched breaker is open for ever ───

    modifier givenALatchedBreakerIsOpenForEver() {
        breaker = Defaults.open();
        breaker.flags = LATCH;
        breaker.retryAt = NEVER;
        _store();
        _;
    }

    function test_WhenTimeEnds() external givenALatchedBreakerIsOpenForEver {
        vm.warp(NEVER);
        assertEq(uint8(host.state()), uint8(State.Open));
        _watch();
        host.fail();
        _assertUntouched();
    }

    function test_WhenItIsReset() external givenALatchedBreakerIsOpenForEver {
        host.reset();
        _becomesClosed();
        _assertClosed();
    }
}
