// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {COOLDOWN, LATCH, ONCE_PER_BLOCK, PROBE_ONLY, THRESHOLD} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";

/// @notice What a proxy is made of, what it refuses to be made of, and what it tells about itself.
contract ProxyConstructTest is ProxyTest {
    uint256 private constant MAX_TRANSACTION_GAS = 16_777_216;

    function test_WhenItIsConstructed() external {
        _use(_new(address(primary), address(backup), 0));
        _assertBuilt(PROBE_ONLY);
        assertEq(proxy.primary(), address(primary), "primary");
        assertEq(proxy.backup(), address(backup), "backup");
        assertEq(proxy.owner(), OWNER, "owner");
        bytes32[] memory ids = proxy.breakers();
        assertEq(ids.length, 1, "number of breakers");
        assertEq(ids[0], bytes32(0), "slot");
    }

    function test_WhenItIsConstructedToRecordCalls() external {
        _use(_new(address(primary), address(backup), RECORD_CALLS));
        _assertBuilt(0);
    }

    function test_WhenItIsConstructedWithOtherFlags() external {
        _use(_new(address(primary), address(backup), LATCH | ONCE_PER_BLOCK));
        _assertBuilt(LATCH | ONCE_PER_BLOCK | PROBE_ONLY);
        _use(_new(address(primary), address(backup), PROBE_ONLY));
        _assertBuilt(PROBE_ONLY);
        _use(_new(address(primary), address(backup), LATCH | RECORD_CALLS));
        _assertBuilt(LATCH);
    }

    function test_RevertWhen_ItIsConstructedToRecordCallsAndProbesOnly() external {
        vm.expectRevert(abi.encodeWithSelector(CircuitBreaker.UnknownFlags.selector, RECORD_CALLS));
        _new(address(primary), address(backup), RECORD_CALLS | PROBE_ONLY);
    }

    function test_RevertWhen_ItIsConstructedWithAnUnknownFlag() external {
        vm.expectRevert(abi.encodeWithSelector(CircuitBreaker.UnknownFlags.selector, 8));
        _new(address(primary), address(backup), 8);
    }

    function test_RevertWhen_ItIsConstructedWithAThresholdOfZero() external {
        Config memory config = _config(0);
        config.failureThreshold = 0;
        vm.expectRevert(CircuitBreaker.FailureThresholdZero.selector);
        new FaultTolerantProxy(address(primary), address(backup), OWNER, config, _limits(), "");
    }

    // ─── Primary and backup ───

    function test_RevertWhen_ThePrimaryIsNobody() external {
        _expectNoContract(address(0));
        _new(address(0), address(backup), 0);
    }

    function test_RevertWhen_ThePrimaryHasNoCode() external {
        _expectNoContract(OWNER);
        _new(OWNER, address(backup), 0);
        _expectNoContract(address(2)); // SHA-256
        _new(address(2), address(backup), 0);
    }

    function test_RevertWhen_TheBackupIsNobody() external {
        _expectNoContract(address(0));
        _new(address(primary), address(0), 0);
    }

    function test_RevertWhen_TheBackupHasNoCode() external {
        _expectNoContract(OWNER);
        _new(address(primary), OWNER, 0);
        _expectNoContract(address(4)); // the identity
        _new(address(primary), address(4), 0);
    }

    function test_RevertWhen_TheBackupIsThePrimary() external {
        vm.expectRevert(abi.encodeWithSelector(FaultTolerantProxy.BackupIsPrimary.selector, primary));
        _new(address(primary), address(primary), 0);
    }

    function test_RevertWhen_TheBackupWouldBeTheProxyItself() external {
        address next = vm.computeCreateAddress(address(this), vm.getNonce(address(this)));
        _expectNoContract(next);
        _new(address(primary), next, 0);
    }

    function test_RevertWhen_ItLatchesAndNobodyOwnsIt() external {
        bytes memory call = abi.encodeCall(Shop.stock, ());
        Config memory config = _config(LATCH);
        Limits memory limits = _limits();
        vm.expectRevert(FaultTolerantProxy.LatchWithoutOwner.selector);
        new FaultTolerantProxy(address(primary), address(backup), address(0), config, limits, call);
    }

    // ─── Limits ───

    function test_RevertWhen_TheBudgetIsSmallerThanTheStipend() external {
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.GasBudgetTooSmall.selector, 2299, 2300));
        _newWith(Limits({gas: 2299, reserve: 0, maxReturn: 0, minReturn: 0}));
    }

    function test_RevertWhen_TheBudgetFitsNoTransaction() external {
        uint256 needed = uint256(16_777_216) * 64 / 63 + 100_000;
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.GasBudgetTooLarge.selector, needed, MAX_TRANSACTION_GAS));
        _newWith(Limits({gas: 16_777_216, reserve: 0, maxReturn: 0, minReturn: 0}));
    }

    /// 16.4 million pass one frame, of which 1/64 stays outside; with another frame around it, 1/64 more.
    function test_RevertWhen_TheBudgetFitsATransactionButNotThroughTwoFrames() external {
        Limits memory limits = Limits({gas: 16_400_000, reserve: 0, maxReturn: 0, minReturn: 0});
        GuardedCall.pack(limits);
        vm.expectPartialRevert(GuardedCall.GasBudgetTooLarge.selector);
        _newWith(limits);
    }

    /// With all the gas that a transaction can have, both really are called.
    function test_WhenTheBudgetAndTheReserveJustFitATransaction() external {
        _assertFits(_largest({gas: 16_000_000, reserve: 0, raisesGas: true}));
        _assertFits(_largest({gas: 8_000_000, reserve: 8_000_000, raisesGas: false}));
    }

    /// Each slot that a probe loads is cold.
    function test_RevertWhen_TheCalldataOfAProbeFitsNoTransactionBesides() external {
        Limits memory limits = _largest({gas: 16_000_000, reserve: 0, raisesGas: true});
        limits.gas -= 100_000;
        bytes memory call = new bytes(32 * 40);
        new FaultTolerantProxy(address(primary), address(backup), OWNER, _config(0), limits, call);
        call = new bytes(32 * 50);
        vm.expectPartialRevert(GuardedCall.GasBudgetTooLarge.selector);
        new FaultTolerantProxy(address(primary), address(backup), OWNER, _config(0), limits, call);
    }

    function test_RevertWhen_TheLongestAnswerFitsNoTransaction() external {
        vm.expectPartialRevert(GuardedCall.GasBudgetTooLarge.selector);
        _newWith(Limits({gas: BUDGET, reserve: RESERVE, maxReturn: type(uint32).max, minReturn: 0}));
    }

    function test_RevertWhen_TheShortestAnswerIsLongerThanTheLongest() external {
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.MinReturnAboveMaxReturn.selector, 65, 64));
        _newWith(Limits({gas: BUDGET, reserve: RESERVE, maxReturn: 64, minReturn: 65}));
    }

    // ─── The rest ───

    /// From the signatures, so that a change of the interface is noticed.
    function test_WhenItsInterfacesAreAskedFor() external view {
        bytes4 breakers = bytes4(keccak256("breakers()"));
        bytes4 breakerState = bytes4(keccak256("breakerState(bytes32)"));
        bytes4 probe = bytes4(keccak256("probe(bytes32)"));
        assertTrue(proxy.supportsInterface(breakers ^ breakerState ^ probe), "ICircuitBreaker");
        assertTrue(proxy.supportsInterface(0x01ffc9a7), "ERC-165");
        assertFalse(proxy.supportsInterface(0xffffffff), "what ERC-165 reserves for no");
        assertFalse(proxy.supportsInterface(probe), "a part of ICircuitBreaker");
    }

    function test_RevertWhen_ItIsCloned_Row21() external {
        proxy = FaultTolerantProxy(payable(Clones.clone(address(proxy))));
        bytes memory unconfigured = abi.encodeWithSelector(CircuitBreaker.BreakerNotConfigured.selector);
        _assertCall(0, abi.encodeCall(Shop.stock, ()), false, unconfigured);
        _assertRead(abi.encodeCall(Shop.stock, ()), false, unconfigured);
        vm.expectRevert(unconfigured);
        proxy.probe(id);
    }

    function _assertBuilt(uint8 flags) private view {
        Breaker memory built;
        built.failureThreshold = THRESHOLD;
        built.cooldown = COOLDOWN;
        built.successThreshold = 1;
        built.maxCooldown = COOLDOWN;
        built.flags = flags;
        (State state, Breaker memory stored) = proxy.breakerState(id);
        assertEq(uint8(state), uint8(State.Closed), "state");
        assertEq(abi.encode(stored), abi.encode(built), "breaker");
        _assertStored();
    }

    function _expectNoContract(address target) private {
        vm.expectRevert(abi.encodeWithSelector(FaultTolerantProxy.NoContract.selector, target));
    }

    function _newWith(Limits memory limits) private returns (FaultTolerantProxy) {
        return _new(address(primary), address(backup), RECORD_CALLS, limits);
    }

    function _largest(uint32 gas, uint32 reserve, bool raisesGas) private returns (Limits memory limits) {
        limits = Limits({gas: gas, reserve: reserve, maxReturn: MAX_RETURN, minReturn: 0});
        for (uint32 step = 1 << 20; step != 0; step >>= 1) {
            Limits memory next = Limits(limits.gas, limits.reserve, limits.maxReturn, limits.minReturn);
            if (raisesGas) next.gas += step;
            else next.reserve += step;
            try this.construct(next) {
                limits = next;
            } catch {}
        }
    }

    function construct(Limits memory limits) external {
        _newWith(limits);
    }

    function _assertFits(Limits memory limits) private {
        _use(_newWith(limits));
        _storeNoFailure();
        primary.close(true);
        // What a transaction has after its intrinsic cost and a short calldata.
        (bool ok, bytes memory answer) =
            address(proxy).call{gas: MAX_TRANSACTION_GAS - 22_000}(abi.encodeCall(Shop.stock, ()));
        assertTrue(ok, "success");
        assertEq(answer, abi.encode("backup"), "bytes");
        _becomesCounted(1);
        _assertWritten();
        primary.close(false);
    }
}
