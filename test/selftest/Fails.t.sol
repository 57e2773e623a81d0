// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Test} from "forge-std/Test.sol";

/// @notice Fails on purpose. `make test` runs it alone and is red unless forge exits 1 and names it: the proof that a
///         failing test can't pass for a green build, through a wrapper that swallows the exit code or a filter that
///         matches nothing.
contract FailsTest is Test {
    function test_FailsOnPurpose() public pure {
        assertEq(uint256(1), 2, "on purpose");
    }
}
