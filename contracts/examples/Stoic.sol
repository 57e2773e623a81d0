// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IHuman} from "../interfaces/IHuman.sol";

/// @title  Stoic
/// @notice A backup that always answers.
contract Stoic is IHuman {
    /// @notice What it says when asked.
    string public greeting;

    constructor(string memory greeting_) {
        greeting = greeting_;
    }

    /// @inheritdoc IHuman
    function speak() external view returns (string memory) {
        return greeting;
    }
}
