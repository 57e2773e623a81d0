// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ITeller} from "./ITeller.sol";

/// @title  BareHost
/// @notice What DecoratedHost is without its decorators: the yardstick for what it returns.
contract BareHost {
    ITeller private immutable _PRIMARY;

    constructor(ITeller primary) {
        _PRIMARY = primary;
    }

    function speak() external view returns (string memory) {
        return _PRIMARY.speak();
    }

    function read(uint256 page) external view returns (string memory) {
        return _PRIMARY.read(page);
    }

    function deposit(address to) external payable returns (uint256 total) {
        return _PRIMARY.deposit{value: msg.value}(to);
    }

    function accepts(address who) external returns (bool) {
        return _PRIMARY.accepts(who);
    }

    function vault() external returns (address) {
        return _PRIMARY.vault();
    }

    function change() external returns (int256) {
        return _PRIMARY.change();
    }
}
