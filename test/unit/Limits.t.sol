// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {GuardHarness} from "../utils/GuardHarness.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Limits are checked when they are built, so that no call finds out that it can never be made.
contract LimitsTest is Test {
    uint32 private constant STIPEND = 2300;
    /// What EIP-7825 leaves of a transaction after 100,000 for what is around a call.
    uint32 private constant ROOM = 16_777_216 - 100_000;
    /// 2,300 · 64/63, rounded down.
    uint32 private constant STIPEND_AND_KEPT = 2336;
    /// ROOM · 63/64, rounded up: one gas more would not fit.
    uint32 private constant LARGEST = 16_416_635;

    GuardHarness private guard = new GuardHarness();
    Limits private limits;

    // ─── given the smallest budget ───

    modifier givenTheSmallestBudget() {
        limits = Limits({gas: STIPEND, reserve: 0, maxReturn: 0, minReturn: 0});
        _;
    }

    function test_RevertWhen_ItIsOneGasBelowTheStipend() external givenTheSmallestBudget {
        limits.gas = STIPEND - 1;
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.GasBudgetTooSmall.selector, STIPEND - 1, STIPEND));
        guard.pack(limits);
    }

    function test_WhenItIsTheStipend() external givenTheSmallestBudget {
        _packs();
    }

    function test_WhenItIsOneGasAboveTheStipend() external givenTheSmallestBudget {
        limits.gas = STIPEND + 1;
        _packs();
    }

    // ─── given the largest reserve for the smallest budget ───

    modifier givenTheLargestReserveForTheSmallestBudget() {
        limits = Limits({gas: STIPEND, reserve: ROOM - STIPEND_AND_KEPT, maxReturn: 0, minReturn: 0});
        _;
    }

    function test_WhenTheReserveIsOneGasLess() external givenTheLargestReserveForTheSmallestBudget {
        limits.reserve -= 1;
        _packs();
    }

    function test_WhenTheReserveFitsExactly() external givenTheLargestReserveForTheSmallestBudget {
        _packs();
    }

    function test_RevertWhen_TheReserveIsOneGasMore() external givenTheLargestReserveForTheSmallestBudget {
        limits.reserve += 1;
        _isTooLarge();
    }

    // ─── given the largest budget without a reserve ───

    modifier givenTheLargestBudgetWithoutAReserve() {
        limits = Limits({gas: LARGEST, reserve: 0, maxReturn: 0, minReturn: 0});
        _;
    }

    function test_WhenTheBudgetIsOneGasLess() external givenTheLargestBudgetWithoutAReserve {
        limits.gas -= 1;
        _packs();
    }

    function test_WhenTheBudgetFitsExactly() external givenTheLargestBudgetWithoutAReserve {
        _packs();
    }

    function test_RevertWhen_TheBudgetIsOneGasMore() external givenTheLargestBudgetWithoutAReserve {
        limits.gas += 1;
        _isTooLarge();
    }

    // ─── given an answer of exact length ───

    modifier givenAnAnswerOfExactLength() {
        limits = Limits({gas: STIPEND, reserve: 0, maxReturn: 32, minReturn: 32});
        _;
    }

    function test_WhenTheShortestIsOneByteShorterThanTheLongest() external givenAnAnswerOfExactLength {
        limits.minReturn = 31;
        _packs();
    }

    function test_WhenTheShortestIsAsLongAsTheLongest() external givenAnAnswerOfExactLength {
        _packs();
    }

    function test_RevertWhen_TheShortestIsOneByteLongerThanTheLongest() external givenAnAnswerOfExactLength {
        limits.minReturn = 33;
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.MinReturnAboveMaxReturn.selector, 33, 32));
        guard.pack(limits);
    }

    // ─── given all fields full ───

    modifier givenAllFieldsFull() {
        uint32 full = type(uint32).max;
        limits = Limits({gas: full, reserve: full, maxReturn: full, minReturn: full});
        _;
    }

    /// Sums of 32-bit numbers do not wrap.
    function test_RevertWhen_TheTypeMaximumIsPacked() external givenAllFieldsFull {
        uint256 full = type(uint32).max;
        uint256 total = full * 64 / 63 + full + 100_000;
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.GasBudgetTooLarge.selector, total, 16_777_216));
        guard.pack(limits);
    }

    // ─── given what is needed ───

    /// 63,000 to give away are 64,000 to have: the EVM keeps 1,000.
    modifier givenWhatIsNeeded() {
        limits = Limits({gas: 63_000, reserve: 1000, maxReturn: 0, minReturn: 0});
        _;
    }

    function test_WhenTheReserveIsSmallerThanWhatTheEVMKeeps() external givenWhatIsNeeded {
        limits.reserve = 999;
        assertEq(guard.needed(guard.pack(limits)), 64_000 + 3000);
        // Rounded up: 63,001 · 64/63 is 64,001.02.
        limits.gas = 63_001;
        assertEq(guard.needed(guard.pack(limits)), 64_002 + 3000);
    }

    function test_WhenTheReserveIsWhatTheEVMKeeps() external givenWhatIsNeeded {
        assertEq(guard.needed(guard.pack(limits)), 64_000 + 3000);
    }

    function test_WhenTheReserveIsLargerThanWhatTheEVMKeeps() external givenWhatIsNeeded {
        limits.reserve = 1001;
        assertEq(guard.needed(guard.pack(limits)), 64_001 + 3000);
    }

    // ─── Helpers ───

    function _packs() private view {
        PackedLimits packed = guard.pack(limits);
        uint256 word = uint256(limits.minReturn) << 96 | uint256(limits.maxReturn) << 64 | uint256(limits.reserve) << 32
            | limits.gas;
        assertEq(PackedLimits.unwrap(packed), word, "word");
        assertEq(abi.encode(guard.unpack(packed)), abi.encode(limits), "fields");
    }

    function _isTooLarge() private {
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.GasBudgetTooLarge.selector, 16_777_217, 16_777_216));
        guard.pack(limits);
    }
}
