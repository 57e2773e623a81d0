// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  ReadsBack
/// @notice Passes what it is asked back to the asker, and fails with what came of that.
contract ReadsBack {
    fallback() external payable {
        (bool ok, bytes memory answer) = msg.sender.staticcall(msg.data);
        assembly ("memory-safe") {
            if iszero(ok) { revert(add(answer, 32), mload(answer)) }
            return(add(answer, 32), mload(answer))
        }
    }
}
