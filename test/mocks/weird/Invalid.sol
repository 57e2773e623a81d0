// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Invalid
/// @notice Runs into the invalid opcode: halts at once, and its gas is gone all the same.
contract Invalid {
    fallback() external payable {
        assembly ("memory-safe") {
            invalid()
        }
    }
}
