// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {CallsBack} from "../mocks/weird/CallsBack.sol";
import {CallsBackOnce} from "../mocks/weird/CallsBackOnce.sol";
import {DecoratedTest} from "../utils/DecoratedTest.sol";
import {START} from "../utils/Defaults.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice One outcome for each attempt, whatever primary and secondary call in between, with all effects.
contract FaultTolerantReentrancyTest is DecoratedTest {
    CallsBack private reentrant;
    CallsBackOnce private once;
    bytes private answer = abi.encode(true);
    bytes private probe;
    bytes private accepts;

    function setUp() public override {
        super.setUp();
        reentrant = new CallsBack();
        once = new CallsBackOnce();
        probe = abi.encodeCall(DecoratedHost.probe, (id));
        accepts = abi.encodeCall(DecoratedHost.accepts, (address(this)));
    }

    // ─── given a primary that calls back and hides what came of it ───

    modifier givenAPrimaryThatCallsBackAndHidesWhatCameOfIt() {
        _use(_deploy(ITeller(address(reentrant)), secondary));
        breaker.failureCount = 1;
        _store();
        _;
        breaker.failureCount = 0;
        _assertStored();
    }

    function test_WhenItCallsTheSameFunction_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _callsBack(accepts, true);
        assertTrue(host.accepts(address(this)));
        _wasRefused();
    }

    function test_WhenItCallsAnotherFunction_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _callsBack(abi.encodeCall(host.safeAsk, ()), true);
        assertTrue(host.accepts(address(this)));
        _wasRefused();
    }

    function test_WhenItProbes_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _callsBack(probe, true);
        assertTrue(host.accepts(address(this)));
        _wasRefused();
    }

    function test_WhenItProbesWhileProbed_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _callsBack(probe, true);
        assertEq(uint8(host.probeWith(accepts)), uint8(Outcome.Ok));
        _wasRefused();
    }

    function test_WhenItReadsTheState() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _callsBack(abi.encodeCall(host.breakerState, (id)), true);
        assertTrue(host.accepts(address(this)));
        assertFalse(reentrant.wasRefused());
    }

    /// There is no lock on it, but within an attempt there is no gas for another one.
    function test_WhenItReadsADecoratedView() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _callsBack(abi.encodeCall(host.read, (1)), true);
        assertTrue(host.accepts(address(this)));
        assertTrue(reentrant.wasRefused());
        assertEq(bytes4(reentrant.heard()), GuardedCall.InsufficientGas.selector);
    }

    /// Anyone may configure this host. The word is read again after the attempt, so nothing is lost.
    function test_WhenItConfigures_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        Config memory config = _config();
        config.cooldown = 7;
        config.maxCooldown = 77;
        _callsBack(abi.encodeCall(host.configure, (config)), true);
        assertTrue(host.accepts(address(this)));
        assertFalse(reentrant.wasRefused());
        breaker.cooldown = 7;
        breaker.maxCooldown = 77;
    }

    // ─── given a primary that calls back and fails with what came of it ───

    modifier givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt() {
        _use(_deploy(ITeller(address(reentrant)), secondary));
        _;
        _assertFailed();
    }

    function test_WhenItCallsTheHost_Row15() external givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt {
        _callsBack(accepts, false);
        assertTrue(host.accepts(address(this)));
    }

    function test_WhenItProbesTheHost_Row15() external givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt {
        _callsBack(probe, false);
        assertEq(uint8(host.probeWith(accepts)), uint8(Outcome.Reverted));
    }

    // ─── given a primary that fails after it configured ───

    modifier givenAPrimaryThatFailsAfterItConfigured() {
        answer = "";
        _use(_deploy(ITeller(address(reentrant)), secondary));
        _;
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertStored();
    }

    function test_WhenItsConfigurationIsRolledBackWithIt_Row15() external givenAPrimaryThatFailsAfterItConfigured {
        Config memory config = _config();
        config.cooldown = 7;
        _callsBack(abi.encodeCall(host.configure, (config)), true);
        assertTrue(host.accepts(address(this)));
    }

    // ─── given a secondary that calls back ───

    /// The lock is free by then: what was tried is recorded, and what is tried now is tried for itself.
    modifier givenASecondaryThatCallsBack() {
        primary.toggleMood();
        _use(_deploy(primary, ITeller(address(reentrant))));
        _;
        assertFalse(reentrant.wasRefused());
        _assertStored();
    }

    function test_WhenItProbesTheSameFunctionMeanwhile_Row15() external givenASecondaryThatCallsBack {
        _callsBack(abi.encodeCall(host.probeWith, (accepts)), true);
        assertTrue(host.accepts(address(this)));
        breaker.failureCount = 2;
        breaker.lastFailureAt = START;
    }

    function test_WhenItProbesMeanwhile_Row15() external givenASecondaryThatCallsBack {
        _callsBack(probe, true);
        assertTrue(host.accepts(address(this)));
        assertEq(abi.decode(reentrant.heard(), (uint8)), uint8(Outcome.Reverted));
        breaker.failureCount = 2;
        breaker.lastFailureAt = START;
    }

    function test_WhenItIsCalledWhileOpen() external givenASecondaryThatCallsBack {
        _storeOpen({retryAt: START + 1});
        _callsBack(probe, true);
        assertTrue(host.accepts(address(this)));
        assertEq(abi.decode(reentrant.heard(), (uint8)), uint8(Outcome.NotTried));
    }

    // ─── given a secondary that calls back once ───

    modifier givenASecondaryThatCallsBackOnce() {
        primary.toggleMood();
        _use(_deploy(primary, ITeller(address(once))));
        _;
        (bool ok,) = watched.call(accepts);
        assertTrue(ok, "reverted");
        breaker.lastFailureAt = START;
        _assertStored();
    }

    /// A call within a call is one more outcome. The second one finds a secondary that has nothing more to say.
    function test_WhenItCallsTheSameFunctionOnceMore_Row15() external givenASecondaryThatCallsBackOnce {
        once.callBack({host: watched, call_: accepts, hides: true});
        breaker.failureCount = 2;
    }

    function test_WhenItConfiguresMeanwhile_Row15() external givenASecondaryThatCallsBackOnce {
        Config memory config = _config();
        config.failureThreshold = 10;
        once.callBack({host: watched, call_: abi.encodeCall(host.configure, (config)), hides: true});
        breaker.failureCount = 1;
        breaker.failureThreshold = 10;
    }

    // ─── Helpers ───

    function _callsBack(bytes memory call, bool hides) private {
        reentrant.callBack({whom: watched, call: call, hides: hides, answer: answer});
        _watch();
    }

    function _wasRefused() private view {
        assertTrue(reentrant.wasRefused());
        assertEq(bytes4(reentrant.heard()), ICircuitBreaker.Reentered.selector);
    }

    function _assertReads(uint256) internal pure override {}
}
