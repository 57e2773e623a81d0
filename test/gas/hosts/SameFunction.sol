// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @notice A backup that has the decorated function itself, and answers like Stoic.
contract SameFunction {
    string public greeting;

    constructor(string memory greeting_) {
        greeting = greeting_;
    }

    function safeAsk() external view returns (string memory) {
        return greeting;
    }
}
