// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerAssertions} from "./BreakerAssertions.sol";
import {BreakerHarness} from "./BreakerHarness.sol";
import {START} from "./Defaults.sol";

/// @title  BreakerTest
/// @notice The assertions over a bare breaker, each of whose functions makes a single SLOAD.
abstract contract BreakerTest is BreakerAssertions {
    BreakerHarness internal host;

    function setUp() public virtual {
        vm.warp(START);
        _use(new BreakerHarness());
    }

    function _use(BreakerHarness host_) internal {
        host = host_;
        watched = address(host_);
        id = bytes32(host_.SLOT());
        _watch();
    }

    function _assertReads(uint256 sloads) internal pure override {
        assertEq(sloads, 1, "number of SLOADs");
    }
}
