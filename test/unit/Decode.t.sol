// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {GuardHarness} from "../utils/GuardHarness.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Reading what a stranger sent, without a way to make the reader revert.
contract DecodeTest is Test {
    GuardHarness private guard = new GuardHarness();
    bytes private answer;

    // ─── given a word ───

    modifier givenAWord() {
        answer = abi.encode(1);
        _;
    }

    function test_WhenItIsComplete() external givenAWord {
        _isUint256(1);
        _isInt256(1);
        _isBool(true);
        _isAddress(address(1));
        answer = abi.encode(0);
        _isUint256(0);
        _isInt256(0);
        _isBool(false);
        _isAddress(address(0));
        answer = abi.encode(-1);
        _isUint256(type(uint256).max);
        _isInt256(-1);
        answer = abi.encode(type(uint160).max);
        _isAddress(address(type(uint160).max));
    }

    function test_WhenItLacksAByte() external givenAWord {
        answer.pop();
        _isNoWord();
        answer = "";
        _isNoWord();
    }

    function test_WhenMoreFollows() external givenAWord {
        answer = bytes.concat(answer, hex"ff");
        _isUint256(1);
        _isInt256(1);
        _isBool(true);
        _isAddress(address(1));
    }

    function test_WhenItIsNoTruthValue_Row08() external givenAWord {
        answer = abi.encode(2);
        _isNoBool();
        answer = abi.encode(uint256(1) << 255 | 1);
        _isNoBool();
    }

    function test_WhenItIsOneBitMoreThanAnAddress_Row08() external givenAWord {
        answer = abi.encode(uint256(1) << 160 | 1);
        _isNoAddress();
        answer = abi.encode(uint256(1) << 255 | 1);
        _isNoAddress();
    }

    // ─── given a string ───

    modifier givenAString() {
        answer = abi.encode("I am a string");
        _;
    }

    function test_WhenItIsWellFormed() external givenAString {
        _isString("I am a string");
        bytes memory copy = answer;
        (, string memory value) = GuardedCall.decodeString(copy);
        uint256 distance;
        assembly ("memory-safe") {
            distance := sub(value, copy)
        }
        // Behind the answer's own length and the offset.
        assertEq(distance, 64, "where it is");
    }

    function test_WhenItFillsItsWordsExactly() external givenAString {
        answer = abi.encode("thirty-two bytes, not one byte +");
        assertEq(answer.length, 96);
        _isString("thirty-two bytes, not one byte +");
    }

    function test_WhenItLacksAByteOfItsText() external givenAString {
        answer = abi.encodePacked(uint256(32), uint256(3), "ab");
        _isNoString();
        // Without the padding that an encoder would add it is complete.
        answer = abi.encodePacked(uint256(32), uint256(3), "abc");
        _isString("abc");
    }

    function test_WhenItsOffsetPointsToTheLastWord() external givenAString {
        answer = abi.encode(uint256(64), uint256(1), uint256(0));
        _isString("");
        answer = abi.encode(uint256(64), uint256(0), uint256(1));
        _isNoString();
    }

    function test_WhenItsOffsetPointsAByteBehindTheLastWord() external givenAString {
        answer = abi.encode(uint256(65), uint256(0), uint256(0));
        _isNoString();
    }

    function test_WhenItsOffsetIsHalfOfAllNumbers_Row08() external givenAString {
        answer = abi.encode(uint256(1) << 255, uint256(0));
        _isNoString();
    }

    function test_WhenItsOffsetIsTheLargestNumber() external givenAString {
        for (uint256 less; less < 66; ++less) {
            answer = abi.encode(type(uint256).max - less, uint256(0));
            _isNoString();
        }
    }

    function test_WhenItsLengthIsTheLargestNumber_Row08() external givenAString {
        for (uint256 less; less < 66; ++less) {
            answer = abi.encode(uint256(32), type(uint256).max - less);
            _isNoString();
        }
    }

    /// Rounded up to words, or added to where it begins, such a length is within bounds.
    function test_WhenItsLengthWrapsRoundToASmallOne() external givenAString {
        answer = abi.encode(uint256(32), type(uint256).max - 31, uint256(0));
        _isNoString();
        answer = abi.encode(uint256(32), uint256(1) << 64, uint256(0));
        _isNoString();
    }

    function test_WhenItsOffsetIsNotAligned() external givenAString {
        answer = abi.encodePacked(uint256(33), hex"ff", uint256(3), "abc");
        _isString("abc");
    }

    /// The one shape that `abi.decode` accepts and this does not: an offset of zero, which makes the offset its own
    /// length of zero. No encoder writes it.
    function test_WhenItIsShorterThanOffsetAndLength() external givenAString {
        answer = abi.encode(0);
        assertEq(guard.toString(answer), "");
        (bool ok,) = guard.tryString(answer);
        assertFalse(ok);
        answer = abi.encodePacked(uint256(32), new bytes(31));
        _isNoString();
        answer = "";
        _isNoString();
    }

    // ─── Helpers: the helper's word, and the compiler's ───

    function _isUint256(uint256 expected) private view {
        (bool ok, uint256 value) = guard.tryUint256(answer);
        assertTrue(ok, "uint256");
        assertEq(value, expected);
        assertEq(value, guard.toUint256(answer));
    }

    function _isInt256(int256 expected) private view {
        (bool ok, int256 value) = guard.tryInt256(answer);
        assertTrue(ok, "int256");
        assertEq(value, expected);
        assertEq(value, guard.toInt256(answer));
    }

    function _isBool(bool expected) private view {
        (bool ok, bool value) = guard.tryBool(answer);
        assertTrue(ok, "bool");
        assertEq(value, expected);
        assertEq(value, guard.toBool(answer));
    }

    function _isAddress(address expected) private view {
        (bool ok, address value) = guard.tryAddress(answer);
        assertTrue(ok, "address");
        assertEq(value, expected);
        assertEq(value, guard.toAddress(answer));
    }

    function _isString(string memory expected) private view {
        (bool ok, string memory value) = guard.tryString(answer);
        assertTrue(ok, "string");
        assertEq(value, expected);
        assertEq(value, guard.toString(answer));
    }

    function _isNoWord() private {
        (bool ok, uint256 value) = guard.tryUint256(answer);
        assertFalse(ok, "uint256");
        assertEq(value, 0);
        (ok,) = guard.tryInt256(answer);
        assertFalse(ok, "int256");
        vm.expectRevert(bytes(""));
        guard.toUint256(answer);
        _isNoBool();
        _isNoAddress();
    }

    function _isNoBool() private {
        (bool ok, bool value) = guard.tryBool(answer);
        assertFalse(ok, "bool");
        assertFalse(value);
        vm.expectRevert(bytes(""));
        guard.toBool(answer);
    }

    function _isNoAddress() private {
        (bool ok, address value) = guard.tryAddress(answer);
        assertFalse(ok, "address");
        assertEq(value, address(0));
        vm.expectRevert(bytes(""));
        guard.toAddress(answer);
    }

    function _isNoString() private {
        (bool ok, string memory value) = guard.tryString(answer);
        assertFalse(ok, "string");
        assertEq(value, "");
        // A length beyond 64 bits is a `Panic` in `abi.decode`, everything else an empty revert.
        (bool decoded,) = address(guard).call(abi.encodeCall(guard.toString, (answer)));
        assertFalse(decoded, "abi.decode");
    }
}
