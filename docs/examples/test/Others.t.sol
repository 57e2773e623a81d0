// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {EthUsd} from "../src/EthUsd.sol";
import {ILiveOracle, OldChainMarket} from "../src/OldChainMarket.sol";
import {Test} from "forge-std/Test.sol";
import {SettableFeed} from "fusebox-contracts/test/mocks/SettableFeed.sol";
import {Source} from "fusebox/FeedChoice.sol";
import {ResilientFeed} from "fusebox/ResilientFeed.sol";

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

contract FeedTest is Test {
    SettableFeed private _primary;
    SettableFeed private _backup;
    ResilientFeed private _resilient;

    function setUp() external {
        vm.warp(1_700_000_000);
        (_primary, _backup) = (_feed(1, 2000e8), _feed(1000, 2001e8));
        _resilient = EthUsd.deploy(_primary, _backup);
    }

    // ANCHOR: feed
    function _feed(uint80 firstRound, int256 answer) private returns (SettableFeed feed) {
        feed = new SettableFeed(8, firstRound);
        feed.answers(answer, block.timestamp);
    }

    function test_DoesNotServeALie() external {
        assertTrue(_resilient.source() == Source.Primary);
        _primary.answers(20e8, block.timestamp);
        (, int256 answer,,,) = _resilient.latestRoundData();
        assertEq(answer, 2001e8, "near the last good answer");
        assertTrue(_resilient.source() == Source.Backup);
    }

    function test_ServesTheBackupWhenThePrimaryIsDown() external {
        _primary.setDown(true);
        (, int256 answer,,,) = _resilient.latestRoundData();
        assertEq(answer, 2001e8);
    }
    // ANCHOR_END: feed
}
