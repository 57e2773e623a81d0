// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerHarness} from "../utils/BreakerHarness.sol";
import {BreakerTest} from "../utils/BreakerTest.sol";
import {Defaults, NEVER, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Word} from "../utils/Word.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {CircuitBreaker, Event, Status} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice A slot without a threshold is no breaker. A clone that forgot to configure one must not run unguarded and
///         unnoticed.
contract UnconfiguredTest is BreakerTest {
    // ─── given the slot is empty ───

    modifier givenTheSlotIsEmpty() {
        _store();
        _;
        _assertStored();
    }

    function test_RevertWhen_ItIsRead() external givenTheSlotIsEmpty {
        _readsRevert();
    }

    function test_RevertWhen_AnOutcomeIsRecorded() external givenTheSlotIsEmpty {
        _recordingReverts();
    }

    function test_RevertWhen_APersonTripsOrResetsIt() external givenTheSlotIsEmpty {
        _powersRevert();
    }

    function test_RevertWhen_ItIsStepped() external givenTheSlotIsEmpty {
        Event[4] memory events = [Event.Success, Event.Failure, Event.Trip, Event.Reset];
        for (uint256 i; i < events.length; ++i) {
            vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
            host.step(0, events[i], 0, START);
            vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
            host.step(0, events[i], 1, START);
        }
    }

    // ─── given every bit but the threshold is set ───

    modifier givenEveryBitButTheThresholdIsSet() {
        breaker = Word.unpack(type(uint256).max - type(uint8).max + uint8(Status.OPEN));
        breaker.failureThreshold = 0;
        _store();
        _;
        _assertStored();
    }

    function test_RevertWhen_ThatIsRead() external givenEveryBitButTheThresholdIsSet {
        _readsRevert();
    }

    function test_RevertWhen_AnOutcomeIsRecordedThere() external givenEveryBitButTheThresholdIsSet {
        _recordingReverts();
    }

    function test_RevertWhen_APersonTripsOrResetsThat() external givenEveryBitButTheThresholdIsSet {
        _powersRevert();
    }

    // ─── given a clone whose constructor did not run ───

    modifier givenACloneWhoseConstructorDidNotRun() {
        _use(BreakerHarness(Clones.clone(address(host))));
        _store();
        _;
    }

    function test_RevertWhen_ItRecords_Row21() external givenACloneWhoseConstructorDidNotRun {
        _recordingReverts();
        _assertStored();
    }

    function test_WhenItWasConfigured_Row21() external givenACloneWhoseConstructorDidNotRun {
        host.configure(Defaults.config());
        breaker = Defaults.closed();
        breaker.lastFailureAt = 0;
        breaker.probedAt = 0;
        _assertConfigured(Defaults.config());

        host.fail();
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function _readsRevert() private {
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.state();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.isClosed();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.isOpen();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.isHalfOpen();
    }

    function _recordingReverts() private {
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.success();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.fail();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.fail(Outcome.NoCode);
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.fail(Outcome.NoCode, 0);
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.fail(Outcome.NoCode, TRIP_AT_ONCE);
    }

    function _powersRevert() private {
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.trip(0, Outcome.Forced);
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.trip(NEVER, Outcome.Forced);
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.reset();
    }
}
