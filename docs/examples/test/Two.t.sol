// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Oracle} from "../src/Oracle.sol";
import {TwoMarkets} from "../src/TwoMarkets.sol";
import {Test} from "forge-std/Test.sol";
import {State} from "fusebox/CircuitBreaker.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {ICircuitBreaker} from "fusebox/interfaces/ICircuitBreaker.sol";

contract TwoTest is Test {
    Oracle private _gold = new Oracle(2000);
    Oracle private _oil = new Oracle(70);
    TwoMarkets private _market = new TwoMarkets(_gold, _oil, new Oracle(1));

    function _states() private view returns (State gold, State oil) {
        bytes32[] memory ids = _market.breakers();
        assertEq(ids.length, 2);
        (gold,) = _market.breakerState(ids[0]);
        (oil,) = _market.breakerState(ids[1]);
    }

    function test_SuccessesOfOneDoNotEndTheStreakOfTheOther() external {
        _gold.setDown(true);
        for (uint256 i = 0; i < 3; ++i) {
            assertEq(_market.goldPrice(), 1);
            assertEq(_market.oilPrice(), 70);
            skip(12);
        }
        (State gold, State oil) = _states();
        assertTrue(gold == State.Open && oil == State.Closed);
    }

    function test_AProbeOfOneDoesNotCloseTheOther() external {
        (bytes32 goldId, bytes32 oilId) = (_market.breakers()[0], _market.breakers()[1]);
        _gold.setDown(true);
        _oil.setDown(true);
        for (uint256 i = 0; i < 3; ++i) {
            assertTrue(_market.probe(goldId) == Outcome.Reverted);
            assertTrue(_market.probe(oilId) == Outcome.Reverted);
            skip(12);
        }
        _gold.setDown(false);
        skip(5 minutes);
        for (uint256 i = 0; i < 2; ++i) {
            assertTrue(_market.probe(goldId) == Outcome.Ok);
            skip(12);
        }
        (State gold, State oil) = _states();
        assertTrue(gold == State.Closed && oil == State.HalfOpen);
    }

    /// Five failures of gold among ten calls of it. In one ring they would be a quarter, of twenty.
    function test_EachHasARingOfItsOwn() external {
        for (uint256 i = 0; i < 10; ++i) {
            _gold.setDown(i % 2 == 1);
            _market.goldPrice();
            _market.oilPrice();
            skip(12);
        }
        (State gold, State oil) = _states();
        assertTrue(gold == State.Open && oil == State.Closed);
    }

    function test_OthersAreUnknown() external {
        bytes32 other = bytes32(uint256(7));
        vm.expectRevert(abi.encodeWithSelector(ICircuitBreaker.UnknownBreaker.selector, other));
        _market.probe(other);
    }
}
