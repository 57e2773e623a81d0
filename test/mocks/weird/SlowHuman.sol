// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IHuman} from "../../../contracts/interfaces/IHuman.sol";

/// @title  SlowHuman
/// @notice Healthy, but answers only after so much work. Starved of it, it fails like one who is not.
contract SlowHuman is IHuman {
    string public greeting;
    uint256 private immutable _WORK;

    /// @param work Gas, give or take the last round of the loop.
    constructor(string memory greeting_, uint256 work) {
        greeting = greeting_;
        _WORK = work;
    }

    /// @inheritdoc IHuman
    function speak() external view returns (string memory) {
        uint256 before = gasleft();
        while (before - gasleft() < _WORK) {}
        return greeting;
    }
}
