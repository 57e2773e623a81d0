// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {ModifiedHost} from "../mocks/ModifiedHost.sol";
import {DecoratedTest} from "../utils/DecoratedTest.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
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
        assertEq(vm.load(watched, id), _word(), "word");
    }

    function test_WhenItIsCalled() external givenAFunctionThatAsksWhoCalls {
        assertEq(_host().who(), address(this));
        vm.prank(stranger);
        assertEq(_host().who(), stranger);
        vm.prank(stranger);
        assertEq(_host().whoElse(), stranger);
    }

    function test_WhenItIsRead() external givenAFunctionThatAsksWhoCalls {
        assertEq(_host().whoReads(), watched);
    }

    /// Never the prober, who could be anyone.
    function test_WhenItIsProbed() external givenAFunctionThatAsksWhoCalls {
        assertEq(uint8(host.probeWith(abi.encodeCall(ModifiedHost.onlyFor, (watched)))), uint8(Outcome.Ok));
    }

    /// A body that calls the host with bytes of its caller's choice lets that caller speak as anyone.
    function test_WhenItIsCalledFromABody() external givenAFunctionThatAsksWhoCalls {
        assertEq(_host().bodyCallsBare(abi.encodePacked(stranger)), stranger);
    }

    // ─── given a check of the owner that sees through the decorator ───

    modifier givenACheckOfTheOwnerThatSeesThroughTheDecorator() {
        _;
    }

    function test_WhenTheOwnerPassesItBeforeTheDecorator() external givenACheckOfTheOwnerThatSeesThroughTheDecorator {
        assertEq(_host().ownerBefore(), PRIMARY);
        _assertStored();
    }

    function test_RevertWhen_AStrangerFailsItBeforeTheDecorator()
        external
        givenACheckOfTheOwnerThatSeesThroughTheDecorator
    {
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, stranger));
        _host().ownerBefore();
        _assertStored();
    }

    function test_WhenTheOwnerPassesItAfterTheDecorator() external givenACheckOfTheOwnerThatSeesThroughTheDecorator {
        assertEq(_host().ownerAfter(), PRIMARY);
        assertEq(_host().ownerInBody(), PRIMARY);
        _assertStored();
    }

    /// The stranger is served by the secondary, and the primary is blamed.
    function test_WhenAStrangerFailsItAfterTheDecorator() external givenACheckOfTheOwnerThatSeesThroughTheDecorator {
        vm.prank(stranger);
        assertEq(_host().ownerAfter(), SECONDARY);
        _countsAFailure();
    }

    function test_WhenAStrangerFailsItInTheBody() external givenACheckOfTheOwnerThatSeesThroughTheDecorator {
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
    function test_WhenTheOwnerPassesThatBeforeTheDecorator()
        external
        givenACheckOfTheOwnerThatDoesNotSeeThroughTheDecorator
    {
        assertEq(_host().senderBefore(), SECONDARY);
        _countsAFailure();
    }

    function test_RevertWhen_AStrangerFailsThatBeforeTheDecorator()
        external
        givenACheckOfTheOwnerThatDoesNotSeeThroughTheDecorator
    {
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSelector(ModifiedHost.NotYou.selector, stranger));
        _host().senderBefore();
        _assertStored();
    }

    // ─── given a lock ───

    modifier givenALock() {
        _;
    }

    /// The lock sees the host's own call as a re-entry. And since the decorator does not come back, it stays.
    function test_WhenItIsTakenBeforeTheDecorator() external givenALock {
        assertEq(_host().lockedBefore(), SECONDARY);
        _countsAFailure();
        vm.expectRevert(ReentrancyGuard.ReentrancyGuardReentrantCall.selector);
        _host().lockedBefore();
        vm.expectRevert(ReentrancyGuard.ReentrancyGuardReentrantCall.selector);
        _host().locked();
        _assertStored();
    }

    function test_WhenItIsTakenAfterTheDecorator() external givenALock {
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

    function test_WhenItIsBeforeTheDecorator() external givenAModifierWithCodeAfterTheBody {
        assertEq(_host().finishesBefore(), PRIMARY);
        assertEq(_host().finished(), 1, "in the inner frame alone");
    }

    function test_WhenItIsAfterTheDecorator() external givenAModifierWithCodeAfterTheBody {
        assertEq(_host().finishesAfter(), PRIMARY);
        assertEq(_host().finished(), 1);
    }

    // ─── given a host that calls itself ───

    modifier givenAHostThatCallsItself() {
        _;
    }

    function test_WhenTwoDecoratorsAreNested() external givenAHostThatCallsItself {
        assertEq(_host().nested(), SECONDARY);
        _countsAFailure();
    }

    function test_RevertWhen_ADecoratedFunctionIsCalled() external givenAHostThatCallsItself {
        vm.expectRevert(ICircuitBreaker.Reentered.selector);
        _host().callsItself();
        _assertStored();
    }

    function test_WhenABodyCallsADecoratedFunction() external givenAHostThatCallsItself {
        assertEq(_host().bodyCallsDecorated(), SECONDARY);
        _countsAFailure();
    }

    // ─── Helpers ───

    function _countsAFailure() private {
        breaker.failureCount = 1;
        breaker.lastFailureAt = uint40(block.timestamp);
        _assertStored();
    }

    function _word() private returns (bytes32 word) {
        word = vm.load(watched, id);
        _assertStored();
    }

    function _assertReads(uint256) internal pure override {}
}
