// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {CallsBackOnce} from "../mocks/weird/CallsBackOnce.sol";
import {ReadsBack} from "../mocks/weird/ReadsBack.sol";
import {RefundsCaller} from "../mocks/weird/RefundsCaller.sol";
import {RefundsOnce} from "../mocks/weird/RefundsOnce.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice One outcome for each outer call, whatever primary and backup call in between.
contract ProxyReentrancyTest is ProxyTest {
    bytes private refused = abi.encodeWithSelector(ICircuitBreaker.Reentered.selector);
    bytes private ring = abi.encodeCall(Shop.ring, ());
    bytes private stock = abi.encodeCall(Shop.stock, ());
    bytes private probe = abi.encodeCall(ICircuitBreaker.probe, (bytes32(0)));

    CallsBackOnce private weird;

    function setUp() public override {
        super.setUp();
        weird = new CallsBackOnce();
        vm.deal(address(this), 1 ether);
        vm.deal(address(weird), 1 ether);
    }

    /// It owns the proxy, so that only the lock can refuse it. As the primary it has a budget for all that it wants to
    /// do; as the backup it finds limits that leave enough for a call back.
    function _between(address primary_, address backup_) private {
        Limits memory limits = _limits();
        if (primary_ != address(primary)) limits.gas = 3_000_000;
        _use(
            new FaultTolerantProxy(
                primary_, backup_, address(weird), _config(RECORD_CALLS), limits, abi.encodeCall(Shop.stock, ())
            )
        );
        _storeOneFailure();
    }

    // ─── given a primary that calls back and hides what came of it ───

    modifier givenAPrimaryThatCallsBackAndHidesWhatCameOfIt() {
        _between(address(weird), address(backup));
        _;
        // It answered, so this was a success.
        breaker.failureCount = 0;
        _assertWritten();
    }

    function _isRefused(bytes memory call) private {
        weird.callBack({host: address(proxy), call_: call, hides: true});
        _assertCall(0, ring, true, refused);
    }

    function test_WhenItCallsTheGuardedFunction_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _isRefused(ring);
    }

    function test_WhenItSendsValue_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        weird.callBack({host: address(proxy), call_: "", hides: true});
        _assertCall(1 ether, ring, true, refused);
        assertEq(address(proxy).balance, 0, "money of the proxy");
    }

    function test_WhenItProbes_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _isRefused(probe);
    }

    function test_WhenItConfiguresAsTheOwner_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _isRefused(abi.encodeCall(FaultTolerantProxy.configure, (_config(0))));
    }

    function test_WhenItTripsAsTheOwner() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _isRefused(abi.encodeCall(FaultTolerantProxy.trip, (0)));
    }

    function test_WhenItResetsAsTheOwner() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _isRefused(abi.encodeCall(FaultTolerantProxy.reset, ()));
    }

    function test_WhenItReadsThroughTheProxy() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        _isRefused(stock);
    }

    function test_WhenItReadsWhatTheProxySaysOfItself() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        bytes[] memory calls = new bytes[](6);
        calls[0] = abi.encodeCall(ICircuitBreaker.breakers, ());
        calls[1] = abi.encodeCall(ICircuitBreaker.breakerState, (bytes32(0)));
        calls[2] = abi.encodeCall(FaultTolerantProxy.primary, ());
        calls[3] = abi.encodeCall(FaultTolerantProxy.backup, ());
        calls[4] = abi.encodeCall(FaultTolerantProxy.owner, ());
        calls[5] = abi.encodeCall(FaultTolerantProxy.supportsInterface, (0x01ffc9a7));
        for (uint256 i; i < calls.length; ++i) {
            _storeOneFailure();
            _isRefused(calls[i]);
        }
    }

    function test_WhenItCallsBackWhileProbed_Row15() external givenAPrimaryThatCallsBackAndHidesWhatCameOfIt {
        weird.callBack({host: address(proxy), call_: probe, hides: true});
        vm.expectCall(address(proxy), probe, 2);
        _assertProbe(Outcome.Ok);
    }

    // ─── given a primary that calls back and fails with what came of it ───

    modifier givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt() {
        _between(address(weird), address(backup));
        weird.callBack({host: address(proxy), call_: probe, hides: false});
        _watch();
        _;
        _becomesCounted(2);
        _assertWritten();
    }

    function test_WhenItCallsBackWhileCalled_Row15() external givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt {
        _assertCall(0, stock, true, abi.encode("backup"));
    }

    function test_WhenItCallsBackWhileCalledWithValue_Row15()
        external
        givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt
    {
        _assertCall(1 ether, abi.encodeCall(Shop.buy, (1 ether)), true, _answer(1, "backup"));
        assertEq(address(backup).balance, 1 ether, "money of the backup");
    }

    function test_WhenItFailsWhileProbed_Row15() external givenAPrimaryThatCallsBackAndFailsWithWhatCameOfIt {
        _assertProbe(Outcome.Reverted);
    }

    // ─── given a primary that sends the value back ───

    modifier givenAPrimaryThatSendsTheValueBack() {
        _between(address(new RefundsCaller()), address(backup));
        _;
    }

    function test_WhenValueComes_Row17() external givenAPrimaryThatSendsTheValueBack {
        _assertCall(1 ether, abi.encodeCall(Shop.buy, (1 ether)), true, _answer(1, "backup"));
        _becomesCounted(2);
        _assertWritten();
        assertEq(address(backup).balance, 1 ether, "money of the backup");
        assertEq(address(proxy).balance, 0, "money of the proxy");
    }

    // ─── given a backup that calls back ───

    modifier givenABackupThatCallsBack() {
        _between(address(primary), address(weird));
        primary.close(true);
        _;
    }

    /// The second call finds a backup that has called back already, and answers nothing.
    function test_WhenItCallsTheGuardedFunctionOnceMore_Row15() external givenABackupThatCallsBack {
        weird.callBack({host: address(proxy), call_: ring, hides: true});
        _assertCall(0, ring, true, "");
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertStored();
        (, bytes32[] memory writes) = vm.accesses(address(proxy));
        assertEq(writes.length, 2, "one record for each call");
    }

    function test_WhenItProbesInBetween_Row15() external givenABackupThatCallsBack {
        weird.callBack({host: address(proxy), call_: probe, hides: true});
        _assertCall(0, ring, true, abi.encode(Outcome.Reverted));
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertStored();
        (, bytes32[] memory writes) = vm.accesses(address(proxy));
        assertEq(writes.length, 2, "one record for the call, one for the probe");
    }

    function test_WhenItConfiguresAsTheOwnerInBetween_Row15() external givenABackupThatCallsBack {
        Config memory config = _config(RECORD_CALLS);
        config.failureThreshold = 10;
        weird.callBack({
            host: address(proxy), call_: abi.encodeCall(FaultTolerantProxy.configure, (config)), hides: true
        });
        _assertCall(0, ring, true, "");
        _becomesCounted(2);
        breaker.failureThreshold = 10;
        _assertStored();
    }

    function test_WhenItSendsTheValueBackWhileOpen_Row17() external givenABackupThatCallsBack {
        vm.etch(address(weird), address(new RefundsOnce()).code);
        _storeOpen({retryAt: START + 1});
        uint256 before = address(weird).balance;
        _assertCall(1 ether, ring, true, "");
        _assertUntouched();
        assertEq(address(weird).balance, before + 1 ether, "money of the backup");
        assertEq(address(proxy).balance, 0, "money of the proxy");
    }

    // ─── given a primary that reads back in a static call ───

    modifier givenAPrimaryThatReadsBackInAStaticCall() {
        _between(address(new ReadsBack()), address(backup));
        _;
        _assertUntouched();
    }

    /// No lock is held over a read. But there is never enough left for the same budget once more.
    function test_WhenTheProxyIsRead() external givenAPrimaryThatReadsBackInAStaticCall {
        _assertRead(stock, true, abi.encode("backup"));
    }

    // ─── given calls that follow each other in one transaction ───

    modifier givenCallsThatFollowEachOtherInOneTransaction() {
        _between(address(primary), address(backup));
        _;
    }

    function test_WhenEachIsOverBeforeTheNextBegins() external givenCallsThatFollowEachOtherInOneTransaction {
        _assertCall(0, stock, true, abi.encode("primary"));
        _assertProbe(Outcome.Ok);
        _assertRead(stock, true, abi.encode("primary"));
        _assertCall(0.1 ether, abi.encodeCall(Shop.buy, (0)), true, _answer(1, "primary"));
        primary.close(true);
        _assertCall(0, stock, true, abi.encode("backup"));
        _assertProbe(Outcome.Reverted);
        _assertRead(stock, true, abi.encode("backup"));
        _assertCall(0.1 ether, "", true, "");
        _assertCall(0, stock, true, abi.encode("backup"));
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertStored();
    }
}
