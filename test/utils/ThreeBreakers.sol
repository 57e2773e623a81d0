// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerHarness} from "./BreakerHarness.sol";
import {Breaker, CircuitBreaker} from "contracts/CircuitBreaker.sol";

uint256 constant BREAKERS = 3;

/// @title  ThreeBreakers
/// @notice A host with breakers in adjacent slots; every function is for the chosen one.
contract ThreeBreakers is BreakerHarness {
    using CircuitBreaker for Breaker;

    Breaker[BREAKERS] private _breakers;
    uint256 private _chosen;

    function choose(uint256 index) external {
        _chosen = index;
    }

    function idOf(uint256 index) external view returns (bytes32) {
        return _breakers[index].id();
    }

    function words() external view returns (uint256[BREAKERS] memory all) {
        for (uint256 i; i < BREAKERS; ++i) {
            Breaker storage self = _breakers[i];
            assembly ("memory-safe") {
                mstore(add(all, mul(i, 32)), sload(self.slot))
            }
        }
    }

    function _self() internal view override returns (Breaker storage) {
        return _breakers[_chosen];
    }
}
