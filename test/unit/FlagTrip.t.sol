// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Flags} from "../mocks/Flags.sol";
import {SlowFlags} from "../mocks/weird/SlowFlags.sol";
import {COOLDOWN, Defaults, LATCH, NEVER, START} from "../utils/Defaults.sol";
import {FlagHarness} from "../utils/FlagHarness.sol";
import {PolicyTest} from "../utils/PolicyTest.sol";
import {CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IFlags} from "contracts/interfaces/IFlags.sol";
import {FlagTrip} from "contracts/policies/FlagTrip.sol";

/// @notice A flag that somebody else raises, and that anyone carries over.
contract FlagTripTest is PolicyTest {
    uint32 private constant GAS = 20_000;
    address private constant SUBJECT = address(0x5b);
    bytes private constant QUESTION = abi.encodeCall(IFlags.getFlag, (SUBJECT));

    Flags private flags;
    FlagHarness private host;

    function setUp() public override {
        super.setUp();
        flags = new Flags();
        host = new FlagHarness(flags, GAS);
        _use(address(host), host.BREAKER_SLOT());
        breaker = Defaults.closed();
        _store();
    }

    // ─── given a host is deployed ───

    modifier givenAHostIsDeployed() {
        _;
    }

    function test_RevertWhen_ThereIsNoContractToReadFlagsFrom() external givenAHostIsDeployed {
        vm.expectRevert(abi.encodeWithSelector(FlagTrip.FlagsWithoutCode.selector, SUBJECT));
        new FlagHarness(IFlags(SUBJECT), GAS);
    }

    function test_RevertWhen_TheGasIsOneBelowTheLeast() external givenAHostIsDeployed {
        vm.expectRevert(abi.encodeWithSelector(GuardedCall.GasBudgetTooSmall.selector, 2299, 2300));
        new FlagHarness(flags, 2299);
    }

    function test_WhenTheGasIsTheLeast() external givenAHostIsDeployed {
        assertEq(address(new FlagHarness(flags, 2300).flags()), address(flags), "flags");
    }

    function test_RevertWhen_TheGasIsMoreThanATransactionHas() external givenAHostIsDeployed {
        vm.expectPartialRevert(GuardedCall.GasBudgetTooLarge.selector);
        new FlagHarness(flags, 16_777_216);
    }

    // ─── given the flag is lowered ───

    modifier givenTheFlagIsLowered() {
        _;
        _doesNotCarry();
    }

    function test_WhenItIsCarriedToAClosedBreaker() external givenTheFlagIsLowered {
        breaker = Defaults.closed();
        _store();
    }

    function test_WhenItIsCarriedToAHalf_openBreaker() external givenTheFlagIsLowered {
        breaker = Defaults.halfOpen();
        _store();
    }

    function test_WhenTheFlagOfSomebodyElseIsRaised() external givenTheFlagIsLowered {
        flags.setFlag(address(host), true);
    }

    // ─── given the flag is raised ───

    modifier givenTheFlagIsRaised() {
        flags.setFlag(SUBJECT, true);
        _;
    }

    function test_RevertWhen_ItIsCarriedToABreakerThatIsNotConfigured() external givenTheFlagIsRaised {
        breaker.failureThreshold = 0;
        _store();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.carryFlag(SUBJECT);
        _assertUntouched();
    }

    function test_WhenAStrangerCarriesItToAClosedBreaker() external givenTheFlagIsRaised {
        breaker.failureCount = 1;
        _store();
        vm.prank(address(0xbad));
        _carries();
        _becomesOpen(1, START + COOLDOWN);
        _assertOpened(Outcome.Flagged);
    }

    function test_WhenItIsCarriedToOneThatLatches() external givenTheFlagIsRaised {
        breaker.flags = LATCH;
        _store();
        _carries();
        _becomesOpen(0, NEVER);
        _assertOpened(Outcome.Flagged);
    }

    function test_WhenItIsCarriedASecondBeforeTheDeadline() external givenTheFlagIsRaised {
        _storeHalfOpen({retryAt: START + 1});
        vm.expectCall(address(flags), QUESTION, 0);
        _doesNotCarry();
    }

    function test_WhenItIsCarriedAtTheDeadline() external givenTheFlagIsRaised {
        _storeHalfOpen({retryAt: START});
        _carries();
        _opensAgain(START + COOLDOWN);
    }

    function test_WhenItIsCarriedASecondAfterTheDeadline() external givenTheFlagIsRaised {
        _storeHalfOpen({retryAt: START - 1});
        _carries();
        _opensAgain(START + COOLDOWN);
    }

    // ─── given the flag was carried over ───

    modifier givenTheFlagWasCarriedOver() {
        flags.setFlag(SUBJECT, true);
        _carries();
        _becomesOpen(0, START + COOLDOWN);
        _assertOpened(Outcome.Flagged);
        _;
    }

    function test_WhenItIsCarriedAgainAndAgainWhileOpen() external givenTheFlagWasCarriedOver {
        for (uint40 time = START; time < START + COOLDOWN; ++time) {
            vm.warp(time);
            _doesNotCarry();
        }
    }

    function test_WhenItIsStillRaisedAtEachDeadline() external givenTheFlagWasCarriedOver {
        for (uint40 round = 1; round < 5; ++round) {
            vm.warp(START + round * COOLDOWN);
            _carries();
            _opensAgain(START + (round + 1) * COOLDOWN);
        }
    }

    function test_WhenItIsLoweredByTheDeadline() external givenTheFlagWasCarriedOver {
        flags.setFlag(SUBJECT, false);
        skip(COOLDOWN);
        _doesNotCarry();
    }

    function test_WhenItIsLoweredAndGoodProbesFollow() external givenTheFlagWasCarriedOver {
        flags.setFlag(SUBJECT, false);
        skip(COOLDOWN);
        host.success();
        _watch();
        host.success();
        _becomesClosed();
        breaker.probedAt = uint8(START + COOLDOWN);
        _assertClosed();
        _doesNotCarry();
    }

    function test_WhenTheOwnerResetsWhileItIsRaised() external givenTheFlagWasCarriedOver {
        host.reset();
        _becomesClosed();
        _assertClosed();
        _carries();
        _becomesOpen(0, START + COOLDOWN);
        _assertOpened(Outcome.Flagged);
    }

    function test_WhenTheOwnerLowersItAndResets() external givenTheFlagWasCarriedOver {
        flags.setFlag(SUBJECT, false);
        host.reset();
        _becomesClosed();
        _assertClosed();
        _doesNotCarry();
    }

    // ─── given the flag cannot be read ───

    modifier givenTheFlagCannotBeRead() {
        flags.setFlag(SUBJECT, true);
        _;
        _isUnknown();
    }

    function test_WhenTheContractIsGone() external givenTheFlagCannotBeRead {
        vm.etch(address(flags), "");
    }

    function test_WhenItReverts() external givenTheFlagCannotBeRead {
        vm.mockCallRevert(address(flags), QUESTION, "");
    }

    function test_WhenItRevertsWithWhatLooksLikeARaisedFlag() external givenTheFlagCannotBeRead {
        vm.mockCallRevert(address(flags), QUESTION, abi.encode(true));
    }

    function test_WhenItBurnsAllGas() external givenTheFlagCannotBeRead {
        vm.etch(address(flags), hex"fe"); // INVALID
        uint256 before = gasleft();
        host.carryFlag(SUBJECT);
        assertLt(before - gasleft(), GAS + 10_000, "gas");
    }

    // ─── given the flag contract answers ───

    modifier givenTheFlagContractAnswers() {
        _;
    }

    function test_WhenTheAnswerIsEmpty() external givenTheFlagContractAnswers {
        _answers("");
        _isUnknown();
    }

    function test_WhenTheAnswerIsAByteShort() external givenTheFlagContractAnswers {
        _answers(new bytes(31));
        _isUnknown();
    }

    function test_WhenTheAnswerIsAByteLong() external givenTheFlagContractAnswers {
        _answers(abi.encodePacked(uint256(1), uint8(1)));
        _isUnknown();
    }

    function test_WhenTheAnswerIsTwo() external givenTheFlagContractAnswers {
        _answers(abi.encode(2));
        _isUnknown();
    }

    function test_WhenTheAnswerHasDirtyBits() external givenTheFlagContractAnswers {
        _answers(abi.encode(1 << 255 | 1));
        _isUnknown();
    }

    function test_WhenTheAnswerIsHuge() external givenTheFlagContractAnswers {
        bytes memory answer = new bytes(1_000_000);
        answer[31] = 0x01;
        _answers(answer);
        _isUnknown();
    }

    function test_WhenTheAnswerIsZero() external givenTheFlagContractAnswers {
        _answers(abi.encode(false));
        _reads(true, false);
        _doesNotCarry();
    }

    function test_WhenTheAnswerIsOne() external givenTheFlagContractAnswers {
        _answers(abi.encode(true));
        _reads(true, true);
        _carries();
        _becomesOpen(0, START + COOLDOWN);
        _assertOpened(Outcome.Flagged);
    }

    // ─── given any amount of gas ───

    modifier givenAnyAmountOfGas() {
        host = new FlagHarness(new SlowFlags(), GAS);
        _use(address(host), id);
        _;
    }

    /// Whoever carries it chooses the gas: no amount lets a raised flag pass for one that cannot be read, and with what
    /// was asked for there is enough to trip.
    function test_WhenARaisedFlagIsCarried() external givenAnyAmountOfGas {
        uint256 opened;
        bool asked;
        for (uint256 gas = 1000; gas < 80_000; gas += 50) {
            _store();
            vm.cool(address(host.flags()));
            vm.cool(address(host));
            try host.carryFlag{gas: gas}(SUBJECT) returns (bool carried) {
                assertTrue(carried, "carried");
                ++opened;
            } catch (bytes memory reason) {
                if (asked) assertEq(bytes4(reason), GuardedCall.InsufficientGas.selector, "reason");
                asked = asked || bytes4(reason) == GuardedCall.InsufficientGas.selector;
                _assertStored();
            }
        }
        assertTrue(asked, "asked for more gas");
        assertGt(opened, 100, "times that it opened");
    }

    // ─── What is done and expected ───

    function _storeHalfOpen(uint40 retryAt) private {
        breaker = Defaults.halfOpen();
        breaker.retryAt = retryAt;
        breaker.successCount = 1;
        _store();
    }

    function _answers(bytes memory answer) private {
        vm.mockCall(address(flags), QUESTION, answer);
    }

    function _carries() private {
        assertTrue(host.carryFlag(SUBJECT), "carried");
    }

    function _doesNotCarry() private {
        assertFalse(host.carryFlag(SUBJECT), "carried");
        _assertUntouched();
    }

    function _isUnknown() private {
        _reads(false, false);
        _doesNotCarry();
    }

    function _reads(bool expectedKnown, bool expectedRaised) private view {
        (bool known, bool raised) = host.readFlag(SUBJECT);
        assertEq(known, expectedKnown, "known");
        assertEq(raised, expectedRaised, "raised");
    }

    /// The failed probes and the time of leaving closed stay as they were.
    function _opensAgain(uint40 retryAt) private {
        breaker.successCount = 0;
        breaker.retryAt = retryAt;
        _assertOpened(Outcome.Flagged);
    }
}
