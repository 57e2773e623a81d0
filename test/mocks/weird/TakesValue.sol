// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  TakesValue
/// @notice Takes the money, passes it on to a thief, and answers with three bytes.
contract TakesValue {
    address payable private immutable _THIEF;

    constructor(address payable thief) {
        _THIEF = thief;
    }

    fallback() external payable {
        _THIEF.transfer(msg.value);
        assembly ("memory-safe") {
            return(0, 3)
        }
    }
}
