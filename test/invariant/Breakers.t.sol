// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {LATCH, NEVER} from "../utils/Defaults.sol";
import {BREAKERS, ThreeBreakers} from "../utils/ThreeBreakers.sol";
import {Word} from "../utils/Word.sol";
import {Action, BreakersHandler, Folded, Seen} from "./handlers/BreakersHandler.sol";
import {Breaker, CircuitBreaker, State, Status} from "contracts/CircuitBreaker.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The sentences of README.md, one function each, in the same order.
contract BreakersInvariantTest is Test {
    BreakersHandler private handler;
    ThreeBreakers private host;

    function setUp() external {
        handler = new BreakersHandler();
        host = handler.host();
        targetContract(address(handler));
    }

    // ─── What is always so ───

    function invariant_1_LogsAndTimeGiveTheState_Row16() external {
        vm.warp(handler.time());
        for (uint256 i; i < BREAKERS; ++i) {
            Breaker memory stored = _stored(i);
            Folded memory folded = handler.folded(host.idOf(i));
            assertEq(stored.status == Status.OPEN, folded.open, "status");
            assertEq(stored.retryAt, folded.retryAt, "retryAt");

            State expected = State.Closed;
            if (folded.open) {
                bool due = folded.retryAt <= handler.time() && folded.retryAt != NEVER;
                expected = due ? State.HalfOpen : State.Open;
            }
            host.choose(i);
            assertEq(uint8(host.state()), uint8(expected), "state");
        }
    }

    function invariant_2_ClosedHasNothingButACount() external view {
        for (uint256 i; i < BREAKERS; ++i) {
            Breaker memory stored = _stored(i);
            if (stored.status != Status.CLOSED) continue;
            assertLt(stored.failureCount, stored.failureThreshold, "failureCount");
            assertEq(stored.retryAt, 0, "retryAt");
            assertEq(stored.successCount, 0, "successCount");
            assertEq(stored.reopenCount, 0, "reopenCount");
        }
    }

    function invariant_3_NotClosedHasADeadlineAndTooFewGoodProbes() external view {
        for (uint256 i; i < BREAKERS; ++i) {
            Breaker memory stored = _stored(i);
            if (stored.status == Status.CLOSED) continue;
            assertGt(stored.retryAt, 0, "retryAt");
            assertLt(stored.successCount, stored.successThreshold, "successCount");
        }
    }

    function invariant_4_OnlyConfigureChangesTheConfiguration() external view {
        (Seen memory seen, Breaker memory before, Breaker memory afterwards) = _seen();
        if (seen.action != Action.Configure) {
            assertEq(abi.encode(_configuration(afterwards)), abi.encode(_configuration(before)), "configuration");
            return;
        }
        assertEq(uint8(afterwards.status), uint8(before.status), "status");
        assertEq(afterwards.retryAt, before.retryAt, "retryAt");
        assertEq(afterwards.reopenCount, before.reopenCount, "reopenCount");
        assertEq(afterwards.lastFailureAt, before.lastFailureAt, "lastFailureAt");
        assertEq(afterwards.probedAt, before.probedAt, "probedAt");
        uint256 failures = _min(before.failureCount, afterwards.failureThreshold - 1);
        uint256 successes = _min(before.successCount, afterwards.successThreshold - 1);
        assertEq(afterwards.failureCount, failures, "failureCount");
        assertEq(afterwards.successCount, successes, "successCount");
    }

    function invariant_5_OthersAreLeftAlone() external view {
        Seen memory seen = handler.seen();
        for (uint256 i; i < BREAKERS; ++i) {
            if (i == seen.index && seen.action != Action.Wait) continue;
            assertEq(seen.afterwards[i], seen.before[i], "word of another");
        }
    }

    function invariant_6_OnlyAChangeEmitsAndOnce() external view {
        (Seen memory seen, Breaker memory before, Breaker memory afterwards) = _seen();
        if (seen.action == Action.Configure) {
            assertEq(seen.logs, 1, "Configured");
            return;
        }
        bool news = before.status != afterwards.status || before.retryAt != afterwards.retryAt;
        // A trip that takes good probes away says so, even if the deadline stays.
        if (seen.action == Action.Trip) news = news || before.successCount != afterwards.successCount;
        assertEq(seen.logs, news ? 1 : 0, "number of logs");
    }

    function invariant_7_LastFailureStaysUntilClosed() external view {
        (, Breaker memory before, Breaker memory afterwards) = _seen();
        assertGe(afterwards.lastFailureAt, before.lastFailureAt, "moved back");
        if (before.status == Status.OPEN) assertEq(afterwards.lastFailureAt, before.lastFailureAt, "moved");
    }

    function invariant_8_ReopenCountCountsFailedProbes() external view {
        (Seen memory seen, Breaker memory before, Breaker memory afterwards) = _seen();
        if (seen.action == Action.Failure && seen.weight > 0 && _stateBefore() == State.HalfOpen) {
            assertEq(afterwards.reopenCount, _min(uint256(before.reopenCount) + 1, 255), "failed probe");
        } else if (before.status == afterwards.status) {
            assertEq(afterwards.reopenCount, before.reopenCount, "not a failed probe");
        } else {
            assertEq(afterwards.reopenCount, 0, "opened or closed");
        }
    }

    // ─── What must never happen ───

    function invariant_9_NoDeadlineMovesNearer() external view {
        (Seen memory seen, Breaker memory before, Breaker memory afterwards) = _seen();
        if (_stateBefore() != State.Open) return;
        if (seen.action == Action.Success || seen.action == Action.Failure) {
            assertEq(Word.pack(afterwards), Word.pack(before), "an outcome while open");
        }
        if (afterwards.status == Status.OPEN) assertGe(afterwards.retryAt, before.retryAt, "nearer");
    }

    function invariant_10_NoWayOutOfOpenButTimeAndReset() external view {
        if (_stateBefore() != State.Open) return;
        State expected = handler.seen().action == Action.Reset ? State.Closed : State.Open;
        assertEq(uint8(_stateAfterwards()), uint8(expected));
    }

    function invariant_11_NoWayFromClosedToHalfOpen() external view {
        if (_stateBefore() == State.Closed) assertNotEq(uint8(_stateAfterwards()), uint8(State.HalfOpen));
    }

    function invariant_12_NoSuccessOpensAndNoFailureCloses() external view {
        (Seen memory seen, Breaker memory before, Breaker memory afterwards) = _seen();
        if (seen.action == Action.Success) {
            assertLe(uint8(afterwards.status), uint8(before.status), "opened");
            assertLe(afterwards.retryAt, before.retryAt, "later deadline");
        }
        if (seen.action == Action.Failure) assertGe(uint8(afterwards.status), uint8(before.status), "closed");
    }

    function invariant_13_NoLatchedBreakerComesBackByItself() external view {
        (Seen memory seen, Breaker memory before, Breaker memory afterwards) = _seen();
        if (seen.action != Action.Failure || before.flags & LATCH == 0) return;
        if (_stateBefore() != State.Open && _stateAfterwards() == State.Open) assertEq(afterwards.retryAt, NEVER);
    }

    function invariant_14_NoSecondCountsTwice() external view {
        assertFalse(handler.countedTwice());
    }

    // ─── That any of it was tried ───

    /// A run that did nothing would keep every sentence and show nothing.
    function afterInvariant() external view {
        uint256 actions;
        for (uint256 i; i <= uint256(type(Action).max); ++i) {
            actions += handler.ran(Action(i));
        }
        assertGt(actions, BREAKERS, "nothing but the set-up ran");
    }

    /// A fixed long walk goes through every action and every way between two states, so the invariants have had
    /// something to hold for.
    function test_TheHandlerReachesEveryTransition() external {
        for (uint256 i; i < 2000; ++i) {
            uint256 seed = uint256(keccak256(abi.encode(i)));
            uint256 action = seed / 256 % 12;
            if (action < 3) handler.success(seed);
            else if (action < 6) handler.fail(seed, seed);
            else if (action < 9) handler.wait(seed, seed);
            else if (action == 9) handler.trip(seed, seed);
            else if (action == 10) handler.reset(seed);
            else handler.configure(seed, seed);
        }
        for (uint256 i; i <= uint256(type(Action).max); ++i) {
            assertGt(handler.ran(Action(i)), 50, string.concat("action ", vm.toString(i)));
        }
        assertGt(handler.moved(State.Closed, State.Closed), 50, "stays closed");
        assertGt(handler.moved(State.Closed, State.Open), 50, "trips");
        assertEq(handler.moved(State.Closed, State.HalfOpen), 0, "closed to half-open");
        assertGt(handler.moved(State.Open, State.Open), 50, "stays open");
        assertGt(handler.moved(State.Open, State.Closed), 10, "is reset");
        assertEq(handler.moved(State.Open, State.HalfOpen), 0, "open to half-open by a call");
        assertGt(handler.moved(State.HalfOpen, State.HalfOpen), 10, "good probe");
        assertGt(handler.moved(State.HalfOpen, State.Open), 10, "failed probe");
        assertGt(handler.moved(State.HalfOpen, State.Closed), 10, "recovers");
    }

    // ─── Internal ───

    function _stored(uint256 index) private view returns (Breaker memory) {
        return Word.unpack(host.words()[index]);
    }

    function _seen() private view returns (Seen memory seen, Breaker memory before, Breaker memory afterwards) {
        seen = handler.seen();
        before = Word.unpack(seen.before[seen.index]);
        afterwards = Word.unpack(seen.afterwards[seen.index]);
    }

    function _stateBefore() private view returns (State) {
        Seen memory seen = handler.seen();
        // Set up by the last call, it was no breaker before.
        if (Word.unpack(seen.before[seen.index]).failureThreshold == 0) return State.Closed;
        return CircuitBreaker.stateOf(seen.before[seen.index], seen.time);
    }

    function _stateAfterwards() private view returns (State) {
        Seen memory seen = handler.seen();
        return CircuitBreaker.stateOf(seen.afterwards[seen.index], seen.time);
    }

    function _configuration(Breaker memory b) private pure returns (uint256[6] memory) {
        return [uint256(b.failureThreshold), b.cooldown, b.successThreshold, b.maxCooldown, b.window, b.flags];
    }

    function _min(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
