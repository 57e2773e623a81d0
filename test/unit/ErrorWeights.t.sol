// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {COOLDOWN, Defaults, ONCE_PER_BLOCK, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {PolicyTest} from "../utils/PolicyTest.sol";
import {WeightsHarness} from "../utils/WeightsHarness.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ErrorWeights} from "contracts/policies/ErrorWeights.sol";

/// @notice Errors that count for more or less than one.
contract ErrorWeightsTest is PolicyTest {
    bytes4 private constant NO_DATA = 0x00000000;
    bytes4 private constant UNSET = 0x0badc0de;
    bytes4 private constant IGNORED = 0x00000001;
    bytes4 private constant TWO = 0x00000002;
    bytes4 private constant FIVE = 0x00000005;

    WeightsHarness private host;

    function setUp() public override {
        super.setUp();
        host = new WeightsHarness();
        _use(address(host), host.BREAKER_SLOT());
        breaker = Defaults.closed();
        breaker.failureThreshold = 10;
        _store();
    }

    // ─── given nothing was set ───

    modifier givenNothingWasSet() {
        _;
    }

    function test_WhenAnyErrorIsLookedUp() external view givenNothingWasSet {
        assertEq(host.weightOf(UNSET), 1, "some error");
        assertEq(host.weightOf(NO_DATA), 1, "no data");
        assertEq(host.weightOf(0xffffffff), 1, "the last one");
    }

    function test_WhenAnyErrorComes() external givenNothingWasSet {
        _fails(UNSET);
        _counts(1);
    }

    // ─── given a weight was set ───

    modifier givenAWeightWasSet() {
        _;
    }

    function test_WhenTheErrorIsLookedUp() external givenAWeightWasSet {
        // The ends of the range, and both neighbours of what an empty slot means.
        uint16[5] memory weights = [0, 1, 2, TRIP_AT_ONCE - 1, TRIP_AT_ONCE];
        for (uint256 i; i < weights.length; ++i) {
            host.set(TWO, weights[i]);
            assertEq(host.weightOf(TWO), weights[i], "weight");
            assertEq(host.weightOf(Outcome.Reverted, TWO), weights[i], "weight of a revert");
        }
    }

    function test_WhenAnotherErrorIsLookedUp() external givenAWeightWasSet {
        host.set(TWO, 2);
        assertEq(host.weightOf(UNSET), 1, "weight");
    }

    function test_WhenItIsSetBackToOne() external givenAWeightWasSet {
        host.set(TWO, 2);
        host.set(TWO, 1);
        bytes32 slot = keccak256(abi.encode(TWO, host.TABLE_SLOT()));
        assertEq(vm.load(address(host), slot), 0, "slot");
        assertEq(host.weightOf(TWO), 1, "weight");
    }

    function test_WhenItWasSet() external givenAWeightWasSet {
        vm.expectEmit(true, true, true, true, address(host));
        emit ErrorWeights.ErrorWeightSet(host.TABLE_SLOT(), TWO, 2);
        host.set(TWO, 2);
    }

    // ─── given a threshold of ten ───

    modifier givenAThresholdOfTen() {
        _;
    }

    function test_WhenErrorsOfWeightTwoCome() external givenAThresholdOfTen {
        _set(TWO, 2);
        for (uint16 count = 2; count < 10; count += 2) {
            _fails(TWO);
            _counts(count);
        }
        _fails(TWO);
        _opens(10);
    }

    function test_WhenErrorsOfWeightFiveCome() external givenAThresholdOfTen {
        _set(FIVE, 5);
        _fails(FIVE);
        _counts(5);
        _fails(FIVE);
        _opens(10);
    }

    function test_WhenAnErrorOfWeightNineComes() external givenAThresholdOfTen {
        _set(FIVE, 9);
        _fails(FIVE);
        _counts(9);
    }

    function test_WhenAnErrorOfWeightTenComes() external givenAThresholdOfTen {
        _set(FIVE, 10);
        _fails(FIVE);
        _opens(10);
    }

    function test_WhenAnErrorOfWeightElevenComes() external givenAThresholdOfTen {
        _set(FIVE, 11);
        _fails(FIVE);
        _opens(11);
    }

    function test_WhenAnErrorOneBelowTheLargestWeightComes() external givenAThresholdOfTen {
        _set(FIVE, TRIP_AT_ONCE - 1);
        _fails(FIVE);
        _opens(TRIP_AT_ONCE - 1);
    }

    function test_WhenAnErrorOfTheLargestWeightComes() external givenAThresholdOfTen {
        _set(FIVE, TRIP_AT_ONCE);
        _fails(FIVE);
        _opens(TRIP_AT_ONCE);
    }

    function test_WhenIgnoredErrorsCome() external givenAThresholdOfTen {
        _set(IGNORED, 0);
        for (uint256 i; i < 20; ++i) {
            _fails(IGNORED);
            _assertUntouched();
        }
    }

    function test_WhenIgnoredErrorsComeWithinAStreak() external givenAThresholdOfTen {
        _set(IGNORED, 0);
        _set(FIVE, 5);
        _fails(FIVE);
        _counts(5);
        _fails(IGNORED);
        _assertUntouched();
        _fails(FIVE);
        _opens(10);
    }

    // ─── given revert data without an error ───

    modifier givenRevertDataWithoutAnError() {
        _;
    }

    function test_WhenItsWeightWasSet() external givenRevertDataWithoutAnError {
        _set(NO_DATA, 5);
        _fails(NO_DATA);
        _counts(5);
    }

    function test_WhenOnlyOtherErrorsHaveAWeight() external givenRevertDataWithoutAnError {
        _set(FIVE, 5);
        _set(IGNORED, 0);
        _fails(NO_DATA);
        _counts(1);
    }

    // ─── given an outcome that is no revert ───

    modifier givenAnOutcomeThatIsNoRevert() {
        _;
    }

    function test_WhenErrorsWithoutDataAreIgnored() external givenAnOutcomeThatIsNoRevert {
        _set(NO_DATA, 0);
        Outcome[5] memory outcomes =
            [Outcome.BudgetSpent, Outcome.NoCode, Outcome.BadReturn, Outcome.ReturnTooLarge, Outcome.Rejected];
        for (uint16 i; i < outcomes.length; ++i) {
            host.record(outcomes[i], NO_DATA);
            _counts(i + 1);
        }
    }

    function test_WhenItIsASuccess() external givenAnOutcomeThatIsNoRevert {
        _set(NO_DATA, 5);
        _fails(NO_DATA);
        _counts(5);
        host.record(Outcome.Ok, NO_DATA);
        breaker.failureCount = 0;
        _assertWritten();
    }

    // ─── given one failure a timestamp counts ───

    modifier givenOneFailureATimestampCounts() {
        breaker.flags = ONCE_PER_BLOCK;
        _store();
        _set(IGNORED, 0);
        _set(FIVE, 5);
        _set(TWO, TRIP_AT_ONCE);
        _;
    }

    function test_WhenALightOneComesBeforeAHeavyOne() external givenOneFailureATimestampCounts {
        _fails(UNSET);
        _counts(1);
        _fails(FIVE);
        _assertUntouched();
    }

    function test_WhenAnIgnoredOneComesBeforeAHeavyOne() external givenOneFailureATimestampCounts {
        _fails(IGNORED);
        _assertUntouched();
        _fails(FIVE);
        _counts(5);
    }

    function test_WhenAHeavyOneComesASecondLater() external givenOneFailureATimestampCounts {
        _fails(UNSET);
        _counts(1);
        skip(1);
        _fails(FIVE);
        _counts(6);
    }

    function test_WhenOneThatTripsAtOnceComesSecond() external givenOneFailureATimestampCounts {
        _fails(UNSET);
        _counts(1);
        _fails(TWO);
        _opens(TRIP_AT_ONCE);
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        breaker = Defaults.halfOpen();
        breaker.successThreshold = 1;
        _store();
        _;
    }

    function test_WhenAnIgnoredErrorComes() external givenItIsHalf_open {
        _set(IGNORED, 0);
        _fails(IGNORED);
        _assertUntouched();
    }

    function test_WhenALightErrorComes() external givenItIsHalf_open {
        _fails(UNSET);
        breaker.reopenCount = 2;
        breaker.retryAt = START + 4 * COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenASuccessComes() external givenItIsHalf_open {
        host.record(Outcome.Ok, NO_DATA);
        _becomesClosed();
        _assertClosed();
    }

    // ─── What is done and expected ───

    function _set(bytes4 errorSelector, uint16 weight) private {
        host.set(errorSelector, weight);
        _watch();
    }

    function _fails(bytes4 errorSelector) private {
        host.record(Outcome.Reverted, errorSelector);
    }

    function _counts(uint16 count) private {
        breaker.failureCount = count;
        breaker.lastFailureAt = uint40(block.timestamp);
        _assertWritten();
    }

    function _opens(uint16 count) private {
        _becomesOpen(count, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }
}
