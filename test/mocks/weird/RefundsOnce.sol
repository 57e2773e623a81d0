// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RefundsOnce
/// @notice Sends the value of a call back to whoever called, and keeps what comes without a call.
contract RefundsOnce {
    receive() external payable {}

    fallback() external payable {
        (bool ok,) = msg.sender.call{value: msg.value}("");
        require(ok, "refund refused");
    }
}
