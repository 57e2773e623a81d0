// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {AssertsFalse} from "../mocks/weird/AssertsFalse.sol";
import {BurnsGas} from "../mocks/weird/BurnsGas.sol";
import {FakedError} from "../mocks/weird/FakedError.sol";
import {HugeAnswer} from "../mocks/weird/HugeAnswer.sol";
import {HugeRevert} from "../mocks/weird/HugeRevert.sol";
import {Invalid} from "../mocks/weird/Invalid.sol";
import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {RawRevert} from "../mocks/weird/RawRevert.sol";
import {Relay} from "../mocks/weird/Relay.sol";
import {RequiresFalse} from "../mocks/weird/RequiresFalse.sol";
import {RevertsCustom} from "../mocks/weird/RevertsCustom.sol";
import {RevertsEmpty} from "../mocks/weird/RevertsEmpty.sol";
import {RevertsLate} from "../mocks/weird/RevertsLate.sol";
import {SelfDestructed} from "../mocks/weird/SelfDestructed.sol";
import {TakesValue} from "../mocks/weird/TakesValue.sol";
import {Writes} from "../mocks/weird/Writes.sol";
import {GuardHarness} from "../utils/GuardHarness.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice What comes of a guarded call, whatever the target does.
contract GuardedCallTest is Test {
    uint32 private constant SHORTEST = 64;
    uint32 private constant LONGEST = 100;
    uint32 private constant BUDGET = 320_000;
    uint32 private constant RESERVE = 30_000;
    uint256 private constant A_16TH = BUDGET / 16;
    /// What a mock spends around its work, and the last round of its loop.
    uint256 private constant GIVE_OR_TAKE = 2000;
    /// What a call spends beside its budget and its reserve: the harness, the access of the account, the margin.
    uint256 private constant AROUND = 20_000;

    GuardHarness private guard;
    Limits private limits;
    uint256 private value;

    function setUp() public {
        guard = new GuardHarness();
        limits = Limits({gas: BUDGET, reserve: RESERVE, maxReturn: LONGEST, minReturn: SHORTEST});
    }

    // ─── given an answer ───

    modifier givenAnAnswer() {
        _;
    }

    function test_WhenItIsAByteShorterThanTheShortest() external givenAnAnswer {
        _callBoth(_answers(SHORTEST - 1), Outcome.BadReturn, "");
    }

    function test_WhenItIsAsShortAsTheShortest() external givenAnAnswer {
        _callBoth(_answers(SHORTEST), Outcome.Ok, _bytes(SHORTEST));
    }

    function test_WhenItIsAsLongAsTheLongest() external givenAnAnswer {
        _callBoth(_answers(LONGEST), Outcome.Ok, _bytes(LONGEST));
    }

    function test_WhenItIsAByteLongerThanTheLongest() external givenAnAnswer {
        _callBoth(_answers(LONGEST + 1), Outcome.ReturnTooLarge, "");
    }

    function test_WhenItIsEmptyAndMayBe() external givenAnAnswer {
        (limits.minReturn, limits.maxReturn) = (0, 0);
        _callBoth(_answers(0), Outcome.Ok, "");
        _callBoth(_answers(1), Outcome.ReturnTooLarge, "");
    }

    // ─── given room for exactly 65536 bytes ───

    /// The first length that two bytes cannot say.
    modifier givenRoomForExactly65536Bytes() {
        limits = Limits({gas: 3_000_000, reserve: 100_000, maxReturn: 65_536, minReturn: 65_536});
        _;
    }

    function test_WhenTheAnswerIsAByteShorter() external givenRoomForExactly65536Bytes {
        _callBoth(address(new HugeAnswer(65_535)), Outcome.BadReturn, "");
    }

    function test_WhenTheAnswerIsAsLong() external givenRoomForExactly65536Bytes {
        _callBoth(address(new HugeAnswer(65_536)), Outcome.Ok, abi.encode(new bytes(65_536 - 64)));
    }

    function test_WhenTheAnswerIsAByteLonger() external givenRoomForExactly65536Bytes {
        _callBoth(address(new HugeAnswer(65_537)), Outcome.ReturnTooLarge, "");
    }

    function test_WhenTheRevertIsAsLong() external givenRoomForExactly65536Bytes {
        _callBoth(address(new HugeRevert(65_536)), Outcome.Reverted, new bytes(65_536));
    }

    function test_WhenTheRevertIsAByteLonger() external givenRoomForExactly65536Bytes {
        _callBoth(address(new HugeRevert(65_537)), Outcome.Reverted, new bytes(65_536));
    }

    // ─── given a revert ───

    modifier givenARevert() {
        _;
    }

    function test_WhenItHasNoData() external givenARevert {
        _callBoth(address(new RevertsEmpty()), Outcome.Reverted, "");
    }

    function test_WhenItIsAFailedCheck() external givenARevert {
        _callBoth(address(new RequiresFalse()), Outcome.Reverted, "");
    }

    function test_WhenItIsAFailedAssertion() external givenARevert {
        _callBoth(address(new AssertsFalse()), Outcome.Reverted, abi.encodeWithSignature("Panic(uint256)", 1));
    }

    function test_WhenItIsAnErrorOfItsOwn() external givenARevert {
        bytes memory data = abi.encodeWithSelector(RevertsCustom.NotToday.selector, 42);
        _callBoth(address(new RevertsCustom()), Outcome.Reverted, data);
    }

    function test_WhenItHasLessDataThanAWord() external givenARevert {
        for (uint256 size = 1; size < 32; ++size) {
            _callBoth(address(new RawRevert(_bytes(size))), Outcome.Reverted, _bytes(size));
        }
    }

    function test_WhenItHasAsMuchDataAsIsAccepted() external givenARevert {
        _callBoth(address(new RawRevert(_bytes(LONGEST))), Outcome.Reverted, _bytes(LONGEST));
    }

    function test_WhenItHasAByteMoreThanIsAccepted() external givenARevert {
        _callBoth(address(new RawRevert(_bytes(LONGEST + 1))), Outcome.Reverted, _bytes(LONGEST));
    }

    // ─── given a budget that is used up ───

    modifier givenABudgetThatIsUsedUp() {
        _;
        assertLe(vm.lastCallGas().gasTotalUsed, BUDGET + RESERVE + AROUND, "gas used");
    }

    function test_WhenTheTargetBurnsIt() external givenABudgetThatIsUsedUp {
        _callBoth(address(new BurnsGas()), Outcome.BudgetSpent, "");
    }

    function test_WhenSomebodyBelowTheTargetBurnsIt() external givenABudgetThatIsUsedUp {
        address target = address(new Relay({next: address(new BurnsGas()), wraps: false}));
        _callBoth(target, Outcome.BudgetSpent, "");
    }

    function test_WhenSomebodyBelowBurnsItAndTheTargetSaysSo() external givenABudgetThatIsUsedUp {
        address target = address(new Relay({next: address(new BurnsGas()), wraps: true}));
        _callBoth(target, Outcome.Reverted, abi.encodeWithSelector(Relay.NextFailed.selector, ""));
    }

    function test_WhenItRunsIntoAnInvalidOpcode() external givenABudgetThatIsUsedUp {
        _callBoth(address(new Invalid()), Outcome.BudgetSpent, "");
    }

    function test_WhenItWritesInAStaticCall() external givenABudgetThatIsUsedUp {
        (limits.minReturn, limits.maxReturn) = (32, 32);
        address target = address(new Writes());
        _call(target, Outcome.Ok, abi.encode(1));
        _staticCall(target, Outcome.BudgetSpent, "");
        _call(target, Outcome.Ok, abi.encode(2));
    }

    function test_WhenItRevertsWithALittleMoreThanA16thLeft() external givenABudgetThatIsUsedUp {
        _callBoth(_revertsAfter(BUDGET - A_16TH - GIVE_OR_TAKE), Outcome.Reverted, "");
    }

    function test_WhenItRevertsWithALittleLessThanA16thLeft() external givenABudgetThatIsUsedUp {
        _callBoth(_revertsAfter(BUDGET - A_16TH), Outcome.BudgetSpent, "");
    }

    /// What the value costs the caller is not the target's doing.
    function test_WhenItRevertsWithALittleMoreThanA16thLeftAndAValue() external givenABudgetThatIsUsedUp {
        _hasAndSends(1);
        _call(_revertsAfter(BUDGET - A_16TH - GIVE_OR_TAKE), Outcome.Reverted, "");
    }

    function test_WhenItRevertsWithALittleLessThanA16thLeftAndAValue() external givenABudgetThatIsUsedUp {
        _hasAndSends(1);
        _call(_revertsAfter(BUDGET - A_16TH), Outcome.BudgetSpent, "");
    }

    // ─── given an address without code ───

    modifier givenAnAddressWithoutCode() {
        _;
    }

    function test_WhenNobodyWasEverThere() external givenAnAddressWithoutCode {
        _callBoth(makeAddr("nobody"), Outcome.NoCode, "");
        assertLe(vm.lastCallGas().gasTotalUsed, AROUND, "gas used");
    }

    function test_WhenSomebodyWasThereAndDestroyedItself() external givenAnAddressWithoutCode {
        _callBoth(SelfDestructed.deploy(), Outcome.NoCode, "");
    }

    function test_WhenItIsAPersonWithMoney() external givenAnAddressWithoutCode {
        address person = makeAddr("person");
        vm.deal(person, 1 ether);
        vm.setNonce(person, 1);
        _callBoth(person, Outcome.NoCode, "");
    }

    function test_WhenItIsAPrecompile() external givenAnAddressWithoutCode {
        for (uint160 i = 1; i < 11; ++i) {
            _callBoth(address(i), Outcome.NoCode, "");
        }
    }

    function test_WhenAValueIsSentThere() external givenAnAddressWithoutCode {
        _hasAndSends(1);
        _call(makeAddr("nobody"), Outcome.NoCode, "");
        assertEq(address(guard).balance, 1, "balance");
    }

    // ─── given a million bytes ───

    /// Two million gas for whoever returns them. Who copies them pays that, too.
    modifier givenAMillionBytes() {
        limits = Limits({gas: 3_000_000, reserve: RESERVE, maxReturn: LONGEST, minReturn: SHORTEST});
        _;
        assertLe(vm.lastCallGas().gasTotalUsed, 3_000_000 + RESERVE, "gas used");
    }

    function test_WhenTheyAreAnAnswer() external givenAMillionBytes {
        _callBoth(address(new HugeAnswer(1_000_000)), Outcome.ReturnTooLarge, "");
    }

    function test_WhenTheyAreARevert() external givenAMillionBytes {
        _callBoth(address(new HugeRevert(1_000_000)), Outcome.Reverted, new bytes(LONGEST));
    }

    function test_WhenTheyAreAnErrorThatSaysItHasMore() external givenAMillionBytes {
        bytes memory start = abi.encodePacked(bytes4(0x08c379a0), uint256(32), type(uint256).max);
        assertEq(start.length, 68);
        bytes memory data = bytes.concat(start, new bytes(LONGEST - 68));
        _callBoth(address(new FakedError(1_000_000, type(uint256).max)), Outcome.Reverted, data);
    }

    // ─── given a value ───

    modifier givenAValue() {
        _hasAndSends(1 ether);
        _;
    }

    function test_RevertWhen_TheHostHasLess() external givenAValue {
        vm.deal(address(guard), 1 ether - 1);
        address target = _answers(SHORTEST);
        bytes memory data = abi.encodeCall(guard.tryCall, (target, value, "", guard.pack(limits)));
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.InsufficientBalance.selector, 1 ether, 1 ether - 1));
        (bool ok,) = address(guard).call(data);
        assertTrue(ok, "expectRevert");
    }

    function test_WhenTheHostHasExactlyThat() external givenAValue {
        address target = _answers(SHORTEST);
        _call(target, Outcome.Ok, _bytes(SHORTEST));
        assertEq(target.balance, 1 ether);
        assertEq(address(guard).balance, 0);
    }

    function test_WhenTheTargetFails() external givenAValue {
        address target = address(new RevertsCustom());
        _call(target, Outcome.Reverted, abi.encodeWithSelector(RevertsCustom.NotToday.selector, 42));
        assertEq(target.balance, 0);
        assertEq(address(guard).balance, 1 ether);
    }

    /// Who cannot accept that makes the call in a frame of its own, as the decorator does.
    function test_WhenTheTargetKeepsItAndAnswersTooLittle() external givenAValue {
        address thief = makeAddr("thief");
        _call(address(new TakesValue(payable(thief))), Outcome.BadReturn, "");
        assertEq(thief.balance, 1 ether);
        assertEq(address(guard).balance, 0);
    }

    // ─── Helpers ───

    function _callBoth(address target, Outcome outcome, bytes memory answer) private {
        _staticCall(target, outcome, answer);
        _call(target, outcome, answer);
    }

    function _call(address target, Outcome expected, bytes memory expectedAnswer) private {
        (Outcome outcome, bytes memory answer) = guard.tryCall(target, value, "", guard.pack(limits));
        assertEq(uint8(outcome), uint8(expected), "outcome");
        assertEq(answer, expectedAnswer, "answer");
    }

    function _staticCall(address target, Outcome expected, bytes memory expectedAnswer) private view {
        (Outcome outcome, bytes memory answer) = guard.tryStaticCall(target, "", guard.pack(limits));
        assertEq(uint8(outcome), uint8(expected), "outcome of the static call");
        assertEq(answer, expectedAnswer, "answer of the static call");
    }

    function _hasAndSends(uint256 value_) private {
        value = value_;
        vm.deal(address(guard), value_);
    }

    function _answers(uint256 size) private returns (address) {
        return address(new RawAnswer(_bytes(size)));
    }

    function _revertsAfter(uint256 work) private returns (address) {
        return address(new RevertsLate(work));
    }

    /// No two neighbours are the same, and none is zero.
    function _bytes(uint256 size) private pure returns (bytes memory data) {
        data = new bytes(size);
        for (uint256 i; i < size; ++i) {
            data[i] = bytes1(uint8(1 + i % 255));
        }
    }
}
