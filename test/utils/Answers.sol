// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Random, Stream} from "./Random.sol";

/// @title  Answers
/// @notice Return data as it is interesting: almost what a decoder accepts, or just about.
library Answers {
    using Random for Stream;

    /// Values with a bit set near the edge of a type, of a length around a word.
    function word(Stream memory stream) internal pure returns (bytes memory answer) {
        uint256 kind = stream.below(5);
        uint256 value = stream.next();
        if (kind == 0) value = stream.below(4);
        if (kind == 1) value = value >> 96;
        if (kind == 2) value = 1 << (159 + stream.below(3));
        if (kind == 3) value = 1 << stream.below(256) | 1;
        answer = _cut(abi.encode(value, stream.next()), stream.oneIn(2) ? 32 : 31 + stream.below(34));
    }

    /// Offset and length near what they are compared with, in an answer of any length.
    function text(Stream memory stream) internal pure returns (bytes memory answer) {
        uint256 size = stream.oneIn(4) ? 62 + stream.below(5) : stream.below(200);
        answer = new bytes(size);
        for (uint256 i; i < size; ++i) {
            answer[i] = bytes1(uint8(stream.next()));
        }
        uint256 offset = _interesting(stream, size < 32 ? 32 : size - 32);
        if (stream.oneIn(2)) offset = 32;
        _put(answer, 0, offset);
        if (offset < size) _put(answer, offset, _interesting(stream, size - offset < 32 ? 0 : size - offset - 32));
    }

    function _interesting(Stream memory stream, uint256 edge) private pure returns (uint256) {
        uint256 kind = stream.below(8);
        if (kind < 4) return stream.around(edge, type(uint256).max);
        if (kind == 4) return stream.below(256);
        if (kind == 5) return type(uint256).max - stream.below(256);
        if (kind == 6) return (uint256(1) << stream.below(256)) + stream.below(3);
        return stream.next();
    }

    /// As many bytes of a word as there is room for.
    function _put(bytes memory answer, uint256 at_, uint256 value) private pure {
        for (uint256 i; i < 32 && at_ + i < answer.length; ++i) {
            answer[at_ + i] = bytes32(value)[i];
        }
    }

    function _cut(bytes memory data, uint256 size) private pure returns (bytes memory) {
        if (size < data.length) {
            assembly ("memory-safe") {
                mstore(data, size)
            }
        }
        return data;
    }
}
