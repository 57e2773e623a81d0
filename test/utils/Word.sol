// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, Status} from "contracts/CircuitBreaker.sol";

/// @title  Word
/// @notice A breaker's storage word from its fields, and back.
/// @dev    The tests' own idea of the layout, written without the library's offsets: the fields' widths, one after the
///         other. Layout.t.sol holds it against what the compiler does with the struct.
library Word {
    /// @notice The word that holds these fields.
    function pack(Breaker memory b) internal pure returns (uint256) {
        // In two halves, since thirteen values at once are too many for the stack.
        bytes memory high =
            abi.encodePacked(b.probedAt, b.flags, b.lastFailureAt, b.window, b.maxCooldown, b.reopenCount);
        bytes memory low = abi.encodePacked(
            b.successThreshold,
            b.successCount,
            b.retryAt,
            b.cooldown,
            b.failureThreshold,
            b.failureCount,
            uint8(b.status)
        );
        return uint256(bytes32(bytes.concat(high, low)));
    }

    /// @notice The fields that a word holds. The status must be one that exists.
    function unpack(uint256 word) internal pure returns (Breaker memory b) {
        uint256 rest;
        (rest, b.status) = (word >> 8, Status(uint8(word)));
        (rest, b.failureCount) = (rest >> 16, uint16(rest));
        (rest, b.failureThreshold) = (rest >> 16, uint16(rest));
        (rest, b.cooldown) = (rest >> 32, uint32(rest));
        (rest, b.retryAt) = (rest >> 40, uint40(rest));
        (rest, b.successCount) = (rest >> 8, uint8(rest));
        (rest, b.successThreshold) = (rest >> 8, uint8(rest));
        (rest, b.reopenCount) = (rest >> 8, uint8(rest));
        (rest, b.maxCooldown) = (rest >> 32, uint32(rest));
        (rest, b.window) = (rest >> 32, uint32(rest));
        (rest, b.lastFailureAt) = (rest >> 40, uint40(rest));
        (rest, b.flags) = (rest >> 8, uint8(rest));
        b.probedAt = uint8(rest);
    }
}
