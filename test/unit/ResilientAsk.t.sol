// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Garbled} from "../mocks/weird/Garbled.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ResilientTest} from "../utils/ResilientTest.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Who answers, and what is recorded: the story that the library is there for.
contract ResilientAskTest is ResilientTest {
    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _store();
        _;
    }

    function test_WhenAWellPrimaryIsAsked() external givenItIsClosed {
        assertEq(resilient.ask(), PRIMARY);
        _assertUntouched();
    }

    function test_WhenAWellPrimaryIsAskedForTheRecord() external givenItIsClosed {
        assertEq(resilient.safeAsk(), PRIMARY);
        _assertUntouched();
    }

    function test_WhenAMoodyPrimaryIsAsked() external givenItIsClosed {
        primary.toggleMood();
        assertEq(resilient.ask(), SECONDARY);
        _assertUntouched();
    }

    function test_WhenAMoodyPrimaryIsAskedForTheRecord() external givenItIsClosed {
        primary.toggleMood();
        assertEq(resilient.safeAsk(), SECONDARY);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    // ─── given it is closed and one failure from open ───

    modifier givenItIsClosedAndOneFailureFromOpen() {
        breaker.failureCount = THRESHOLD - 1;
        _store();
        _;
    }

    function test_WhenThePrimaryIsWellAgain() external givenItIsClosedAndOneFailureFromOpen {
        assertEq(resilient.safeAsk(), PRIMARY);
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenThePrimaryFailsOnceMore() external givenItIsClosedAndOneFailureFromOpen {
        primary.toggleMood();
        assertEq(resilient.safeAsk(), SECONDARY);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        _expectCalls(primary, 0);
        _;
        _assertUntouched();
    }

    function test_WhenItIsAsked() external givenItIsOpen {
        assertEq(resilient.ask(), SECONDARY);
    }

    function test_WhenItIsAskedForTheRecord() external givenItIsOpen {
        assertEq(resilient.safeAsk(), SECONDARY);
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        _storeOpen({retryAt: START});
        _expectCalls(primary, 1);
        _;
    }

    function test_WhenItIsAskedWithoutARecord() external givenItIsHalf_open {
        assertEq(resilient.ask(), PRIMARY);
        _assertUntouched();
    }

    function test_WhenThePrimaryHasRecovered() external givenItIsHalf_open {
        assertEq(resilient.safeAsk(), PRIMARY);
        _becomesClosed();
        _assertClosed();
    }

    function test_WhenThePrimaryIsStillMoody() external givenItIsHalf_open {
        primary.toggleMood();
        assertEq(resilient.safeAsk(), SECONDARY);
        breaker.reopenCount = 1;
        breaker.retryAt = START + COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    // ─── given both are moody ───

    /// The record of the primary's failure is rolled back with the rest: `probe` is the way to record it.
    modifier givenBothAreMoody() {
        primary.toggleMood();
        secondary.toggleMood();
        breaker.failureCount = THRESHOLD - 1;
        _store();
        vm.expectRevert(Moody.InAMood.selector);
        _;
        _assertStored();
    }

    function test_RevertWhen_BothAreAsked() external givenBothAreMoody {
        resilient.ask();
    }

    function test_RevertWhen_BothAreAskedForTheRecord() external givenBothAreMoody {
        resilient.safeAsk();
    }

    // ─── given a primary that a try does not catch ───

    /// What a guarded call is for: with a `try`, each of these reverts.
    modifier givenAPrimaryThatATryDoesNotCatch() {
        _;
        _store();
        assertEq(resilient.ask(), SECONDARY);
        _assertUntouched();
        assertEq(resilient.safeAsk(), SECONDARY);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function test_WhenItHasNoCode() external givenAPrimaryThatATryDoesNotCatch {
        _use(new Resilient(IHuman(makeAddr("nobody")), secondary, THRESHOLD, COOLDOWN));
    }

    function test_WhenItsAnswerIsNoString() external givenAPrimaryThatATryDoesNotCatch {
        _use(new Resilient(IHuman(address(new Garbled())), secondary, THRESHOLD, COOLDOWN));
    }

    // ─── given an outage of the primary ───

    modifier givenAnOutageOfThePrimary() {
        assertEq(resilient.safeAsk(), PRIMARY);
        primary.toggleMood();
        _;
    }

    function test_WhenItIsAskedAllTheTime() external givenAnOutageOfThePrimary {
        _expectCalls(primary, THRESHOLD + 2);

        // It fails until the breaker opens,
        for (uint256 i; i < THRESHOLD; ++i) {
            assertEq(resilient.safeAsk(), SECONDARY);
        }
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertStored();

        // is left alone, until a probe fails,
        skip(COOLDOWN - 1);
        assertEq(resilient.safeAsk(), SECONDARY);
        _assertStored();
        skip(1);
        assertEq(resilient.safeAsk(), SECONDARY);
        breaker.reopenCount = 1;
        breaker.retryAt = START + 2 * COOLDOWN;
        _assertStored();

        // recovers unnoticed, and is noticed after the next cooldown.
        primary.toggleMood();
        assertEq(resilient.safeAsk(), SECONDARY);
        skip(COOLDOWN);
        assertEq(resilient.safeAsk(), PRIMARY);
        _becomesClosed();
        _assertStored();
    }
}
