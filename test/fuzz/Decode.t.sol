// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Answers} from "../utils/Answers.sol";
import {GuardHarness} from "../utils/GuardHarness.sol";
import {Random, Stream} from "../utils/Random.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The helpers decode exactly what `abi.decode` does not revert on, to the same value.
contract DecodeFuzzTest is Test {
    using Random for Stream;

    GuardHarness private guard = new GuardHarness();

    function testFuzz_WordsAreDecodedAsTheCompilerDoes_Row08(uint256 seed) external view {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < 16; ++i) {
            bytes memory answer = Answers.word(stream);
            _agreeOnUint256(answer);
            _agreeOnInt256(answer);
            _agreeOnBool(answer);
            _agreeOnAddress(answer);
        }
    }

    function testFuzz_StringsAreDecodedAsTheCompilerDoes_Row08(uint256 seed) external view {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < 16; ++i) {
            _agreeOnString(Answers.text(stream));
        }
    }

    function testFuzz_AnyBytesAreDecodedAsTheCompilerDoes_Row08(bytes memory answer) external view {
        _agreeOnUint256(answer);
        _agreeOnInt256(answer);
        _agreeOnBool(answer);
        _agreeOnAddress(answer);
        _agreeOnString(answer);
    }

    function testFuzz_EncodedStringsAreDecoded_Row08(string memory text) external view {
        (bool ok, string memory value) = guard.tryString(abi.encode(text));
        assertTrue(ok);
        assertEq(value, text);
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
