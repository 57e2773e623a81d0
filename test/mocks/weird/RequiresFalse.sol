// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RequiresFalse
/// @notice Fails a check that has no reason: no data, like `revert()`.
contract RequiresFalse {
    fallback() external payable {
        require(false);
    }
}
