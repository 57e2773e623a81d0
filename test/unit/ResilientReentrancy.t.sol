// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ReentrantHuman} from "../mocks/weird/ReentrantHuman.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ResilientTest} from "../utils/ResilientTest.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Resilient} from "contracts/examples/Resilient.sol";

/// @notice One outcome for each outer call, whatever the humans call in between.
contract ResilientReentrancyTest is ResilientTest {
    ReentrantHuman private reentrant;
    bytes private safeAsk = abi.encodeCall(Resilient.safeAsk, ());
    bytes private probe = abi.encodeCall(Resilient.probe, (bytes32(0)));

    function setUp() public override {
        super.setUp();
        reentrant = new ReentrantHuman();
    }

    // ─── given a primary that calls back and hides what came of it ───

    modifier givenAPrimaryThatCallsBackAndHidesWhatCameOfIt() {
        _use(new Resilient(reentrant, secondary, THRESHOLD, COOLDOWN));
        _;
        // It answered, so this was a success.
        _assertUntouched();
    }

    function test_WhenItAsksForTheRecordWhileAsked_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: safeAsk, hides: true});
        assertEq(resilient.safeAsk(), "refused");
    }

    function test_WhenItProbesWhileAsked_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: probe, hides: true});
        assertEq(resilient.safeAsk(), "refused");
    }

    function test_WhenItAsksForTheRecordWhileProbed_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: safeAsk, hides: true});
        _probesWell();
    }

    function test_WhenItProbesWhileProbed_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: probe, hides: true});
        _probesWell();
    }

    function test_WhenItOnlyReads() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: abi.encodeCall(Resilient.breaker, ()), hides: true});
        assertEq(resilient.safeAsk(), "called back");
    }

    // ─── given a primary that calls back and fails with what came of it ───

    modifier givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt() {
        _use(new Resilient(reentrant, secondary, THRESHOLD, COOLDOWN));
        _;
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function test_WhenItAsksForTheRecord_Row15() external givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: safeAsk, hides: false});
        assertEq(resilient.safeAsk(), SECONDARY);
    }

    function test_WhenItProbes_Row15() external givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt {
        reentrant.callBack({host: address(resilient), call: probe, hides: false});
        assertEq(uint8(resilient.probe(id)), uint8(Outcome.Reverted));
    }

    // ─── given a secondary that calls back ───

    /// The lock is free by then. What keeps it from recording is that it is asked by a static call.
    modifier givenASecondaryThatCallsBack() {
        _use(new Resilient(primary, reentrant, THRESHOLD, COOLDOWN));
        reentrant.callBack({host: address(resilient), call: probe, hides: true});
        _;
    }

    function test_WhenThePrimaryFailsFirst_Row15() external givenASecondaryThatCallsBack {
        primary.toggleMood();
        _watch();
        assertEq(resilient.safeAsk(), "burnt");
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertStored();
    }

    // ─── given calls that follow each other in one transaction ───

    modifier givenCallsThatFollowEachOtherInOneTransaction() {
        _store();
        _;
    }

    function test_WhenEachIsOverBeforeTheNextBegins() external givenCallsThatFollowEachOtherInOneTransaction {
        assertEq(resilient.safeAsk(), PRIMARY);
        assertEq(uint8(resilient.probe(id)), uint8(Outcome.Ok));
        assertEq(resilient.safeAsk(), PRIMARY);
        primary.toggleMood();
        assertEq(resilient.safeAsk(), SECONDARY);
        assertEq(uint8(resilient.probe(id)), uint8(Outcome.Reverted));
        primary.toggleMood();
        assertEq(uint8(resilient.probe(id)), uint8(Outcome.Ok));
        breaker.lastFailureAt = START;
        _assertStored();
    }

    /// What the primary was told does not show in an outcome; that the call back changed nothing does.
    function _probesWell() private {
        assertEq(uint8(resilient.probe(id)), uint8(Outcome.Ok));
    }

    /// The calls back read, too, as often as they like.
    function _assertReads(uint256) internal pure override {}
}
