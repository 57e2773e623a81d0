// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RevertsCustom
/// @notice Reverts with an error of its own, with an argument.
contract RevertsCustom {
    error NotToday(uint256 mood);

    fallback() external payable {
        revert NotToday(42);
    }
}
