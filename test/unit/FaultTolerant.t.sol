// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BareHost} from "../mocks/BareHost.sol";
import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {Teller} from "../mocks/Teller.sol";
import {RevertsLate} from "../mocks/weird/RevertsLate.sol";
import {DecoratedTest} from "../utils/DecoratedTest.sol";
import {COOLDOWN, PROBE_ONLY, START, THRESHOLD} from "../utils/Defaults.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Breaker, CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice The decorator: who answers a decorated function, and what is recorded.
contract FaultTolerantTest is DecoratedTest {
    address private constant NOBODY = address(0xdead);
    ITeller private constant SHA256 = ITeller(address(2));
    /// What the body spends around the work of the primary, and how far from the edge a test stays.
    uint256 private constant BODY = 3500;
    uint256 private constant GIVE_OR_TAKE = 3000;

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _store();
        _;
    }

    function test_WhenThePrimaryIsWell_Row17() external givenItIsClosed {
        BareHost bare = new BareHost(primary);
        bytes[] memory calls = _calls();
        for (uint256 i; i < calls.length; ++i) {
            bytes memory expected = _ask(address(bare), calls[i]);
            assertGe(expected.length, 32);
            assertEq(_ask(watched, calls[i]), expected, "answer");
            _assertUntouched();
        }
        assertEq(host.safeAsk(), PRIMARY);
        _assertUntouched();
    }

    function test_WhenThePrimaryIsMoody() external givenItIsClosed {
        primary.toggleMood();
        BareHost bare = new BareHost(secondary);
        bytes[] memory calls = _calls();
        for (uint256 i; i < calls.length; ++i) {
            assertEq(_ask(watched, calls[i]), _ask(address(bare), calls[i]), "answer");
            _assertFailed();
            breaker.failureCount = 0;
            _store();
        }
        assertEq(host.safeAsk(), SECONDARY);
        _assertFailed();
    }

    function test_WhenAViewIsRead() external givenItIsClosed {
        assertEq(host.read(1), PRIMARY);
        _assertUntouched();
        primary.toggleMood();
        assertEq(host.read(1), SECONDARY);
        _assertUntouched();
    }

    /// What is behind the arguments reaches the secondary, too.
    function test_WhenALongCallComesIn() external givenItIsClosed {
        bytes memory call = bytes.concat(abi.encodeCall(host.accepts, (address(this))), new bytes(10_000));
        vm.expectCall(address(primary), abi.encodeCall(host.accepts, (address(this))), 2);
        _ask(watched, call);
        _assertUntouched();
        primary.toggleMood();
        vm.expectCall(address(secondary), call, 1);
        _ask(watched, call);
        _assertFailed();
    }

    // ─── given a primary that works before it reverts ───

    /// One more failure opens it, which shows the cause.
    modifier givenAPrimaryThatWorksBeforeItReverts() {
        breaker.failureCount = THRESHOLD - 1;
        _;
    }

    function test_WhenMoreThanA16thIsLeft() external givenAPrimaryThatWorksBeforeItReverts {
        _opensAfter(BUDGET - BUDGET / 16 - BODY - GIVE_OR_TAKE, Outcome.Reverted);
    }

    function test_WhenLessThanA16thIsLeft() external givenAPrimaryThatWorksBeforeItReverts {
        _opensAfter(BUDGET - BUDGET / 16 - BODY + GIVE_OR_TAKE, Outcome.BudgetSpent);
    }

    // ─── given too little gas ───

    modifier givenTooLittleGas() {
        _store();
        _;
        _assertUntouched();
    }

    function test_RevertWhen_ACallHasIt() external givenTooLittleGas {
        _needs(0, abi.encodeCall(host.speak, ()), BUDGET + RESERVE + 3000);
        _needs(0, abi.encodeCall(host.safeAsk, ()), BUDGET + RESERVE + 3000);
    }

    function test_RevertWhen_AViewHasIt() external givenTooLittleGas {
        _needs(0, abi.encodeCall(host.read, (1)), BUDGET + RESERVE + 3000);
    }

    function test_RevertWhen_AProbeHasIt() external givenTooLittleGas {
        _needs(0, abi.encodeCall(host.probe, (id)), BUDGET + RESERVE + 3000);
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        _;
        _assertUntouched();
    }

    /// Less than the budget: a primary that is not tried needs none.
    function test_WhenItIsCalledWithLittleGas() external givenItIsOpen {
        _expectCalls(primary, IHuman.speak.selector, 0);
        assertEq(host.speak{gas: BUDGET / 4}(), SECONDARY);
        _assertUntouched();
        assertEq(host.safeAsk{gas: BUDGET / 4}(), SECONDARY);
    }

    function test_WhenAViewIsReadThen() external givenItIsOpen {
        _expectCalls(primary, ITeller.read.selector, 0);
        assertEq(host.read{gas: BUDGET / 4}(1), SECONDARY);
    }

    function test_WhenItIsProbedThen() external givenItIsOpen {
        _expectCalls(primary, IHuman.speak.selector, 0);
        _expectCalls(secondary, IHuman.speak.selector, 0);
        _probes(Outcome.NotTried);
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        _storeOpen({retryAt: START});
        _;
    }

    function test_WhenACallSucceeds() external givenItIsHalf_open {
        assertEq(host.safeAsk(), PRIMARY);
        _becomesClosed();
        _assertClosed();
    }

    function test_WhenACallFails() external givenItIsHalf_open {
        primary.toggleMood();
        assertEq(host.safeAsk(), SECONDARY);
        breaker.reopenCount = 1;
        breaker.retryAt = START + COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenAViewIsReadMeanwhile() external givenItIsHalf_open {
        assertEq(host.read(1), PRIMARY);
        _assertUntouched();
    }

    // ─── given that it records in probes only ───

    modifier givenThatItRecordsInProbesOnly() {
        breaker.flags = PROBE_ONLY;
        breaker.failureCount = 1;
        _store();
        _;
    }

    function test_WhenCallsSucceed() external givenThatItRecordsInProbesOnly {
        assertEq(host.safeAsk(), PRIMARY);
        _assertUntouched();
        assertEq(host.speak(), PRIMARY);
        _assertUntouched();
    }

    function test_WhenCallsFail() external givenThatItRecordsInProbesOnly {
        primary.toggleMood();
        for (uint256 i; i <= THRESHOLD; ++i) {
            assertEq(host.safeAsk(), SECONDARY);
            _assertUntouched();
            assertEq(host.speak(), SECONDARY);
            _assertUntouched();
        }
    }

    function test_WhenACallSucceedsInHalf_open() external givenThatItRecordsInProbesOnly {
        _storeOpen({retryAt: START});
        assertEq(host.safeAsk(), PRIMARY);
        _assertUntouched();
        primary.toggleMood();
        assertEq(host.safeAsk(), SECONDARY);
        _assertUntouched();
    }

    function test_WhenAProbeSucceeds() external givenThatItRecordsInProbesOnly {
        _probes(Outcome.Ok);
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenAProbeFails() external givenThatItRecordsInProbesOnly {
        primary.toggleMood();
        _probes(Outcome.Reverted);
        _assertFailed();
    }

    // ─── given a secondary without code ───

    modifier givenASecondaryWithoutCode() {
        _use(_deploy(primary, ITeller(NOBODY)));
        _;
        _assertStored();
    }

    function test_WhenItIsNotNeeded() external givenASecondaryWithoutCode {
        assertEq(host.speak(), PRIMARY);
        assertEq(host.safeAsk(), PRIMARY);
        assertEq(host.read(1), PRIMARY);
        primary.toggleMood();
        _probes(Outcome.Reverted);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
    }

    /// What has no code and answers all the same is a precompile, and a backup like any other.
    function test_WhenItIsAPrecompile() external givenASecondaryWithoutCode {
        primary.toggleMood();
        _use(_deploy(primary, SHA256));
        bytes memory call = abi.encodeCall(host.change, ());
        assertEq(_ask(watched, call), abi.encode(sha256(call)));
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
    }

    function test_RevertWhen_ACallNeedsIt() external givenASecondaryWithoutCode {
        primary.toggleMood();
        _expectNoBackup();
        host.speak();
        _expectNoBackup();
        host.safeAsk();
    }

    function test_RevertWhen_AViewNeedsIt() external givenASecondaryWithoutCode {
        primary.toggleMood();
        _expectNoBackup();
        host.read(1);
    }

    function test_RevertWhen_AValueWouldBeLost_Row17() external givenASecondaryWithoutCode {
        primary.toggleMood();
        vm.deal(address(this), 1 ether);
        _expectNoBackup();
        host.deposit{value: 1 ether}(address(this));
        assertEq(address(this).balance, 1 ether);
        assertEq(NOBODY.balance, 0);
    }

    function test_RevertWhen_ItIsOpenAndNeedsIt() external givenASecondaryWithoutCode {
        _storeOpen({retryAt: START + 1});
        _expectNoBackup();
        host.speak();
        _expectNoBackup();
        host.safeAsk();
        _expectNoBackup();
        host.read(1);
    }

    // ─── given a probe of something else ───

    modifier givenAProbeOfSomethingElse() {
        _store();
        _;
    }

    function test_WhenItProbesAnotherDecoratedFunction() external givenAProbeOfSomethingElse {
        bytes[] memory calls = _calls();
        for (uint256 i; i < calls.length; ++i) {
            assertEq(uint8(host.probeWith(calls[i])), uint8(Outcome.Ok));
            _assertUntouched();
        }
        primary.toggleMood();
        for (uint256 i; i < calls.length; ++i) {
            assertEq(uint8(host.probeWith(calls[i])), uint8(Outcome.Reverted));
            _assertFailed();
            breaker.failureCount = 0;
            _store();
        }
    }

    function test_WhenItProbesADecoratedView() external givenAProbeOfSomethingElse {
        bytes memory read = abi.encodeCall(host.read, (1));
        assertEq(uint8(host.probeWith(read)), uint8(Outcome.Ok));
        _assertUntouched();
        primary.toggleMood();
        assertEq(uint8(host.probeWith(read)), uint8(Outcome.Reverted));
        _assertFailed();
    }

    function test_RevertWhen_ItProbesWhatIsNotDecorated() external givenAProbeOfSomethingElse {
        _isNotDecorated(abi.encodeCall(host.undecorated, ()));
        _isNotDecorated(abi.encodeCall(host.breaker, ()));
    }

    function test_RevertWhen_ItProbesWhatIsNotDecoratedAndReverts() external givenAProbeOfSomethingElse {
        primary.toggleMood();
        _isNotDecorated(abi.encodeCall(host.undecorated, ()));
    }

    function test_RevertWhen_ItProbesWhatIsNotThere() external givenAProbeOfSomethingElse {
        _isNotDecorated("");
        _isNotDecorated(hex"12345678");
        _isNotDecorated(hex"12");
    }

    function test_RevertWhen_ItProbesWithArgumentsThatCannotBeDecoded() external givenAProbeOfSomethingElse {
        _isNotDecorated(abi.encodePacked(host.accepts.selector, type(uint256).max));
        _isNotDecorated(abi.encodePacked(host.accepts.selector));
    }

    function test_WhenItIsOpenMeanwhile() external givenAProbeOfSomethingElse {
        _storeOpen({retryAt: START + 1});
        assertEq(uint8(host.probeWith(abi.encodeCall(host.undecorated, ()))), uint8(Outcome.NotTried));
        _assertUntouched();
    }

    // ─── given a clone whose constructor did not run ───

    modifier givenACloneWhoseConstructorDidNotRun() {
        _use(DecoratedHost(Clones.clone(address(host))));
        _;
    }

    function test_RevertWhen_TheCloneIsCalled_Row21() external givenACloneWhoseConstructorDidNotRun {
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.speak();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.safeAsk();
        _assertStored();
    }

    function test_RevertWhen_TheCloneIsRead_Row21() external givenACloneWhoseConstructorDidNotRun {
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.read(1);
    }

    function test_RevertWhen_TheCloneIsProbed_Row21() external givenACloneWhoseConstructorDidNotRun {
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.probe(id);
        _assertStored();
    }

    function test_WhenTheCloneIsConfigured_Row21() external givenACloneWhoseConstructorDidNotRun {
        host.configure(_config());
        breaker = CircuitBreaker.build(_config());
        _assertStored();
        _watch();
        assertEq(host.safeAsk(), PRIMARY);
        _assertUntouched();
        primary.toggleMood();
        assertEq(host.safeAsk(), SECONDARY);
        _assertFailed();
        _probes(Outcome.Reverted);
        _assertFailed();
    }

    // ─── Helpers ───

    /// Every function that host, bare host and tellers have in common and that records.
    function _calls() private view returns (bytes[] memory calls) {
        calls = new bytes[](5);
        calls[0] = abi.encodeCall(host.speak, ());
        calls[1] = abi.encodeCall(host.deposit, (address(this)));
        calls[2] = abi.encodeCall(host.accepts, (address(this)));
        calls[3] = abi.encodeCall(host.vault, ());
        calls[4] = abi.encodeCall(host.change, ());
    }

    function _ask(address whom, bytes memory call) private returns (bytes memory) {
        (bool ok, bytes memory answer) = whom.call(call);
        assertTrue(ok, "reverted");
        return answer;
    }

    function _opensAfter(uint256 work, Outcome cause) private {
        Breaker memory almost = breaker;
        _use(_deploy(ITeller(address(new RevertsLate(work))), secondary));
        breaker = almost;
        _store();
        assertEq(host.speak(), SECONDARY);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(cause);
    }

    function _expectCalls(Teller teller, bytes4 selector, uint64 count) private {
        vm.expectCall(address(teller), abi.encodeWithSelector(selector), count);
    }

    function _expectNoBackup() private {
        vm.expectRevert(abi.encodeWithSelector(ICircuitBreaker.NoBackup.selector, NOBODY));
    }

    function _isNotDecorated(bytes memory call) private {
        vm.expectRevert(ICircuitBreaker.NotDecorated.selector);
        host.probeWith(call);
        _assertStored();
    }
}
