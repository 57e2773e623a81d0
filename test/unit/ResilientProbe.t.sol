// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ResilientTest} from "../utils/ResilientTest.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice Probing Resilient from outside. The secondary is never needed, so it cannot stand in the way of a record.
contract ResilientProbeTest is ResilientTest {
    // ─── given an unknown breaker ───

    modifier givenAnUnknownBreaker() {
        _expectCalls(primary, 0);
        _;
        bytes32 unknown = bytes32(uint256(1));
        vm.expectRevert(abi.encodeWithSelector(ICircuitBreaker.UnknownBreaker.selector, unknown));
        resilient.probe(unknown);
        _assertUntouched();
    }

    function test_RevertWhen_ThatIsProbedWhileClosed() external givenAnUnknownBreaker {
        _store();
    }

    function test_RevertWhen_ThatIsProbedWhileOpen() external givenAnUnknownBreaker {
        _storeOpen({retryAt: START + 1});
    }

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _store();
        _expectCalls(primary, 1);
        _expectCalls(secondary, 0);
        _;
    }

    function test_WhenThePrimaryIsWell() external givenItIsClosed {
        _probes(Outcome.Ok);
        _assertUntouched();
    }

    function test_WhenThePrimaryIsMoody() external givenItIsClosed {
        primary.toggleMood();
        _probes(Outcome.Reverted);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        _expectCalls(primary, 0);
        _;
    }

    function test_WhenItIsProbedTooEarly() external givenItIsOpen {
        _probes(Outcome.NotTried);
        _assertUntouched();
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        _storeOpen({retryAt: START});
        _expectCalls(primary, 1);
        _expectCalls(secondary, 0);
        _;
    }

    function test_WhenThePrimaryHasRecovered() external givenItIsHalf_open {
        _probes(Outcome.Ok);
        _becomesClosed();
        _assertClosed();
    }

    function test_WhenThePrimaryIsStillMoody() external givenItIsHalf_open {
        primary.toggleMood();
        _probes(Outcome.Reverted);
        breaker.reopenCount = 1;
        breaker.retryAt = START + COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    // ─── given both are moody ───

    modifier givenBothAreMoody() {
        primary.toggleMood();
        secondary.toggleMood();
        _store();
        _;
    }

    function test_WhenItIsProbedUpToTheThreshold_Row10() external givenBothAreMoody {
        for (uint16 count = 1; count < THRESHOLD; ++count) {
            _probes(Outcome.Reverted);
            breaker.failureCount = count;
            breaker.lastFailureAt = START;
            _assertWritten();
        }
        _probes(Outcome.Reverted);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    function _probes(Outcome expected) private {
        assertEq(uint8(resilient.probe(id)), uint8(expected), "outcome");
    }
}
