// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  HugeRevert
/// @notice Reverts with so many bytes that copying them costs more than asking.
contract HugeRevert {
    uint256 private immutable _SIZE;

    constructor(uint256 size) {
        _SIZE = size;
    }

    fallback() external payable {
        uint256 size = _SIZE;
        assembly {
            mstore(0x40, 0)
            revert(0, size)
        }
    }
}
