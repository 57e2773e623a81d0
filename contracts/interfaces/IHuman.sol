// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  IHuman
/// @notice Somebody who can be asked. What the examples call, and what may fail.
interface IHuman {
    /// @notice What this human has to say. May revert.
    function speak() external view returns (string memory);
}
