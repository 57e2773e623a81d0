// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {RawRevert} from "../mocks/weird/RawRevert.sol";
import {GuardHarness} from "../utils/GuardHarness.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The assembly in GuardedCall: what it leaves in memory, and that it loses no byte.
contract GuardedCallFuzzTest is Test {
    uint32 private constant ROOM = 16_777_216 - 100_000;

    GuardHarness private guard = new GuardHarness();

    function testFuzz_LimitsArePackedWithoutLoss(Limits memory limits) external view {
        limits.gas = uint32(bound(limits.gas, 2300, ROOM / 2));
        limits.reserve = uint32(bound(limits.reserve, 0, ROOM / 3));
        limits.minReturn = uint32(bound(limits.minReturn, 0, limits.maxReturn));
        PackedLimits packed = guard.pack(limits);
        assertEq(abi.encode(guard.unpack(packed)), abi.encode(limits), "fields");

        // In other words than the library's: so much that after the EVM has kept its 64th, or the host its reserve, the
        // budget is left.
        uint256 left = guard.needed(packed) - 3000;
        assertGe(left - left / 64, limits.gas, "the EVM keeps too much");
        assertGe(left - limits.reserve, limits.gas, "the reserve is not kept");
        // Rounding may cost one gas.
        left -= 2;
        assertTrue(left - left / 64 < limits.gas || left < uint256(limits.reserve) + limits.gas, "more than needed");
    }

    function testFuzz_AnAnswerIsPassedOnOrRefused(bytes memory answer, uint32 shortest, uint32 longest) external {
        longest = uint32(bound(longest, 0, 2 * answer.length));
        shortest = uint32(bound(shortest, 0, longest));
        address target = address(new RawAnswer(answer));
        Outcome expected = Outcome.Ok;
        if (answer.length > longest) expected = Outcome.ReturnTooLarge;
        if (answer.length < shortest) expected = Outcome.BadReturn;
        _comesOfIt(target, _pack(shortest, longest), expected, expected == Outcome.Ok ? answer : bytes(""));
    }

    function testFuzz_RevertDataIsPassedOnUpToTheLongest(bytes memory data, uint32 shortest, uint32 longest) external {
        longest = uint32(bound(longest, 0, 2 * data.length));
        shortest = uint32(bound(shortest, 0, longest));
        address target = address(new RawRevert(data));
        _comesOfIt(target, _pack(shortest, longest), Outcome.Reverted, _firstOf(data, longest));
    }

    function testFuzz_MemoryIsSaneAfterwards(bytes memory said, bytes memory asked, uint32 longest, bool isRevert)
        external
    {
        longest = uint32(bound(longest, 0, 2 * said.length));
        address target = isRevert ? address(new RawRevert(said)) : address(new RawAnswer(said));
        assertEq(guard.checkMemory(target, asked, _pack(0, longest)), "");
    }

    function testFuzz_MemoryIsSaneWithoutATarget(bytes memory asked) external {
        assertEq(guard.checkMemory(makeAddr("nobody"), asked, _pack(0, 100)), "");
    }

    /// What was asked arrives as it was.
    function testFuzz_TheCallArrives(bytes memory asked, uint96 value) external {
        address target = makeAddr("target");
        vm.etch(target, hex"5f5ff3"); // returns nothing
        vm.deal(address(guard), value);
        vm.expectCall(target, value, asked, 1);
        (Outcome outcome, bytes memory answer) = guard.tryCall(target, value, asked, _pack(0, 0));
        assertEq(uint8(outcome), uint8(Outcome.Ok));
        assertEq(answer, "");
        assertEq(target.balance, value);
    }

    function _comesOfIt(address target, PackedLimits limits, Outcome expected, bytes memory expectedAnswer) private {
        (Outcome outcome, bytes memory answer) = guard.tryCall(target, 0, "", limits);
        assertEq(uint8(outcome), uint8(expected), "outcome");
        assertEq(answer, expectedAnswer, "answer");
        (outcome, answer) = guard.tryStaticCall(target, "", limits);
        assertEq(uint8(outcome), uint8(expected), "outcome of the static call");
        assertEq(answer, expectedAnswer, "answer of the static call");
    }

    function _pack(uint32 shortest, uint32 longest) private pure returns (PackedLimits) {
        return GuardedCall.pack(Limits({gas: 1_000_000, reserve: 0, maxReturn: longest, minReturn: shortest}));
    }

    function _firstOf(bytes memory data, uint256 size) private pure returns (bytes memory part) {
        part = new bytes(size < data.length ? size : data.length);
        for (uint256 i; i < part.length; ++i) {
            part[i] = data[i];
        }
    }
}
