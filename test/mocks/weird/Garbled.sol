// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Garbled
/// @notice Answers every call, with something that is not a string: its offset points far beyond the answer.
contract Garbled {
    fallback() external {
        assembly ("memory-safe") {
            mstore(0, not(0))
            return(0, 32)
        }
    }
}
