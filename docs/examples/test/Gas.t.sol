// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "../src/DecoratedMarket.sol";
import {GuardedMarket} from "../src/GuardedMarket.sol";
import {IOracle} from "../src/Market.sol";
import {Oracle} from "../src/Oracle.sol";
import {Test, console} from "forge-std/Test.sol";
import {Breaker} from "fusebox/CircuitBreaker.sol";
import {GuardedCall, Limits} from "fusebox/GuardedCall.sol";

// ANCHOR: measure
contract MeasureTest is Test {
    IOracle private _primary = new Oracle(2000); // on a fork: the address of the real one

    /// Slots and accounts are cold at the start of a test, so only the first call counts.
    function test_MeasureCold() external view {
        uint256 before = gasleft();
        _primary.price();
        console.log("gas of a cold call:", before - gasleft());
    }
}

// ANCHOR_END: measure

// ANCHOR: starved
/// Healthy, and dear. A cheap one is hard to starve: what is left to record with would be too little.
contract DearOracle is IOracle {
    function price() external view returns (uint256) {
        uint256 before = gasleft();
        while (before - gasleft() < 1_400_000) {}
        return 2000;
    }
}

contract StarvedTest is Test {
    GuardedMarket private _market = new GuardedMarket(new DearOracle(), new Oracle(1990), 1_500_000);

    /// Whatever gas a caller chooses: the primary's answer, or a revert. Never the backup's, never a failure.
    function testFuzz_AStarvedPrimaryIsNotBlamed(uint256 gas_) external {
        gas_ = bound(gas_, 21_000, 3_000_000);
        (bool ok, bytes memory answer) = address(_market).call{gas: gas_}(abi.encodeCall(_market.price, ()));
        if (ok) assertEq(abi.decode(answer, (uint256)), 2000);
        (, Breaker memory breaker) = _market.breakerState(_market.breakers()[0]);
        assertEq(breaker.failureCount, 0);
    }
}

// ANCHOR_END: starved

/// What the page about budgets says.
contract FiguresTest is Test {
    Oracle private _primary = new Oracle(2000);
    DecoratedMarket private _market = new DecoratedMarket(_primary, new Oracle(1990));

    /// With the limits of `DecoratedMarket`. On top of `needed`, what comes before the check: below 5,000 here.
    function test_ACallNeedsBudgetAndReserve() external {
        uint256 needed =
            GuardedCall.needed(GuardedCall.pack(Limits({gas: 60_000, reserve: 80_000, maxReturn: 0, minReturn: 0})));
        assertEq(needed, 60_000 + 80_000 + 3000);
        uint256 price = _least(abi.encodeCall(_market.price, ()));
        assertGt(price, needed);
        assertLt(price, needed + 5000);
        // A probe asks first whether the function is decorated.
        uint256 probe = _least(_probe());
        assertGt(probe, price);
        assertLt(probe, price + 5000);
    }

    /// However small the limits are.
    function test_AProbeNeedsEnoughToAskWithToo() external {
        (bool ok, bytes memory answer) = address(_market).call{gas: 52_000}(_probe());
        assertFalse(ok);
        assertEq(bytes4(answer), GuardedCall.InsufficientGas.selector);
        (uint256 needed,) = abi.decode(_arguments(answer), (uint256, uint256));
        assertEq(needed, 52_000);
    }

    function test_ALimitFromWhileOpenIsTooLowOnceHalfOpen() external {
        _primary.setDown(true);
        for (uint256 i = 0; i < 3; ++i) {
            _market.price();
            skip(12);
        }
        uint256 estimated = _least(abi.encodeCall(_market.price, ()));
        assertLt(estimated, 20_000);
        skip(5 minutes);
        (bool ok, bytes memory answer) = address(_market).call{gas: estimated}(abi.encodeCall(_market.price, ()));
        assertFalse(ok);
        assertEq(bytes4(answer), GuardedCall.InsufficientGas.selector);
    }

    function _probe() private view returns (bytes memory) {
        return abi.encodeCall(_market.probe, (_market.breakers()[0]));
    }

    /// The least gas with which a call succeeds.
    function _least(bytes memory call) private returns (uint256 high) {
        uint256 low = 5000;
        high = 400_000;
        uint256 before = vm.snapshotState();
        while (high - low > 1) {
            uint256 middle = (low + high) / 2;
            (bool ok,) = address(_market).call{gas: middle}(call);
            if (ok) high = middle;
            else low = middle;
            vm.revertToState(before);
        }
    }

    function _arguments(bytes memory data) private pure returns (bytes memory arguments) {
        arguments = new bytes(data.length - 4);
        for (uint256 i = 0; i < arguments.length; ++i) {
            arguments[i] = data[i + 4];
        }
    }
}
