// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {ModifiedHost} from "../mocks/ModifiedHost.sol";
import {Teller} from "../mocks/Teller.sol";
import {SlowHuman} from "../mocks/weird/SlowHuman.sol";
import {DecoratedTest} from "../utils/DecoratedTest.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice Other modifiers around the decorator: what the right order does, and what each mistake does.
contract ModifiersTest is DecoratedTest {
    address private stranger = makeAddr("stranger");

    function _deploy(ITeller primary_, ITeller secondary_) internal override returns (DecoratedHost) {
        return new ModifiedHost(primary_, secondary_, _config(), _limits());
    }

    function _host() private view returns (ModifiedHost) {
        return ModifiedHost(address(host));
    }

    // ─── given a function that asks who calls ───

    modifier givenAFunctionThatAsksWhoCalls() {
        _;
        _assertStored();
    }

    function test_WhenItIsCalled() external givenAFunctionThatAsksWhoCalls {
        assertEq(_host().who(), address(this));
        vm.prank(stranger);
        assertEq(_host().who(), stranger);
        vm.prank(stranger);
        assertEq(_host().whoElse(), stranger);
    }

    function test_WhenItIsRead() external view givenAFunctionThatAsksWhoCalls {
        assertEq(_host().whoReads(), watched);
    }

    /// Never the prober, who could be anyone.
    function test_WhenItIsProbed() external givenAFunctionThatAsksWhoCalls {
        assertEq(uint8(host.probeWith(abi.encodeCall(ModifiedHost.onlyFor, (watched)))), uint8(Outcome.Ok));
    }

    /// A body that calls another function of the host comes from the host, whatever it appends.
    function test_WhenItIsCalledFromABody() external givenAFunctionThatAsksWhoCalls {
        assertEq(_host().bodyCallsBare(abi.encodePacked(stranger)), watched);
    }

    // ─── given a check of the owner that sees through the decorator ───

    modifier givenACheckOfTheOwnerThatSeesThroughTheDecorator() {
        _;
    }

    function test_WhenTheOwnerPassesItBeforeTheDecorator_Row20()
        external
        givenACheckOfTheOwnerThatSeesThroughTheDecorator
    {
        assertEq(_host().ownerBefore(), PRIMARY);
        _assertStored();
    }

    function test_RevertWhen_AStrangerFailsItBeforeTheDecorator_Row20()
        external
        givenACheckOfTheOwnerThatSeesThroughTheDecorator
    {
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, stranger));
        _host().ownerBefore();
        _assertStored();
    }

    function test_WhenTheOwnerPassesItAfterTheDecorator_Row20()
        external
        givenACheckOfTheOwnerThatSeesThroughTheDecorator
    {
        assertEq(_host().ownerAfter(), PRIMARY);
        assertEq(_host().ownerInBody(), PRIMARY);
        _assertStored();
    }

    /// The stranger is served by the secondary, and the primary is blamed.
    function test_WhenAStrangerFailsItAfterTheDecorator_Row20()
        external
        givenACheckOfTheOwnerThatSeesThroughTheDecorator
    {
        vm.prank(stranger);
        assertEq(_host().ownerAfter(), SECONDARY);
        _countsAFailure();
    }

    function test_WhenAStrangerFailsItInTheBody_Row20() external givenACheckOfTheOwnerThatSeesThroughTheDecorator {
        vm.prank(stranger);
        assertEq(_host().ownerInBody(), SECONDARY);
        _countsAFailure();
    }

    /// In a probe the host itself calls, which is not the owner.
    function test_RevertWhen_AFunctionThatBeginsWithItIsProbed()
        external
        givenACheckOfTheOwnerThatSeesThroughTheDecorator
    {
        bytes memory call = abi.encodeCall(ModifiedHost.ownerBefore, ());
        vm.expectRevert(ICircuitBreaker.NotDecorated.selector);
        host.probeWith(call);
        _assertStored();
    }

    // ─── given a check of the owner that does not see through the decorator ───

    modifier givenACheckOfTheOwnerThatDoesNotSeeThroughTheDecorator() {
        _;
    }

    /// It passes, and then the host fails it, who calls itself.
    function test_WhenTheOwnerPassesThatBeforeTheDecorator_Row20()
        external
        givenACheckOfTheOwnerThatDoesNotSeeThroughTheDecorator
    {
        assertEq(_host().senderBefore(), SECONDARY);
        _countsAFailure();
    }

    function test_RevertWhen_AStrangerFailsThatBeforeTheDecorator_Row20()
        external
        givenACheckOfTheOwnerThatDoesNotSeeThroughTheDecorator
    {
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSelector(ModifiedHost.NotYou.selector, stranger));
        _host().senderBefore();
        _assertStored();
    }

    // ─── given a check that reads storage before the decorator ───

    /// What the check costs is spent twice, and the first time by the question whether the function is decorated. The
    /// budget is the least that will do, and there is no reserve, so that nothing hides that.
    modifier givenACheckThatReadsStorageBeforeTheDecorator() {
        _;
        Limits memory limits = Limits({gas: _tightestBudget(), reserve: 0, maxReturn: 0, minReturn: 0});
        _use(new ModifiedHost(primary, secondary, _config(), limits));
        breaker.failureCount = 1;
        _store();
        uint256 untouched = vm.snapshotState();
        uint256 edge = _edge(untouched, limits.gas / 2, 2 * limits.gas + 100_000);
        for (uint256 gas_ = 5000; gas_ < edge; gas_ += 1 + edge / 500) {
            assertFalse(_isProbed(untouched, gas_), "far below the edge");
        }
        for (uint256 gas_ = edge - 5000; gas_ < edge + 5000; gas_ += 13) {
            assertEq(_isProbed(untouched, gas_), gas_ >= edge, "one edge");
        }
    }

    function test_WhenAQuickPrimaryIsProbedWithAnyGas() external givenACheckThatReadsStorageBeforeTheDecorator {}

    /// The 64th that the EVM keeps of a large budget is enough to record with.
    function test_WhenASlowPrimaryIsProbedWithAnyGas() external givenACheckThatReadsStorageBeforeTheDecorator {
        primary = Teller(address(new SlowHuman(PRIMARY, 1_000_000)));
    }

    // ─── given a lock ───

    modifier givenALock() {
        _;
    }

    /// The lock sees the host's own call as a re-entry. And since the decorator does not come back, it stays.
    function test_WhenItIsTakenBeforeTheDecorator_Row20() external givenALock {
        assertEq(_host().lockedBefore(), SECONDARY);
        _countsAFailure();
        vm.expectRevert(ReentrancyGuard.ReentrancyGuardReentrantCall.selector);
        _host().lockedBefore();
        vm.expectRevert(ReentrancyGuard.ReentrancyGuardReentrantCall.selector);
        _host().locked();
        _assertStored();
    }

    function test_WhenItIsTakenAfterTheDecorator_Row20() external givenALock {
        assertEq(_host().lockedAfter(), PRIMARY);
        assertTrue(_host().locked());
        primary.toggleMood();
        assertEq(_host().lockedAfter(), SECONDARY);
        _countsAFailure();
        assertTrue(_host().locked());
    }

    // ─── given a modifier with code after the body ───

    modifier givenAModifierWithCodeAfterTheBody() {
        _;
        _assertStored();
    }

    function test_WhenItIsBeforeTheDecorator_Row20() external givenAModifierWithCodeAfterTheBody {
        assertEq(_host().finishesBefore(), PRIMARY);
        assertEq(_host().finished(), 1, "in the inner frame alone");
    }

    function test_WhenItIsAfterTheDecorator_Row20() external givenAModifierWithCodeAfterTheBody {
        assertEq(_host().finishesAfter(), PRIMARY);
        assertEq(_host().finished(), 1);
    }

    // ─── given a host that calls itself ───

    modifier givenAHostThatCallsItself() {
        _;
    }

    function test_WhenTwoDecoratorsAreNested_Row20() external givenAHostThatCallsItself {
        assertEq(_host().nested(), SECONDARY);
        _countsAFailure();
    }

    function test_RevertWhen_ADecoratedFunctionIsCalled_Row20() external givenAHostThatCallsItself {
        vm.expectRevert(ICircuitBreaker.Reentered.selector);
        _host().callsItself();
        _assertStored();
    }

    function test_WhenABodyCallsADecoratedFunction_Row20() external givenAHostThatCallsItself {
        assertEq(_host().bodyCallsDecorated(), SECONDARY);
        _countsAFailure();
    }

    /// Without a backup of its own: that is the function's.
    function test_WhenABodyReadsADecoratedView_Row20() external givenAHostThatCallsItself {
        vm.expectCall(address(secondary), abi.encodeCall(ITeller.read, (1)), 0);
        assertEq(_host().bodyReads(), PRIMARY);
        _assertStored();
        primary.toggleMood();
        assertEq(_host().bodyReads(), SECONDARY);
        _countsAFailure();
    }

    // ─── Helpers ───

    function _countsAFailure() private {
        breaker.failureCount = 1;
        breaker.lastFailureAt = uint40(block.timestamp);
        _assertStored();
    }

    /// The least budget with which the function can be probed at all.
    function _tightestBudget() private returns (uint32) {
        uint256 cold = vm.snapshotState();
        (uint256 low, uint256 high) = (2300, 2_000_000);
        while (high - low > 1) {
            uint256 middle = (low + high) / 2;
            Limits memory limits = Limits({gas: uint32(middle), reserve: 0, maxReturn: 0, minReturn: 0});
            ModifiedHost tried = new ModifiedHost(primary, secondary, _config(), limits);
            (bool ok, bytes memory answer) = address(tried).call(_probe());
            if (ok && abi.decode(answer, (Outcome)) == Outcome.Ok) high = middle;
            else low = middle;
            assertTrue(vm.revertToState(cold));
        }
        return uint32(high);
    }

    function _edge(uint256 untouched, uint256 low, uint256 high) private returns (uint256) {
        while (high - low > 1) {
            uint256 middle = (low + high) / 2;
            if (_isProbed(untouched, middle)) high = middle;
            else low = middle;
        }
        return high;
    }

    function _isProbed(uint256 untouched, uint256 gas_) private returns (bool) {
        assertTrue(vm.revertToState(untouched));
        bytes32 before = vm.load(watched, id);
        (bool ok, bytes memory answer) = watched.call{gas: gas_}(_probe());
        if (ok) {
            assertEq(abi.decode(answer, (uint8)), uint8(Outcome.Ok), "a healthy primary was blamed");
            assertEq(host.breaker().failureCount, 0, "failures after a good probe");
            return true;
        }
        assertEq(vm.load(watched, id), before, "word");
        if (answer.length > 0) assertEq(bytes4(answer), GuardedCall.InsufficientGas.selector, "error");
        return false;
    }

    function _probe() private pure returns (bytes memory) {
        return abi.encodeCall(DecoratedHost.probeWith, (abi.encodeCall(ModifiedHost.runningBefore, ())));
    }

    function _assertReads(uint256) internal pure override {}
}
