// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  BurnsGas
/// @notice Uses up whatever gas it is given, whatever it is asked.
contract BurnsGas {
    fallback() external payable {
        for (uint256 i;; ++i) {}
    }
}
