// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RevertsEmpty
/// @notice Reverts without a word, and gives its gas back.
contract RevertsEmpty {
    fallback() external payable {
        revert();
    }
}
