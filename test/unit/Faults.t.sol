// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {GuardedHost} from "../mocks/GuardedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
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
import {SelfDestructed} from "../mocks/weird/SelfDestructed.sol";
import {BreakerAssertions} from "../utils/BreakerAssertions.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {Breaker, Config} from "contracts/CircuitBreaker.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Whatever a primary does: it is recorded, the secondary serves, and it costs the budget and little more.
/// @dev    The same for each kind of host, below. They differ in what they can tell apart.
abstract contract FaultsTest is BreakerAssertions {
    string internal constant SECONDARY = "I am the secondary";
    /// What a call costs beside the primary's budget: a host without a deadline of its own would have none.
    uint256 private constant CONSTANT = 150_000;
    uint256 private constant MEGABYTE = 1_000_000;

    Moody internal secondary;

    /// @dev The kind of host under test. Its functions are Resilient's.
    function _deploy(address primary) internal virtual returns (address);
    function _budget() internal pure virtual returns (uint256);

    /// @dev What this kind of host makes of an outcome.
    function _told(Outcome outcome) internal pure virtual returns (Outcome) {
        return outcome;
    }

    /// @dev What it makes of one where the primary burnt its gas without being run.
    function _toldOfARefusal(Outcome outcome) internal pure virtual returns (Outcome) {
        return outcome;
    }

    /// @dev What it makes of one after which there is much to copy.
    function _toldOfAFlood(Outcome outcome) internal pure virtual returns (Outcome) {
        return outcome;
    }

    function setUp() public {
        vm.warp(START);
        secondary = new AskableHuman(SECONDARY);
    }

    // ─── given a primary that uses up its gas ───

    modifier givenAPrimaryThatUsesUpItsGas() {
        _;
    }

    function test_WhenItBurnsIt_Row05() external givenAPrimaryThatUsesUpItsGas {
        _isRecorded(address(new BurnsGas()), Outcome.BudgetSpent);
    }

    function test_WhenSomebodyBelowItBurnsIt_Row05() external givenAPrimaryThatUsesUpItsGas {
        _isRecorded(address(new Relay({next: address(new BurnsGas()), wraps: false})), Outcome.BudgetSpent);
    }

    function test_WhenSomebodyBelowBurnsItAndItSaysSo_Row05() external givenAPrimaryThatUsesUpItsGas {
        _isRecorded(address(new Relay({next: address(new BurnsGas()), wraps: true})), Outcome.Reverted);
    }

    function test_WhenItRunsIntoAnInvalidOpcode_Row06() external givenAPrimaryThatUsesUpItsGas {
        _isRecorded(address(new Invalid()), Outcome.BudgetSpent);
    }

    // ─── given a primary that reverts ───

    modifier givenAPrimaryThatReverts() {
        _;
    }

    function test_WhenItSaysNothing_Row06() external givenAPrimaryThatReverts {
        _isRecorded(address(new RevertsEmpty()), Outcome.Reverted);
    }

    function test_WhenACheckFails_Row06() external givenAPrimaryThatReverts {
        _isRecorded(address(new RequiresFalse()), Outcome.Reverted);
    }

    function test_WhenAnAssertionFails_Row06() external givenAPrimaryThatReverts {
        _isRecorded(address(new AssertsFalse()), Outcome.Reverted);
    }

    function test_WhenItHasAnErrorOfItsOwn_Row06() external givenAPrimaryThatReverts {
        _isRecorded(address(new RevertsCustom()), Outcome.Reverted);
    }

    function test_WhenItSaysLessThanAWord_Row09() external givenAPrimaryThatReverts {
        for (uint256 size = 1; size < 32; ++size) {
            _isRecorded(address(new RawRevert(new bytes(size))), Outcome.Reverted);
        }
    }

    // ─── given a primary without code ───

    modifier givenAPrimaryWithoutCode() {
        _;
    }

    function test_WhenNobodyWasEverThere_Row07() external givenAPrimaryWithoutCode {
        _isRecorded(makeAddr("nobody"), _told(Outcome.NoCode));
    }

    function test_WhenSomebodyWasThereAndDestroyedItself_Row07() external givenAPrimaryWithoutCode {
        _isRecorded(SelfDestructed.deploy(), _told(Outcome.NoCode));
    }

    function test_WhenItIsAPersonWithMoney_Row07() external givenAPrimaryWithoutCode {
        address person = makeAddr("person");
        vm.deal(person, 1 ether);
        vm.setNonce(person, 1);
        _isRecorded(person, _told(Outcome.NoCode));
    }

    /// They have no code, but they answer: the fourth with what it is asked. A bare call burns its gas where they
    /// refuse, and cannot read what they compute.
    function test_WhenItIsAPrecompile_Row07() external givenAPrimaryWithoutCode {
        for (uint160 i = 1; i < 11; ++i) {
            (bool ok,) = address(i).staticcall{gas: 100_000}(abi.encodeCall(IHuman.speak, ()));
            _isRecorded(address(i), ok ? _told(Outcome.NoCode) : _toldOfARefusal(Outcome.NoCode));
        }
    }

    // ─── given an answer that is no string ───

    modifier givenAnAnswerThatIsNoString() {
        _;
    }

    function test_WhenItIsTooShort_Row08() external givenAnAnswerThatIsNoString {
        _isABadReturn("");
        _isABadReturn(hex"01020304");
        _isABadReturn(new bytes(31));
        _isABadReturn(abi.encode(32));
        _isABadReturn(abi.encodePacked(uint256(32), new bytes(31)));
    }

    function test_WhenItIsANumber_Row08() external givenAnAnswerThatIsNoString {
        _isABadReturn(abi.encode(42));
        _isABadReturn(abi.encode(type(uint256).max));
    }

    function test_WhenItsOffsetIsOutOfRange_Row08() external givenAnAnswerThatIsNoString {
        _isABadReturn(abi.encode(uint256(1) << 255, 0, 0));
        _isABadReturn(abi.encode(type(uint256).max - 31, 0, 0));
        _isABadReturn(abi.encode(65, 0, 0));
    }

    function test_WhenItsLengthIsOutOfRange_Row08() external givenAnAnswerThatIsNoString {
        _isABadReturn(abi.encode(32, type(uint256).max, 0));
        _isABadReturn(abi.encode(32, uint256(1) << 64, 0));
        _isABadReturn(abi.encode(32, 33, 0));
    }

    // ─── given a flood ───

    /// Two million gas to say it, and as much to hear it. With a budget below that, all of it is spent.
    modifier givenAFlood() {
        _;
    }

    function test_WhenTheAnswerIsAMegabyte_Row09() external givenAFlood {
        _isRecorded(address(new HugeAnswer(MEGABYTE)), _toldOfAFlood(Outcome.ReturnTooLarge));
    }

    function test_WhenTheRevertDataIsAMegabyte_Row09() external givenAFlood {
        _isRecorded(address(new HugeRevert(MEGABYTE)), _toldOfAFlood(Outcome.Reverted));
    }

    function test_WhenTheRevertDataIsAMegabyteAndSaysItIsMore_Row09() external givenAFlood {
        _isRecorded(address(new FakedError(MEGABYTE, type(uint256).max)), _toldOfAFlood(Outcome.Reverted));
    }

    // ─── given an unusual answer that is a string ───

    modifier givenAnUnusualAnswerThatIsAString() {
        _;
    }

    function test_WhenItIsNotPadded() external givenAnUnusualAnswerThatIsAString {
        _isPassedOn(abi.encodePacked(uint256(32), uint256(3), "abc"), "abc");
    }

    function test_WhenItIsNotAligned() external givenAnUnusualAnswerThatIsAString {
        _isPassedOn(abi.encodePacked(uint256(33), hex"ff", uint256(3), "abc"), "abc");
    }

    function test_WhenMoreFollowsIt() external givenAnUnusualAnswerThatIsAString {
        _isPassedOn(abi.encodePacked(uint256(32), uint256(3), "abc", type(uint256).max), "abc");
    }

    function test_WhenItIsEmpty() external givenAnUnusualAnswerThatIsAString {
        _isPassedOn(abi.encode(""), "");
    }

    // ─── given both are down ───

    modifier givenBothAreDown() {
        secondary.toggleMood();
        _host(address(new RevertsCustom()));
        _;
    }

    function test_RevertWhen_ItIsAsked() external givenBothAreDown {
        vm.expectRevert(Moody.InAMood.selector);
        Resilient(watched).ask();
        _assertStored();
    }

    /// The record is rolled back with the rest.
    function test_RevertWhen_ItIsAskedForTheRecord() external givenBothAreDown {
        vm.expectRevert(Moody.InAMood.selector);
        Resilient(watched).safeAsk();
        _assertStored();
    }

    function test_WhenItIsProbedUpToTheThreshold_Row10() external givenBothAreDown {
        for (uint16 count = 1; count < THRESHOLD; ++count) {
            _probe(Outcome.Reverted);
            _counts(count);
        }
        _probe(Outcome.Reverted);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── Helpers ───

    function _isABadReturn(bytes memory answer) private {
        _isRecorded(address(new RawAnswer(answer)), _told(Outcome.BadReturn));
    }

    /// Asked, probed, and asked once more, which is the third failure.
    function _isRecorded(address primary, Outcome outcome) private {
        _host(primary);
        assertEq(Resilient(watched).ask(), SECONDARY);
        _assertUntouched();

        assertEq(Resilient(watched).safeAsk(), SECONDARY);
        assertLe(vm.lastCallGas().gasTotalUsed, _budget() + CONSTANT, "gas used");
        _counts(1);

        _probe(outcome);
        assertLe(vm.lastCallGas().gasTotalUsed, _budget() + CONSTANT, "gas used by the probe");
        _counts(2);

        assertEq(Resilient(watched).safeAsk(), SECONDARY);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(outcome);
    }

    function _isPassedOn(bytes memory answer, string memory text) private {
        _host(address(new RawAnswer(answer)));
        assertEq(Resilient(watched).ask(), text);
        _assertUntouched();
        assertEq(Resilient(watched).safeAsk(), text);
        _assertUntouched();
        _probe(Outcome.Ok);
        _assertUntouched();
    }

    function _probe(Outcome expected) private {
        assertEq(uint8(Resilient(watched).probe(id)), uint8(expected), "outcome");
    }

    function _counts(uint16 count) private {
        breaker.failureCount = count;
        breaker.lastFailureAt = START;
        _assertWritten();
    }

    function _host(address primary) private {
        watched = _deploy(primary);
        breaker = Resilient(watched).breaker();
        _store();
    }

    /// @dev One to decide whether to ask, one to record what came of it.
    function _assertReads(uint256 sloads) internal pure override {
        assertLe(sloads, 2, "number of SLOADs");
    }

    function _config() internal pure returns (Config memory) {
        return Config(THRESHOLD, COOLDOWN, 1, COOLDOWN, 0, 0);
    }
}

/// @notice The example.
contract ResilientFaultsTest is FaultsTest {
    function _deploy(address primary) internal override returns (address) {
        return address(new Resilient(IHuman(primary), secondary, THRESHOLD, COOLDOWN));
    }

    function _budget() internal pure override returns (uint256) {
        return 100_000;
    }

    /// Nobody says a megabyte with this budget.
    function _toldOfAFlood(Outcome) internal pure override returns (Outcome) {
        return Outcome.BudgetSpent;
    }
}

/// @notice The same with a budget that a flood can come out of.
contract GuardedFaultsTest is FaultsTest {
    function _deploy(address primary) internal override returns (address) {
        Limits memory limits = Limits({gas: 3_000_000, reserve: 150_000, maxReturn: 4096, minReturn: 64});
        return address(new GuardedHost(IHuman(primary), secondary, _config(), limits));
    }

    function _budget() internal pure override returns (uint256) {
        return 3_000_000;
    }
}

/// @notice A decorated host. What goes wrong in its body is a revert, or the body runs out of gas.
contract DecoratedFaultsTest is FaultsTest {
    function _deploy(address primary) internal override returns (address) {
        Limits memory limits = Limits({gas: 3_000_000, reserve: 150_000, maxReturn: 0, minReturn: 0});
        return address(new AskableHost(ITeller(primary), ITeller(address(secondary)), _config(), limits));
    }

    function _budget() internal pure override returns (uint256) {
        return 3_000_000;
    }

    function _told(Outcome) internal pure override returns (Outcome) {
        return Outcome.Reverted;
    }

    function _toldOfARefusal(Outcome) internal pure override returns (Outcome) {
        return Outcome.BudgetSpent;
    }

    function _toldOfAFlood(Outcome) internal pure override returns (Outcome) {
        return Outcome.BudgetSpent;
    }
}

/// @notice With the view that Resilient has.
contract AskableHost is DecoratedHost {
    constructor(ITeller primary_, ITeller secondary_, Config memory config, Limits memory limits)
        DecoratedHost(primary_, secondary_, config, limits)
    {}

    function ask() external view faultTolerantView(_breaker, address(secondary), _limits) returns (string memory) {
        return primary.speak();
    }
}

/// @notice A backup for that view.
contract AskableHuman is Moody {
    constructor(string memory greeting_) Moody(greeting_) {}

    function ask() external view returns (string memory) {
        if (isMoody) revert InAMood();
        return greeting;
    }
}
