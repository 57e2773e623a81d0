// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ResilientTest} from "../utils/ResilientTest.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Breaker, CircuitBreaker, State} from "contracts/CircuitBreaker.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice What Resilient tells about itself: enough for a stranger to find its breaker and to understand it.
contract ResilientReadingTest is ResilientTest {
    function test_WhenItIsConstructed() external view {
        Breaker memory built;
        built.failureThreshold = THRESHOLD;
        built.cooldown = COOLDOWN;
        built.successThreshold = 1;
        built.maxCooldown = COOLDOWN;
        assertEq(abi.encode(resilient.breaker()), abi.encode(built), "breaker");
        assertEq(address(resilient.primary()), address(primary), "primary");
        assertEq(address(resilient.secondary()), address(secondary), "secondary");
    }

    function test_RevertWhen_ItIsConstructedWithAThresholdOfZero() external {
        vm.expectRevert(CircuitBreaker.FailureThresholdZero.selector);
        new Resilient(primary, secondary, 0, COOLDOWN);
    }

    function test_RevertWhen_ItIsConstructedWithACooldownOfZero() external {
        vm.expectRevert(CircuitBreaker.CooldownZero.selector);
        new Resilient(primary, secondary, THRESHOLD, 0);
    }

    function test_RevertWhen_ItIsConstructedWithoutASecondary() external {
        IHuman nobody = IHuman(makeAddr("nobody"));
        vm.expectRevert(abi.encodeWithSelector(Resilient.SecondaryWithoutCode.selector, nobody));
        new Resilient(primary, nobody, THRESHOLD, COOLDOWN);
    }

    function test_RevertWhen_ItIsConstructedWithTheSecondaryZero() external {
        vm.expectRevert(abi.encodeWithSelector(Resilient.SecondaryWithoutCode.selector, address(0)));
        new Resilient(primary, IHuman(address(0)), THRESHOLD, COOLDOWN);
    }

    function test_RevertWhen_ItIsConstructedWithThePrimaryTwice() external {
        vm.expectRevert(abi.encodeWithSelector(Resilient.SecondaryIsPrimary.selector, primary));
        new Resilient(primary, primary, THRESHOLD, COOLDOWN);
    }

    /// From the signatures, so that a change of the interface is noticed.
    function test_WhenItsInterfacesAreAskedFor() external view {
        bytes4 breakers = bytes4(keccak256("breakers()"));
        bytes4 breakerState = bytes4(keccak256("breakerState(bytes32)"));
        bytes4 probe = bytes4(keccak256("probe(bytes32)"));
        assertTrue(resilient.supportsInterface(breakers ^ breakerState ^ probe), "ICircuitBreaker");
        assertTrue(resilient.supportsInterface(0x01ffc9a7), "ERC-165");
        assertFalse(resilient.supportsInterface(0xffffffff), "what ERC-165 reserves for no");
        assertFalse(resilient.supportsInterface(probe), "a part of ICircuitBreaker");
    }

    // ─── given its only breaker ───

    modifier givenItsOnlyBreaker() {
        id = resilient.breakers()[0];
        _;
    }

    function test_WhenTheBreakersAreListed() external givenItsOnlyBreaker {
        assertEq(resilient.breakers().length, 1, "number of breakers");
        assertEq(id, bytes32(0), "slot");
        _assertStored();
    }

    function test_WhenItNeverTripped() external givenItsOnlyBreaker {
        _assertState(State.Closed);
    }

    function test_WhenItTripped() external givenItsOnlyBreaker {
        _storeOpen({retryAt: START + 1});
        _assertState(State.Open);
    }

    function test_WhenItsCooldownIsOver() external givenItsOnlyBreaker {
        _storeOpen({retryAt: START});
        _assertState(State.HalfOpen);
    }

    // ─── given an id that is no breaker ───

    modifier givenAnIdThatIsNoBreaker() {
        id = bytes32(uint256(1));
        _;
    }

    function test_RevertWhen_TheStateOfThatIsRead() external givenAnIdThatIsNoBreaker {
        vm.expectRevert(abi.encodeWithSelector(ICircuitBreaker.UnknownBreaker.selector, id));
        resilient.breakerState(id);
    }

    // ─── given a clone of it ───

    /// It has the humans, which are in the code, and an empty slot. Without a way to configure it, it can only refuse.
    modifier givenACloneOfIt() {
        _use(Resilient(Clones.clone(address(resilient))));
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        _;
        _assertUntouched();
    }

    function test_RevertWhen_TheCloneIsAsked_Row21() external givenACloneOfIt {
        resilient.ask();
    }

    function test_RevertWhen_TheCloneIsAskedForARecord_Row21() external givenACloneOfIt {
        resilient.safeAsk();
    }

    function test_RevertWhen_TheCloneIsProbed_Row21() external givenACloneOfIt {
        resilient.probe(id);
    }

    function test_RevertWhen_TheStateInTheCloneIsRead_Row21() external givenACloneOfIt {
        resilient.breakerState(id);
    }

    function _assertState(State expected) private view {
        (State state, Breaker memory stored) = resilient.breakerState(id);
        assertEq(uint8(state), uint8(expected), "state");
        assertEq(abi.encode(stored), abi.encode(breaker), "breakerState");
        assertEq(abi.encode(resilient.breaker()), abi.encode(breaker), "breaker");
    }
}
