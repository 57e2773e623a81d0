// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RefundsCaller
/// @notice Sends the value back to whoever called, and reverts where that is refused.
contract RefundsCaller {
    fallback() external payable {
        if (msg.value == 0) return;
        (bool ok,) = msg.sender.call{value: msg.value}("");
        require(ok, "refund refused");
    }
}
