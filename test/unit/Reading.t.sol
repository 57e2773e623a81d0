// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, Defaults, NEVER, START} from "../utils/Defaults.sol";
import {Word} from "../utils/Word.sol";
import {State} from "contracts/CircuitBreaker.sol";

/// @notice What a host decides by. The four questions must give one answer, at the deadline too, and change nothing.
contract ReadingTest is BreakerTest {
    modifier givenItWasBuilt() {
        breaker = Defaults.closed();
        _store();
        _;
    }

    function test_WhenItsIdIsRead() external givenItWasBuilt {
        assertEq(host.id(), bytes32(host.SLOT()), "id");
        // What eth_getStorageAt(host, id) answers.
        assertEq(uint256(vm.load(address(host), host.id())), Word.pack(breaker), "word at the id");
    }

    function test_WhenItsStateIsRead() external givenItWasBuilt {
        _assertState(State.Closed, START);
    }

    modifier givenItOpened() {
        breaker = Defaults.open();
        _store();
        _;
    }

    function test_WhenItsDeadlineIsASecondAway_Row14() external givenItOpened {
        _assertState(State.Open, START + COOLDOWN - 1);
    }

    function test_WhenItsDeadlineHasJustCome_Row14() external givenItOpened {
        _assertState(State.HalfOpen, START + COOLDOWN);
    }

    function test_WhenItsDeadlineWasASecondAgo_Row14() external givenItOpened {
        _assertState(State.HalfOpen, START + COOLDOWN + 1);
    }

    modifier givenItOpenedForEver() {
        breaker = Defaults.open();
        breaker.retryAt = NEVER;
        _store();
        _;
    }

    function test_WhenItIsASecondBeforeTheEndOfTime_Row14() external givenItOpenedForEver {
        _assertState(State.Open, NEVER - 1);
    }

    function test_WhenItIsTheEndOfTime_Row14() external givenItOpenedForEver {
        _assertState(State.Open, NEVER);
    }

    /// One SLOAD and no write for each question.
    function _assertState(State expected, uint40 time) private {
        vm.warp(time);
        bool closed = host.isClosed();
        _assertUntouched();
        bool open = host.isOpen();
        _assertUntouched();
        bool halfOpen = host.isHalfOpen();
        _assertUntouched();
        State state = host.state();
        _assertUntouched();

        assertEq(uint8(state), uint8(expected), "state");
        assertEq(uint8(host.stateOf(host.word(), time)), uint8(expected), "stateOf");
        assertEq(closed, expected == State.Closed, "isClosed");
        assertEq(open, expected == State.Open, "isOpen");
        assertEq(halfOpen, expected == State.HalfOpen, "isHalfOpen");
    }
}
