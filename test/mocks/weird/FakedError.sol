// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  FakedError
/// @notice Reverts with an `Error(string)` of many bytes whose length says that there are even more.
contract FakedError {
    uint256 private immutable _SIZE;
    uint256 private immutable _LENGTH;

    constructor(uint256 size, uint256 length) {
        _SIZE = size;
        _LENGTH = length;
    }

    fallback() external payable {
        (uint256 size, uint256 length) = (_SIZE, _LENGTH);
        assembly {
            mstore(0x40, 0)
            mstore(0, shl(224, 0x08c379a0)) // Error(string)
            mstore(4, 32)
            mstore(36, length)
            revert(0, size)
        }
    }
}
