// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  AssertsFalse
/// @notice Fails an assertion: reverts with `Panic(1)`.
contract AssertsFalse {
    fallback() external payable {
        assert(false);
    }
}
