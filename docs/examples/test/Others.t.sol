// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {EthUsd} from "../src/EthUsd.sol";
import {ILiveOracle, OldChainMarket} from "../src/OldChainMarket.sol";
import {Test} from "forge-std/Test.sol";
import {Source} from "fusebox/FeedChoice.sol";
import {ResilientFeed} from "fusebox/ResilientFeed.sol";
import {AggregatorV3Interface} from "fusebox/interfaces/AggregatorV3Interface.sol";

contract LiveOracle is ILiveOracle {
    uint256 private _price;
    bool public isDown;
    address public callsBack;

    constructor(uint256 price) {
        _price = price;
    }

    function set(bool isDown_, address callsBack_) external {
        (isDown, callsBack) = (isDown_, callsBack_);
    }

    function update() external returns (uint256) {
        require(!isDown);
        if (callsBack != address(0)) return OldChainMarket(callsBack).update();
        return _price;
    }
}

contract OldChainTest is Test {
    LiveOracle private _primary = new LiveOracle(2000);
    OldChainMarket private _market = new OldChainMarket(_primary, new LiveOracle(1990));

    function test_TripsAndRecovers() external {
        assertEq(_market.update(), 2000);
        _primary.set(true, address(0));
        for (uint256 i = 0; i < 3; ++i) {
            assertEq(_market.update(), 1990);
            skip(12);
        }
        _primary.set(false, address(0));
        assertEq(_market.update(), 1990);
        skip(5 minutes);
        assertEq(_market.update(), 2000);
    }

    /// The primary asks the market, which asks the primary: refused, and so it fails.
    function test_DoesNotReenter() external {
        _primary.set(false, address(_market));
        assertEq(_market.update(), 1990);
    }
}

contract Feed {
    int256 private _answer;

    constructor(int256 answer) {
        _answer = answer;
    }

    function set(int256 answer) external {
        _answer = answer;
    }

    function decimals() external pure returns (uint8) {
        return 8;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (1, _answer, block.timestamp, block.timestamp, 1);
    }
}

contract FeedTest is Test {
    function test_DoesNotServeALie() external {
        Feed primary = new Feed(2000e8);
        ResilientFeed feed =
            EthUsd.deploy(AggregatorV3Interface(address(primary)), AggregatorV3Interface(address(new Feed(2001e8))));
        assertTrue(feed.source() == Source.Primary);
        primary.set(20e8);
        (, int256 answer,,,) = feed.latestRoundData();
        assertEq(answer, 2001e8, "near the last good answer");
        assertTrue(feed.source() == Source.Backup);
    }
}
