// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {GuardedCall} from "contracts/GuardedCall.sol";
import {Test} from "forge-std/Test.sol";

/// @notice What a caller is told who sent too little gas.
abstract contract StarvedTest is Test {
    /// @return available What is said to have been left.
    function _assertStarved(bytes memory data, uint256 wanted) internal view returns (uint256 available) {
        assertEq(bytes4(data), GuardedCall.InsufficientGas.selector, "error");
        uint256 needed;
        (needed, available) = this.decodeInsufficientGas(data);
        assertEq(needed, wanted, "needed");
        assertLt(available, needed, "available");
    }

    function decodeInsufficientGas(bytes calldata data) external pure returns (uint256, uint256) {
        return abi.decode(data[4:], (uint256, uint256));
    }
}
