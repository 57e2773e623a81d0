// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BatchHost} from "../mocks/BatchHost.sol";
import {CallsBackWith} from "../mocks/weird/CallsBackWith.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {State} from "contracts/CircuitBreaker.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {Test} from "forge-std/Test.sol";

/// @notice `_caller()` in a host that can be made to call itself: a batch, or whatever else calls what it is given.
/// Only the attempt comes from the caller of the decorated function; everything else comes from the host, as it
///         would without the decorator.
contract FaultTolerantCallerTest is Test {
    CallsBackWith private primary;
    BatchHost private host;
    bytes32 private before;

    function setUp() public {
        primary = new CallsBackWith();
        host = new BatchHost(IHuman(address(primary)), new Stoic("backup"));
        before = vm.load(address(host), host.breakers()[0]);
    }

    // ─── given an owner whose call lets the primary have the host call itself ───

    modifier givenAnOwnerWhoseCallLetsThePrimaryHaveTheHostCallItself() {
        _;
        // The primary answered, so nothing was counted.
        assertEq(vm.load(address(host), host.breakers()[0]), before, "word");
    }

    function test_WhenThatCallIsOneThatOnlyTheOwnerMayMake()
        external
        givenAnOwnerWhoseCallLetsThePrimaryHaveTheHostCallItself
    {
        _speakWhile(abi.encodeCall(host.transferOwnership, (address(primary))));
        assertFalse(primary.ok(), "the primary acted as the owner");
        bytes memory refused = abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, address(host));
        assertEq(primary.answer(), refused, "why");
        assertEq(host.owner(), address(this), "owner");
    }

    function test_WhenThatCallIsTheAttemptOnceMore() external givenAnOwnerWhoseCallLetsThePrimaryHaveTheHostCallItself {
        _speakWhile(abi.encodeCall(host.speak, ()));
        assertFalse(primary.ok(), "a second attempt");
        assertEq(primary.answer(), abi.encodeWithSelector(ICircuitBreaker.Reentered.selector), "why");
    }

    function test_WhenThatCallReadsWhoCalls() external givenAnOwnerWhoseCallLetsThePrimaryHaveTheHostCallItself {
        _speakWhile(abi.encodeCall(host.whoCalls, ()));
        assertTrue(primary.ok(), "success");
        assertEq(abi.decode(primary.answer(), (bytes)), abi.encode(host), "caller");
    }

    // ─── given nobody who attempts anything ───

    modifier givenNobodyWhoAttemptsAnything() {
        _;
    }

    function test_RevertWhen_TheOwnerHasTheHostCallItself() external givenNobodyWhoAttemptsAnything {
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, address(host)));
        host.execute(abi.encodeCall(host.transferOwnership, (address(primary))));
    }

    function _speakWhile(bytes memory call) private {
        primary.prepare(abi.encodeCall(host.execute, (call)));
        assertEq(host.speak(), "called back");
        (State state,) = host.breakerState(host.breakers()[0]);
        assertEq(uint8(state), uint8(State.Closed), "state");
    }
}
