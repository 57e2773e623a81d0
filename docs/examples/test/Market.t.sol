// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Market} from "../src/Market.sol";
import {Oracle} from "../src/Oracle.sol";
import {Test} from "forge-std/Test.sol";

contract MarketTest is Test {
    function test_RidesOutAnOutage() external {
        Oracle primary = new Oracle(2000);
        Market market = new Market(primary, new Oracle(1990));
        assertEq(market.price(), 2000);

        primary.setDown(true);
        for (uint256 i = 0; i < 3; ++i) {
            assertEq(market.price(), 1990);
            skip(12);
        }
        primary.setDown(false);
        assertEq(market.price(), 1990, "open: the primary is left alone");

        skip(5 minutes);
        assertEq(market.price(), 2000, "half-open: the first good probe");
        skip(12);
        assertEq(market.price(), 2000, "and the second, which closes it");
        assertEq(uint8(market.breaker().status), 0);
    }
}
