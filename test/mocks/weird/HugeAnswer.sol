// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  HugeAnswer
/// @notice Answers with a string of so many bytes that copying it costs more than asking.
contract HugeAnswer {
    uint256 private immutable _SIZE;

    constructor(uint256 size) {
        _SIZE = size;
    }

    fallback() external payable {
        uint256 size = _SIZE;
        assembly {
            // A well-formed string that fills the answer. Memory that nobody wrote is zero.
            mstore(0x40, 0)
            mstore(0, 32)
            mstore(32, sub(size, 64))
            return(0, size)
        }
    }
}
