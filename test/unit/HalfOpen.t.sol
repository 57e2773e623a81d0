// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {State} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Probing: enough good answers close the breaker, a single bad one opens it again for longer.
contract HalfOpenTest is BreakerTest {
    // ─── given three good probes close it ───

    modifier givenThreeGoodProbesCloseIt() {
        _halfOpen({successThreshold: 3});
        _;
    }

    function test_WhenTheFirstGoodProbeComes() external givenThreeGoodProbesCloseIt {
        _countsAnother(0);
    }

    function test_WhenTheSecondGoodProbeComes() external givenThreeGoodProbesCloseIt {
        _countsAnother(1);
    }

    function test_WhenTheThirdGoodProbeComes() external givenThreeGoodProbesCloseIt {
        _closesAfter(2);
    }

    /// No sequence of calls leads there, but a bad word must not lock the breaker open.
    function test_WhenMoreWereCountedThanAreNeeded() external givenThreeGoodProbesCloseIt {
        _closesAfter(200);
    }

    // ─── given one good probe closes it ───

    modifier givenOneGoodProbeClosesIt() {
        _halfOpen({successThreshold: 1});
        _;
    }

    function test_WhenItComes() external givenOneGoodProbeClosesIt {
        _closesAfter(0);
    }

    // ─── given 255 good probes close it ───

    modifier given255GoodProbesCloseIt() {
        _halfOpen({successThreshold: 255});
        _;
    }

    function test_WhenThe254thComes() external given255GoodProbesCloseIt {
        _countsAnother(253);
    }

    function test_WhenThe255thComes() external given255GoodProbesCloseIt {
        _closesAfter(254);
    }

    // ─── given one good probe was counted ───

    modifier givenOneGoodProbeWasCounted() {
        _halfOpen({successThreshold: 2});
        breaker.successCount = 1;
        _store();
        _;
    }

    function test_WhenANeutralFailureComes() external givenOneGoodProbeWasCounted {
        host.fail(Outcome.Reverted, 0);
        _assertUntouched();
    }

    function test_WhenAFailureComes() external givenOneGoodProbeWasCounted {
        host.fail();
        _opensAgain(Outcome.Reverted);
    }

    function test_WhenAHeavyFailureComes() external givenOneGoodProbeWasCounted {
        host.fail(Outcome.NoCode, 2);
        _opensAgain(Outcome.NoCode);
    }

    function test_WhenAFailureComesThatTripsAtOnce() external givenOneGoodProbeWasCounted {
        host.fail(Outcome.Flagged, TRIP_AT_ONCE);
        _opensAgain(Outcome.Flagged);
    }

    function _halfOpen(uint8 successThreshold) private {
        breaker = Defaults.halfOpen();
        breaker.successThreshold = successThreshold;
    }

    function _countsAnother(uint8 successCount) private {
        breaker.successCount = successCount;
        _store();
        host.success();
        breaker.successCount = successCount + 1;
        breaker.probedAt = 0; // the low byte of START
        _assertWritten();
        assertEq(uint8(host.state()), uint8(State.HalfOpen), "state");
    }

    function _closesAfter(uint8 successCount) private {
        breaker.successCount = successCount;
        _store();
        host.success();
        _becomesClosed();
        _assertClosed();
    }

    /// `lastFailureAt` and the failure count stay as they were.
    function _opensAgain(Outcome cause) private {
        breaker.successCount = 0;
        breaker.reopenCount = Defaults.REOPEN_COUNT + 1;
        breaker.retryAt = START + 4 * COOLDOWN;
        _assertOpened(cause);
        assertEq(uint8(host.state()), uint8(State.Open), "state");
    }
}
