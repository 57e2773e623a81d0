// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @notice Calls its caller with whatever it was prepared with, keeps what came of that, and answers.
contract CallsBackWith {
    bytes public prepared;
    bytes public answer;
    bool public ok;

    function prepare(bytes calldata call) external {
        prepared = call;
    }

    function speak() external returns (string memory) {
        (ok, answer) = msg.sender.call(prepared);
        return "called back";
    }
}
