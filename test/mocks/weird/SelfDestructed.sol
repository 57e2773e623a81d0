// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  SelfDestructed
/// @notice Was deployed, and is gone: an address without code.
contract SelfDestructed {
    constructor() {
        assembly ("memory-safe") {
            selfdestruct(caller())
        }
    }
}
