// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ITeller} from "./ITeller.sol";

/// @title  Teller
/// @notice A teller who can be in a mood, and refuses everything then.
contract Teller is ITeller {
    error InAMood();

    bool public isMoody;
    string public greeting;
    mapping(address who => uint256) public deposits;

    modifier unlessMoody() {
        if (isMoody) revert InAMood();
        _;
    }

    constructor(string memory greeting_) {
        greeting = greeting_;
    }

    function toggleMood() external {
        isMoody = !isMoody;
    }

    function speak() external view unlessMoody returns (string memory) {
        return greeting;
    }

    function read(uint256) external view unlessMoody returns (string memory) {
        return greeting;
    }

    function deposit(address to) external payable unlessMoody returns (uint256 total) {
        return deposits[to] += msg.value;
    }

    function accepts(address) external view unlessMoody returns (bool) {
        return true;
    }

    function vault() external view unlessMoody returns (address) {
        return address(this);
    }

    function change() external view unlessMoody returns (int256) {
        return -1;
    }
}
