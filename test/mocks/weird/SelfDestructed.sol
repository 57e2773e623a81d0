// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  SelfDestructed
/// @notice Was deployed, and is gone: an address without code.
/// @dev    Bare code, CALLER SELFDESTRUCT, since the compiler warns of the latter.
library SelfDestructed {
    function deploy() internal returns (address gone) {
        assembly ("memory-safe") {
            mstore(0, 0x33ff)
            gone := create(0, 30, 2)
        }
        assert(gone != address(0));
    }
}
