// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RevertsLate
/// @notice Works for so much gas, and then reverts without a word.
contract RevertsLate {
    uint256 private immutable _WORK;

    constructor(uint256 work) {
        _WORK = work;
    }

    fallback() external payable {
        uint256 before = gasleft();
        while (before - gasleft() < _WORK) {}
        revert();
    }
}
