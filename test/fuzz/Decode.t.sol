// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {GuardHarness} from "../utils/GuardHarness.sol";
import {Random, Stream} from "../utils/Random.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The helpers decode exactly what `abi.decode` does not revert on, to the same value.
contract DecodeFuzzTest is Test {
    using Random for Stream;

    GuardHarness private guard = new GuardHarness();

    function testFuzz_WordsAreDecodedAsTheCompilerDoes(uint256 seed) external view {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < 16; ++i) {
            bytes memory answer = _words(stream);
            _agreeOnUint256(answer);
            _agreeOnInt256(answer);
            _agreeOnBool(answer);
            _agreeOnAddress(answer);
        }
    }

    function testFuzz_StringsAreDecodedAsTheCompilerDoes(uint256 seed) external view {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < 16; ++i) {
            _agreeOnString(_string(stream));
        }
    }

    function testFuzz_AnyBytesAreDecodedAsTheCompilerDoes(bytes memory answer) external view {
        _agreeOnUint256(answer);
        _agreeOnInt256(answer);
        _agreeOnBool(answer);
        _agreeOnAddress(answer);
        _agreeOnString(answer);
    }

    function testFuzz_EncodedStringsAreDecoded(string memory text) external view {
        (bool ok, string memory value) = guard.tryString(abi.encode(text));
        assertTrue(ok);
        assertEq(value, text);
    }

    // ─── Answers as they are interesting ───

    /// Values with a bit set near the edge of a type, of a length around a word.
    function _words(Stream memory stream) private pure returns (bytes memory answer) {
        uint256 kind = stream.below(5);
        uint256 value = stream.next();
        if (kind == 0) value = stream.below(4);
        if (kind == 1) value = value >> 96;
        if (kind == 2) value = 1 << (159 + stream.below(3));
        if (kind == 3) value = 1 << stream.below(256) | 1;
        answer = _cut(abi.encode(value, stream.next()), stream.oneIn(2) ? 32 : 31 + stream.below(34));
    }

    /// Offset and length near what they are compared with, in an answer of any length.
    function _string(Stream memory stream) private pure returns (bytes memory answer) {
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
    function _put(bytes memory answer, uint256 at_, uint256 word) private pure {
        for (uint256 i; i < 32 && at_ + i < answer.length; ++i) {
            answer[at_ + i] = bytes32(word)[i];
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

    // ─── Agreement ───

    function _agreeOnUint256(bytes memory answer) private view {
        (bool ok, uint256 value) = guard.tryUint256(answer);
        try guard.toUint256(answer) returns (uint256 expected) {
            assertTrue(ok, "uint256: refused");
            assertEq(value, expected);
        } catch {
            assertFalse(ok, "uint256: decoded");
        }
    }

    function _agreeOnInt256(bytes memory answer) private view {
        (bool ok, int256 value) = guard.tryInt256(answer);
        try guard.toInt256(answer) returns (int256 expected) {
            assertTrue(ok, "int256: refused");
            assertEq(value, expected);
        } catch {
            assertFalse(ok, "int256: decoded");
        }
    }

    function _agreeOnBool(bytes memory answer) private view {
        (bool ok, bool value) = guard.tryBool(answer);
        try guard.toBool(answer) returns (bool expected) {
            assertTrue(ok, "bool: refused");
            assertEq(value, expected);
        } catch {
            assertFalse(ok, "bool: decoded");
        }
    }

    function _agreeOnAddress(bytes memory answer) private view {
        (bool ok, address value) = guard.tryAddress(answer);
        try guard.toAddress(answer) returns (address expected) {
            assertTrue(ok, "address: refused");
            assertEq(value, expected);
        } catch {
            assertFalse(ok, "address: decoded");
        }
    }

    /// Below 64 bytes there is no string, whatever `abi.decode` makes of it; see unit/Decode.t.sol.
    function _agreeOnString(bytes memory answer) private view {
        (bool ok, string memory value) = guard.tryString(answer);
        if (answer.length < 64) {
            assertFalse(ok, "string: decoded from less than there must be");
            return;
        }
        try guard.toString(answer) returns (string memory expected) {
            assertTrue(ok, "string: refused");
            assertEq(value, expected);
        } catch {
            assertFalse(ok, "string: decoded");
        }
    }
}
