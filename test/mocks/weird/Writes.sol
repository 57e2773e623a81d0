// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Writes
/// @notice Writes before it answers, which a static call punishes with all of its gas.
contract Writes {
    uint256 private _calls;

    fallback() external payable {
        ++_calls;
        assembly ("memory-safe") {
            mstore(0, sload(_calls.slot))
            return(0, 32)
        }
    }
}
