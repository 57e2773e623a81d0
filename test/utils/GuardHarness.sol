// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @title  GuardHarness
/// @notice Every function of GuardedCall from outside, and the compiler's own decoding beside it.
contract GuardHarness {
    using GuardedCall for PackedLimits;

    receive() external payable {}

    // ─── Limits ───

    function pack(Limits memory limits) external pure returns (PackedLimits) {
        return GuardedCall.pack(limits);
    }

    function needed(PackedLimits limits) external pure returns (uint256) {
        return limits.needed();
    }

    function unpack(PackedLimits limits) external pure returns (Limits memory) {
        return Limits({
            gas: uint32(limits.gasOf()),
            reserve: uint32(limits.reserveOf()),
            maxReturn: uint32(limits.maxReturnOf()),
            minReturn: uint32(limits.minReturnOf())
        });
    }

    // ─── Calling ───

    function tryCall(address target, uint256 value, bytes memory data, PackedLimits limits)
        external
        returns (Outcome, bytes memory)
    {
        return GuardedCall.tryCall(target, value, data, limits);
    }

    function tryStaticCall(address target, bytes memory data, PackedLimits limits)
        external
        view
        returns (Outcome, bytes memory)
    {
        return GuardedCall.tryStaticCall(target, data, limits);
    }

    // ─── Memory ───

    /// @notice Makes a call with dirty memory around it, and checks what is in memory afterwards.
    /// @return what Empty, or what is wrong.
    function checkMemory(address target, bytes memory data, PackedLimits limits) external returns (string memory what) {
        uint256 start;
        assembly ("memory-safe") {
            start := mload(0x40)
            // What is free need not be zero.
            for { let i := 0 } lt(i, 8192) { i := add(i, 32) } { mstore(add(start, i), not(i)) }
        }
        bytes32 used = _hash(0x80, start);

        (, bytes memory answer) = GuardedCall.tryCall(target, 0, data, limits);

        uint256 end;
        uint256 place;
        uint256 zero;
        assembly ("memory-safe") {
            end := mload(0x40)
            place := answer
            zero := mload(0x60)
        }
        bytes32 said = keccak256(answer);
        if (_hash(0x80, start) != used) return "what was in use has changed";
        if (zero != 0) return "the zero slot is not zero";
        if (end % 32 != 0) return "the free memory pointer is not aligned";
        if (answer.length == 0 && place == 0x60) return end == start ? "" : "memory for an answer that is not there";
        if (place != start) return "the answer is not where free memory began";
        if (end != place + 32 + (answer.length + 31) / 32 * 32) return "the answer is not what was allocated";

        bytes memory next = new bytes(256);
        for (uint256 i; i < next.length; ++i) {
            next[i] = 0xff;
        }
        if (keccak256(answer) != said) return "the next allocation is in the answer";
    }

    function _hash(uint256 from, uint256 to) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            hash := keccak256(from, sub(to, from))
        }
    }

    // ─── Decoding ───

    function tryUint256(bytes memory answer) external pure returns (bool, uint256) {
        return GuardedCall.decodeUint256(answer);
    }

    function tryInt256(bytes memory answer) external pure returns (bool, int256) {
        return GuardedCall.decodeInt256(answer);
    }

    function tryBool(bytes memory answer) external pure returns (bool, bool) {
        return GuardedCall.decodeBool(answer);
    }

    function tryAddress(bytes memory answer) external pure returns (bool, address) {
        return GuardedCall.decodeAddress(answer);
    }

    function tryString(bytes memory answer) external pure returns (bool, string memory) {
        return GuardedCall.decodeString(answer);
    }

    function toUint256(bytes memory answer) external pure returns (uint256) {
        return abi.decode(answer, (uint256));
    }

    function toInt256(bytes memory answer) external pure returns (int256) {
        return abi.decode(answer, (int256));
    }

    function toBool(bytes memory answer) external pure returns (bool) {
        return abi.decode(answer, (bool));
    }

    function toAddress(bytes memory answer) external pure returns (address) {
        return abi.decode(answer, (address));
    }

    function toString(bytes memory answer) external pure returns (string memory) {
        return abi.decode(answer, (string));
    }
}
