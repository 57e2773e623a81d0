// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerAssertions} from "./BreakerAssertions.sol";
import {START} from "./Defaults.sol";

/// @title  PolicyTest
/// @notice The assertions over a breaker in a host that keeps more than the breaker: only accesses of the breaker's
/// slot are looked at.
abstract contract PolicyTest is BreakerAssertions {
    function setUp() public virtual {
        vm.warp(START);
    }

    function _use(address host, bytes32 id_) internal {
        watched = host;
        id = id_;
        _watch();
    }

    function _assertAccesses(uint256 sstores) internal override {
        assertEq(_writesOf(id), sstores, "number of SSTOREs of the breaker");
    }

    function _writesOf(bytes32 slot) internal returns (uint256 count) {
        (, bytes32[] memory writes) = vm.accesses(watched);
        for (uint256 i; i < writes.length; ++i) {
            if (writes[i] == slot) ++count;
        }
    }

    /// @dev A policy may look at the breaker more than once.
    function _assertReads(uint256) internal pure override {}
}
