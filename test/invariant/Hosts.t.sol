// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ASK, ManyBreakers, PAY} from "../mocks/ManyBreakers.sol";
import {Chameleon} from "../mocks/weird/Chameleon.sol";
import {NEVER, PROBE_ONLY, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Naive, NaiveBreaker} from "../utils/NaiveBreaker.sol";
import {Word} from "../utils/Word.sol";
import {Action, BREAKERS, Folded, HostsHandler, Seen} from "./handlers/HostsHandler.sol";
import {Breaker, CircuitBreaker, Event, State, Status} from "contracts/CircuitBreaker.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The sentences of README.md about hosts, one function each, in the same order.
/// forge-config: default.invariant.runs = 8
/// forge-config: ci.invariant.runs = 64
contract HostsInvariantTest is Test {
    using NaiveBreaker for Naive;

    HostsHandler private handler;

    function setUp() external {
        handler = new HostsHandler();
        targetContract(address(handler));
    }

    // ─── What is always so ───

    function invariant_1_LogsAndTimeGiveTheState_Row16() public view {
        Seen memory seen = handler.seen();
        for (uint256 i; i < BREAKERS; ++i) {
            Breaker memory stored = Word.unpack(seen.afterwards[i]);
            if (stored.failureThreshold == 0) continue; // nothing has run yet
            Folded memory folded = handler.folded(i);
            assertEq(stored.status == Status.OPEN, folded.open, "status");
            assertEq(stored.retryAt, folded.retryAt, "retryAt");

            State expected = State.Closed;
            if (folded.open) {
                bool due = folded.retryAt <= seen.time && folded.retryAt != NEVER;
                expected = due ? State.HalfOpen : State.Open;
            }
            assertEq(uint8(CircuitBreaker.stateOf(seen.afterwards[i], seen.time)), uint8(expected), "state");
        }
    }

    function invariant_2_EveryAnswerIsThePrimarysOrTheBackups() public view {
        Seen memory seen = handler.seen();
        if (seen.action != Action.Call && seen.action != Action.Read) return;
        bool byPrimary = _before(seen) != State.Open && _isWell(seen);
        bool byNobody = !byPrimary && seen.ofBackup != Chameleon.Mood.Well;
        if (seen.ok) {
            assertFalse(byNobody, "an answer of nobody");
            assertEq(seen.answer, abi.encode(byPrimary ? handler.PRIMARY() : handler.BACKUP()), "answer");
        } else if (keccak256(seen.answer) == keccak256(abi.encodePacked(Chameleon.Broken.selector))) {
            assertTrue(byNobody, "the error of a backup that was not needed, or is well");
        } else {
            assertTrue(seen.starved && _isForWantOfGas(seen.answer), "a revert for no reason");
        }
    }

    function invariant_3_OneAttemptIsOneRecord_Row15() public view {
        Seen memory seen = handler.seen();
        uint256 word = seen.afterwards[seen.index];
        if (seen.action == Action.Trip) {
            assertEq(word, _step(seen, Event.Trip, seen.until), "tripped");
        } else if (seen.action == Action.Reset) {
            assertEq(word, _step(seen, Event.Reset, 0), "reset");
        } else if (!_isRecorded(seen)) {
            if (seen.action != Action.Configure) assertEq(word, seen.before[seen.index], "not recorded");
        } else if (_isWell(seen)) {
            assertEq(word, _step(seen, Event.Success, 0), "a success");
        } else if (seen.index == PAY && word != _step(seen, Event.Failure, 1)) {
            assertEq(word, _step(seen, Event.Failure, TRIP_AT_ONCE), "a failure that makes the share");
        } else {
            assertEq(word, _step(seen, Event.Failure, _weight(seen)), "a failure");
        }
    }

    function invariant_4_AProbeNeedsNoBackupAndTellsTheOutcome_Row10() public view {
        Seen memory seen = handler.seen();
        if (seen.action != Action.Probe) return;
        if (!seen.ok) {
            assertTrue(seen.starved && _isForWantOfGas(seen.answer), "a revert for no reason");
            return;
        }
        Outcome outcome = abi.decode(seen.answer, (Outcome));
        assertEq(outcome == Outcome.NotTried, _before(seen) == State.Open, "not tried");
        if (outcome != Outcome.NotTried) assertEq(outcome == Outcome.Ok, _isWell(seen), "ok");
    }

    function invariant_5_ValueIsAtOneOfTheTwoOrCameBack_Row17() public view {
        Seen memory seen = handler.seen();
        bool byPrimary = _before(seen) != State.Open && _isWell(seen);
        uint256 value = seen.ok ? seen.value : 0;
        assertEq(seen.has.caller, seen.had.caller - value, "of the caller");
        assertEq(seen.has.primary, seen.had.primary + (byPrimary ? value : 0), "of the primary");
        assertEq(seen.has.backup, seen.had.backup + (byPrimary ? 0 : value), "of the backup");
        assertEq(seen.has.host, seen.had.host, "of the host");
        assertEq(seen.has.proxy, seen.had.proxy, "of the proxy");
    }

    function invariant_6_NoLockOutlastsACall() public view {
        if (_hasRun()) assertTrue(handler.seen().isFree);
    }

    // ─── What must never happen ───

    function invariant_7_NobodyIsAskedWhileOpen_Row12() public view {
        Seen memory seen = handler.seen();
        if (_before(seen) == State.Open) assertFalse(seen.askedPrimary);
    }

    function invariant_8_NoOtherSlotIsWritten() public view {
        Seen memory seen = handler.seen();
        assertEq(seen.otherWrites, 0, "other slots");
        for (uint256 i; i < BREAKERS; ++i) {
            if (i != seen.index) assertEq(seen.afterwards[i], seen.before[i], "word of another");
        }
    }

    function invariant_9_NoWayButThoseOfTheTable() public view {
        Seen memory seen = handler.seen();
        (State from, State to) = (_before(seen), _afterwards(seen));
        if (from == to) return;
        if (from == State.Open) {
            assertEq(uint8(to), uint8(State.Closed), "half-open by something that is not time");
            assertEq(uint8(seen.action), uint8(Action.Reset), "closed while open");
        } else if (to == State.Closed && seen.action != Action.Reset) {
            assertTrue(_isRecorded(seen) && _isWell(seen), "closed without a good probe");
        } else if (to == State.Open && seen.action != Action.Trip) {
            assertTrue(_isRecorded(seen) && !_isWell(seen), "opened without a failure");
        } else {
            assertNotEq(uint8(to), uint8(State.HalfOpen), "half-open from closed");
        }
    }

    function invariant_10_NothingStaysOfACallThatReverted() public view {
        Seen memory seen = handler.seen();
        if (seen.ok) return;
        assertEq(abi.encode(seen.afterwards), abi.encode(seen.before), "words");
        assertEq(abi.encode(seen.has), abi.encode(seen.had), "money");
    }

    function invariant_11_NoPrimaryThatIsWellIsBlamed_Row02() public view {
        Seen memory seen = handler.seen();
        if (!_isWell(seen) || (seen.action != Action.Call && seen.action != Action.Probe)) return;
        Breaker memory before = Word.unpack(seen.before[seen.index]);
        Breaker memory afterwards = Word.unpack(seen.afterwards[seen.index]);
        assertLe(afterwards.failureCount, before.failureCount, "failureCount");
        assertLe(afterwards.reopenCount, before.reopenCount, "reopenCount");
        assertLe(afterwards.retryAt, before.retryAt, "retryAt");
    }

    function invariant_12_NoReadLeavesATrace_Row19() public view {
        Seen memory seen = handler.seen();
        if (seen.action != Action.Read) return;
        assertEq(abi.encode(seen.afterwards), abi.encode(seen.before), "words");
        assertEq(seen.logs, 0, "logs");
    }

    function invariant_13_NoCallIsRecordedWhereOnlyProbesAre() public view {
        Seen memory seen = handler.seen();
        if (seen.action != Action.Call || Word.unpack(seen.before[seen.index]).flags & PROBE_ONLY == 0) return;
        assertEq(seen.afterwards[seen.index], seen.before[seen.index], "word");
    }

    // ─── That any of it was tried ───

    /// A run that did nothing would keep every sentence and show nothing.
    function afterInvariant() external view {
        assertTrue(_hasRun(), "nothing ran");
    }

    /// The same with all sentences after each step: the runs above are the same walks over and over, once a sentence.
    /// forge-config: default.fuzz.runs = 24
    /// forge-config: ci.fuzz.runs = 1000
    function testFuzz_EverySentenceHoldsAllTheWay(uint256 seed) external {
        for (uint256 i; i < 150; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            _walk(seed);
            invariant_1_LogsAndTimeGiveTheState_Row16();
            invariant_2_EveryAnswerIsThePrimarysOrTheBackups();
            invariant_3_OneAttemptIsOneRecord_Row15();
            invariant_4_AProbeNeedsNoBackupAndTellsTheOutcome_Row10();
            invariant_5_ValueIsAtOneOfTheTwoOrCameBack_Row17();
            invariant_6_NoLockOutlastsACall();
            invariant_7_NobodyIsAskedWhileOpen_Row12();
            invariant_8_NoOtherSlotIsWritten();
            invariant_9_NoWayButThoseOfTheTable();
            invariant_10_NothingStaysOfACallThatReverted();
            invariant_11_NoPrimaryThatIsWellIsBlamed_Row02();
            invariant_12_NoReadLeavesATrace_Row19();
            invariant_13_NoCallIsRecordedWhereOnlyProbesAre();
        }
    }

    /// A fixed long walk goes through every action, every mood and every way between two states, so the sentences have
    /// had something to hold for.
    function test_TheHandlerReachesEverything() external {
        for (uint256 i; i < 1500; ++i) {
            _walk(uint256(keccak256(abi.encode(i))));
        }
        for (uint256 i; i <= uint256(type(Action).max); ++i) {
            assertGt(handler.ran(Action(i)), 20, string.concat("action ", vm.toString(i)));
        }
        for (uint256 i; i < uint256(Chameleon.Mood.Gone); ++i) {
            assertGt(handler.asked(Chameleon.Mood(i)), 3, string.concat("mood ", vm.toString(i)));
        }
        assertGt(handler.moved(State.Closed, State.Closed), 20, "stays closed");
        assertGt(handler.moved(State.Closed, State.Open), 20, "trips");
        assertEq(handler.moved(State.Closed, State.HalfOpen), 0, "closed to half-open");
        assertGt(handler.moved(State.Open, State.Open), 20, "stays open");
        assertGt(handler.moved(State.Open, State.Closed), 5, "is reset");
        assertEq(handler.moved(State.Open, State.HalfOpen), 0, "open to half-open by a call");
        assertGt(handler.moved(State.HalfOpen, State.HalfOpen), 10, "stays half-open");
        assertGt(handler.moved(State.HalfOpen, State.Open), 10, "failed probe");
        assertGt(handler.moved(State.HalfOpen, State.Closed), 5, "recovers");
        assertGt(handler.refusedForGas(), 20, "too little gas");
        assertGt(handler.answeredByBackup(), 20, "answers of the backup");
        assertGt(handler.valuesPassedOn(), 5, "values passed on");
        assertGt(handler.bothFailed(), 5, "both failed");
    }

    function _walk(uint256 seed) private {
        uint256 action = seed / 256 % 20;
        if (action < 5) handler.call(seed, seed);
        else if (action < 8) handler.probe(seed, seed);
        else if (action < 11) handler.comeBack(seed, action % 2 == 0, seed);
        else if (action < 15) handler.change(seed);
        else if (action == 15) handler.read(seed % 2 == 0, seed);
        else if (action == 16) handler.trip(seed, seed);
        else if (action == 17) handler.reset(seed);
        else if (action == 18) handler.configure(seed, seed);
        else handler.wait(seed, seed);
    }

    // ─── Internal ───

    function _hasRun() private view returns (bool) {
        return handler.seen().time != 0;
    }

    function _isWell(Seen memory seen) private pure returns (bool) {
        return seen.ofPrimary <= Chameleon.Mood.WellAndCallingBack;
    }

    /// Whether the last action was an attempt that had to be recorded.
    function _isRecorded(Seen memory seen) private pure returns (bool) {
        if (!seen.ok || _before(seen) == State.Open) return false;
        if (seen.action == Action.Probe) return true;
        return seen.action == Action.Call && Word.unpack(seen.before[seen.index]).flags & PROBE_ONLY == 0;
    }

    function _weight(Seen memory seen) private view returns (uint16) {
        if (seen.index != ASK) return 1;
        ManyBreakers host = handler.host();
        if (seen.ofPrimary == Chameleon.Mood.BadInput) return host.WEIGHT_OF_BAD_INPUT();
        bool isBroken = seen.ofPrimary == Chameleon.Mood.Broken || seen.ofPrimary == Chameleon.Mood.BrokenAndCallingBack;
        return isBroken ? host.WEIGHT_OF_BROKEN() : 1;
    }

    /// What the table makes of the word before.
    function _step(Seen memory seen, Event e, uint40 arg) private pure returns (uint256) {
        Naive memory naive = NaiveBreaker.fromBreaker(Word.unpack(seen.before[seen.index]));
        naive.step(e, arg, seen.time);
        return Word.pack(naive.toBreaker());
    }

    function _isForWantOfGas(bytes memory answer) private pure returns (bool) {
        return answer.length == 0 || bytes4(answer) == GuardedCall.InsufficientGas.selector;
    }

    /// Closed before anything ran.
    function _before(Seen memory seen) private pure returns (State) {
        if (seen.time == 0) return State.Closed;
        return CircuitBreaker.stateOf(seen.before[seen.index], seen.time);
    }

    function _afterwards(Seen memory seen) private pure returns (State) {
        if (seen.time == 0) return State.Closed;
        return CircuitBreaker.stateOf(seen.afterwards[seen.index], seen.time);
    }
}
