// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IHuman} from "../interfaces/IHuman.sol";

/// @title  Moody
/// @notice A primary that fails now and then: it answers, except when in a mood. Anyone can change the mood.
contract Moody is IHuman {
    /// @notice It was asked while in a mood.
    error InAMood();

    /// @notice Whether `speak` reverts.
    bool public isMoody;

    /// @notice What it says when asked.
    string public greeting;

    constructor(string memory greeting_) {
        greeting = greeting_;
    }

    /// @notice Starts the mood, or ends it.
    function toggleMood() external {
        isMoody = !isMoody;
    }

    /// @inheritdoc IHuman
    function speak() external view returns (string memory) {
        if (isMoody) revert InAMood();
        return greeting;
    }
}
