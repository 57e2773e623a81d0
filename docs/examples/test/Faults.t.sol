// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "../src/DecoratedMarket.sol";
import {IOracle} from "../src/Market.sol";
import {Oracle} from "../src/Oracle.sol";
import {Test} from "forge-std/Test.sol";
import {BurnsGas} from "fusebox-contracts/test/mocks/weird/BurnsGas.sol";
import {HugeAnswer} from "fusebox-contracts/test/mocks/weird/HugeAnswer.sol";
import {HugeRevert} from "fusebox-contracts/test/mocks/weird/HugeRevert.sol";
import {RawAnswer} from "fusebox-contracts/test/mocks/weird/RawAnswer.sol";
import {RevertsEmpty} from "fusebox-contracts/test/mocks/weird/RevertsEmpty.sol";
import {Breaker} from "fusebox/CircuitBreaker.sol";

// ANCHOR: faults
contract FaultsTest is Test {
    function test_SurvivesEachFault() external {
        _survives(address(new BurnsGas()));
        _survives(address(new HugeAnswer(1_000_000)));
        _survives(address(new HugeRevert(1_000_000)));
        _survives(address(new RawAnswer(hex"abcdef")));
        _survives(address(new RevertsEmpty()));
        _survives(makeAddr("no code"));
    }

    /// The backup answers, the failure is counted once, and the price of it is bounded.
    function _survives(address weird) private {
        DecoratedMarket market = new DecoratedMarket(IOracle(weird), new Oracle(1990));
        uint256 before = gasleft();
        assertEq(market.price(), 1990);
        assertLt(before - gasleft(), 140_000, "budget and reserve");
        (, Breaker memory breaker) = market.breakerState(market.breakers()[0]);
        assertEq(breaker.failureCount, 1);
    }
}
// ANCHOR_END: faults
