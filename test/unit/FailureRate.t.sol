// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {COOLDOWN, Defaults, ONCE_PER_BLOCK, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {PolicyTest} from "../utils/PolicyTest.sol";
import {RateHarness} from "../utils/RateHarness.sol";
import {CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FailureRate, FailureRing} from "contracts/policies/FailureRate.sol";

/// @notice Trips on the share of failures among the last outcomes. The breaker's own threshold is out of reach here,
///         unless a test says otherwise.
contract FailureRateTest is PolicyTest {
    uint8 private constant SIZE = 10;
    uint8 private constant MIN_CALLS = 4;
    uint16 private constant HALF = 5000;

    RateHarness private host;

    /// First what is stored, then what is expected.
    FailureRing private ring;

    function setUp() public override {
        super.setUp();
        host = new RateHarness();
        _use(address(host), host.BREAKER_SLOT());
        breaker = Defaults.closed();
        breaker.failureThreshold = type(uint16).max;
        (ring.size, ring.minCalls, ring.shareBps) = (SIZE, MIN_CALLS, HALF);
    }

    // ─── given some size is asked for ───

    modifier givenSomeSizeIsAskedFor() {
        _;
    }

    function test_RevertWhen_TheSizeIsZero() external givenSomeSizeIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(FailureRate.SizeOutOfRange.selector, 0, 1, 192));
        host.build(0, 0, HALF);
    }

    function test_WhenTheSizeIsOne() external givenSomeSizeIsAskedFor {
        _assertBuilds(1, 1, HALF);
    }

    function test_WhenTheSizeIsAllThatASlotHolds() external givenSomeSizeIsAskedFor {
        _assertBuilds(192, MIN_CALLS, HALF);
    }

    function test_RevertWhen_TheSizeIsOneMoreThanASlotHolds() external givenSomeSizeIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(FailureRate.SizeOutOfRange.selector, 193, 1, 192));
        host.build(193, MIN_CALLS, HALF);
    }

    // ─── given some minimum is asked for ───

    modifier givenSomeMinimumIsAskedFor() {
        _;
    }

    function test_RevertWhen_TheMinimumIsZero() external givenSomeMinimumIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(FailureRate.MinCallsOutOfRange.selector, 0, 1, SIZE));
        host.build(SIZE, 0, HALF);
    }

    function test_WhenTheMinimumIsOne() external givenSomeMinimumIsAskedFor {
        _assertBuilds(SIZE, 1, HALF);
    }

    function test_WhenTheMinimumIsTheSize() external givenSomeMinimumIsAskedFor {
        _assertBuilds(SIZE, SIZE, HALF);
    }

    function test_RevertWhen_TheMinimumIsOneAboveTheSize() external givenSomeMinimumIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(FailureRate.MinCallsOutOfRange.selector, SIZE + 1, 1, SIZE));
        host.build(SIZE, SIZE + 1, HALF);
    }

    // ─── given some share is asked for ───

    modifier givenSomeShareIsAskedFor() {
        _;
    }

    function test_RevertWhen_TheShareIsNothing() external givenSomeShareIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(FailureRate.ShareBpsOutOfRange.selector, 0, 1, 10_000));
        host.build(SIZE, MIN_CALLS, 0);
    }

    function test_WhenTheShareIsOneTen_thousandth() external givenSomeShareIsAskedFor {
        _assertBuilds(SIZE, MIN_CALLS, 1);
    }

    function test_WhenTheShareIsTheWhole() external givenSomeShareIsAskedFor {
        _assertBuilds(SIZE, MIN_CALLS, 10_000);
    }

    function test_RevertWhen_TheShareIsAboveTheWhole() external givenSomeShareIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(FailureRate.ShareBpsOutOfRange.selector, 10_001, 1, 10_000));
        host.build(SIZE, MIN_CALLS, 10_001);
    }

    // ─── given something is not configured ───

    modifier givenSomethingIsNotConfigured() {
        _;
        Outcome[2] memory outcomes = [Outcome.Ok, Outcome.Reverted];
        for (uint256 i; i < outcomes.length; ++i) {
            vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
            host.record(outcomes[i]);
        }
        _assertUntouched();
    }

    function test_RevertWhen_ItIsTheRing() external givenSomethingIsNotConfigured {
        _store();
    }

    function test_RevertWhen_ItIsTheBreaker() external givenSomethingIsNotConfigured {
        breaker.failureThreshold = 0;
        _storeRing();
    }

    // ─── given an empty ring with a minimum of four ───

    modifier givenAnEmptyRingWithAMinimumOfFour() {
        _storeRing();
        _;
    }

    function test_WhenOneFewerFail() external givenAnEmptyRingWithAMinimumOfFour {
        _fails(3);
        _remembers(7, 3, 3);
    }

    function test_WhenAsManyFail() external givenAnEmptyRingWithAMinimumOfFour {
        _fails(3);
        host.record(Outcome.BudgetSpent);
        _opens(Outcome.BudgetSpent);
    }

    function test_WhenASuccessMakesUpTheMinimum() external givenAnEmptyRingWithAMinimumOfFour {
        _fails(3);
        _succeeds(1);
        _remembers(14, 4, 3);
    }

    function test_WhenOneMoreFailsAfterThatSuccess() external givenAnEmptyRingWithAMinimumOfFour {
        _fails(3);
        _succeeds(1);
        host.record(Outcome.Reverted);
        _opens(Outcome.Reverted);
    }

    // ─── given a full ring of ten of which four failed ───

    modifier givenAFullRingOfTenOfWhichFourFailed() {
        _;
    }

    function test_WhenTheFifthMakesATen_thousandthMoreThanTheShare() external givenAFullRingOfTenOfWhichFourFailed {
        _storeOutcomes({outcomes: 15, calls: 10, failures: 4, shareBps: 4999});
        host.record(Outcome.Reverted);
        _opens(Outcome.Reverted);
    }

    function test_WhenTheFifthMakesExactlyTheShare() external givenAFullRingOfTenOfWhichFourFailed {
        _storeOutcomes({outcomes: 15, calls: 10, failures: 4, shareBps: 5000});
        host.record(Outcome.Reverted);
        _opens(Outcome.Reverted);
    }

    function test_WhenTheFifthMakesATen_thousandthLessThanTheShare() external givenAFullRingOfTenOfWhichFourFailed {
        _storeOutcomes({outcomes: 15, calls: 10, failures: 4, shareBps: 5001});
        _fails(1);
        _remembers(31, 10, 5);
    }

    function test_WhenTheFifthPushesOutAFailure() external givenAFullRingOfTenOfWhichFourFailed {
        // The oldest and the newest three.
        _storeOutcomes({outcomes: 512 + 7, calls: 10, failures: 4, shareBps: 5000});
        _fails(1);
        _remembers(15, 10, 4);
    }

    // ─── given one failure in a ring of ten ───

    modifier givenOneFailureInARingOfTen() {
        _storeRing();
        _fails(1);
        _;
    }

    function test_WhenNineOutcomesFollowButOne() external givenOneFailureInARingOfTen {
        _succeeds(8);
        _remembers(256, 9, 1);
    }

    function test_WhenNineOutcomesFollow() external givenOneFailureInARingOfTen {
        _succeeds(9);
        _remembers(512, 10, 1);
    }

    function test_WhenTenOutcomesFollow() external givenOneFailureInARingOfTen {
        _succeeds(10);
        _remembers(0, 10, 0);
    }

    // ─── given a full ring of successes ───

    modifier givenAFullRingOfSuccesses() {
        _storeOutcomes({outcomes: 0, calls: 10, failures: 0, shareBps: HALF});
        _;
    }

    function test_WhenOneMoreSucceeds() external givenAFullRingOfSuccesses {
        host.record(Outcome.Ok);
        _assertRingUntouched();
        _assertUntouched();
    }

    // ─── given the largest ring that asks for all ───

    modifier givenTheLargestRingThatAsksForAll() {
        (ring.size, ring.minCalls, ring.shareBps) = (192, 192, 10_000);
        _storeRing();
        _;
    }

    function test_WhenOneOfAllSucceedsFirst() external givenTheLargestRingThatAsksForAll {
        _succeeds(1);
        _fails(191);
        _remembers(type(uint192).max >> 1, 192, 191);
        host.record(Outcome.Reverted);
        _opens(Outcome.Reverted);
    }

    function test_WhenAllFail() external givenTheLargestRingThatAsksForAll {
        _fails(191);
        _remembers(type(uint192).max >> 1, 191, 191);
        host.record(Outcome.Reverted);
        _opens(Outcome.Reverted);
    }

    // ─── given one failure a timestamp counts ───

    modifier givenOneFailureATimestampCounts() {
        breaker.flags = ONCE_PER_BLOCK;
        _storeRing();
        host.record(Outcome.Reverted);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
        _;
    }

    function test_WhenManyFailAtOnce() external givenOneFailureATimestampCounts {
        for (uint256 i; i < 20; ++i) {
            host.record(Outcome.Reverted);
            _assertRingUntouched();
            _assertUntouched();
        }
        _remembers(1, 1, 1);
    }

    function test_WhenFailuresAndSuccessesAlternateAtOnce() external givenOneFailureATimestampCounts {
        for (uint256 i; i < 4; ++i) {
            host.record(Outcome.Ok);
            breaker.failureCount = 0;
            _assertWritten();
            // The breaker's own count starts anew after a success, and the ring's does not.
            host.record(Outcome.Reverted);
            breaker.failureCount = 1;
            _assertRingUntouched();
            _assertWritten();
        }
        _remembers(16, 5, 1);
    }

    function test_WhenTheyFailASecondApart() external givenOneFailureATimestampCounts {
        skip(1);
        _fails(1);
        skip(1);
        _fails(1);
        _remembers(7, 3, 3);
        skip(1);
        host.record(Outcome.Reverted);
        _opens(Outcome.Reverted);
    }

    function test_WhenTheClockRunsASecondBackwards() external givenOneFailureATimestampCounts {
        vm.warp(START - 1);
        host.record(Outcome.Reverted);
        _assertRingUntouched();
        _assertUntouched();
        _remembers(1, 1, 1);
    }

    function test_WhenAnErrorThatTripsAtOnceComesAgain() external givenOneFailureATimestampCounts {
        host.record(Outcome.Reverted, TRIP_AT_ONCE);
        _opens(Outcome.Reverted);
    }

    // ─── given failures of other weights ───

    modifier givenFailuresOfOtherWeights() {
        _storeRing();
        _;
    }

    function test_WhenTheWeightIsZero() external givenFailuresOfOtherWeights {
        for (uint256 i; i < 20; ++i) {
            host.record(Outcome.Reverted, 0);
            _assertRingUntouched();
            _assertUntouched();
        }
        _remembers(0, 0, 0);
    }

    function test_WhenTheWeightIsTwo() external givenFailuresOfOtherWeights {
        host.record(Outcome.Reverted, 2);
        breaker.failureCount = 2;
        breaker.lastFailureAt = START;
        _assertWritten();
        _remembers(1, 1, 1);
    }

    function test_WhenTheWeightsReachTheThresholdOfTheBreakerFirst() external givenFailuresOfOtherWeights {
        breaker.failureThreshold = 3;
        _store();
        host.record(Outcome.Reverted, 2);
        host.record(Outcome.NoCode, 1);
        _becomesOpen(3, START + COOLDOWN);
        assertEq(vm.getRecordedLogs().length, 1, "number of logs");
        _assertStored();
        _remembers(0, 0, 0);
    }

    // ─── given it is open with something remembered ───

    modifier givenItIsOpenWithSomethingRemembered() {
        breaker = Defaults.open();
        _storeOutcomes({outcomes: 5, calls: 3, failures: 2, shareBps: HALF});
        _;
        _assertUntouched();
        _remembers(0, 0, 0);
    }

    function test_WhenSomethingSucceedsEarly() external givenItIsOpenWithSomethingRemembered {
        host.record(Outcome.Ok);
    }

    function test_WhenSomethingFailsEarly() external givenItIsOpenWithSomethingRemembered {
        host.record(Outcome.Reverted);
    }

    // ─── given it is half-open with something remembered ───

    modifier givenItIsHalf_openWithSomethingRemembered() {
        breaker = Defaults.halfOpen();
        _storeOutcomes({outcomes: 5, calls: 3, failures: 2, shareBps: HALF});
        _;
    }

    function test_WhenAGoodProbeIsNotYetEnough() external givenItIsHalf_openWithSomethingRemembered {
        host.record(Outcome.Ok);
        breaker.successCount = 1;
        breaker.probedAt = 0;
        _assertWritten();
        _remembers(0, 0, 0);
    }

    function test_WhenGoodProbesAreEnough() external givenItIsHalf_openWithSomethingRemembered {
        _closes();
        _remembers(0, 0, 0);
    }

    function test_WhenAProbeFails() external givenItIsHalf_openWithSomethingRemembered {
        host.record(Outcome.Reverted);
        breaker.reopenCount = 2;
        breaker.retryAt = START + 4 * COOLDOWN;
        _assertOpened(Outcome.Reverted);
        _remembers(0, 0, 0);
    }

    function test_WhenItClosedAndFailuresBelowTheMinimumFollow() external givenItIsHalf_openWithSomethingRemembered {
        breaker.failureThreshold = type(uint16).max;
        _store();
        _closes();
        _fails(3);
        _remembers(7, 3, 3);
    }

    // ─── given a person trips and resets ───

    modifier givenAPersonTripsAndResets() {
        _storeRing();
        _fails(3);
        host.trip(0, Outcome.Forced);
        host.reset();
        breaker.failureCount = 0;
        _watch();
        _;
        _assertStored();
    }

    function test_WhenNoOutcomeCameInBetween() external givenAPersonTripsAndResets {
        _remembers(7, 3, 3);
    }

    function test_WhenTheHostForgets() external givenAPersonTripsAndResets {
        host.forget();
        _remembers(0, 0, 0);
    }

    function test_WhenTheRingIsBuiltAnew() external givenAPersonTripsAndResets {
        host.rebuild(20, 5, 6000);
        (ring.size, ring.minCalls, ring.shareBps) = (20, 5, 6000);
        _remembers(0, 0, 0);
    }

    // ─── What is done ───

    function _storeRing() private {
        host.setRing(ring);
        _store();
    }

    function _storeOutcomes(uint192 outcomes, uint8 calls, uint8 failures, uint16 shareBps) private {
        (ring.outcomes, ring.calls, ring.failures, ring.shareBps) = (outcomes, calls, failures, shareBps);
        _storeRing();
    }

    /// Failures that do not open it: each counts one in the breaker.
    function _fails(uint256 count) private {
        for (uint256 i; i < count; ++i) {
            host.record(Outcome.Reverted);
            ++breaker.failureCount;
            breaker.lastFailureAt = uint40(block.timestamp);
            _assertWritten();
        }
    }

    function _succeeds(uint256 count) private {
        for (uint256 i; i < count; ++i) {
            host.record(Outcome.Ok);
        }
        breaker.failureCount = 0;
        assertEq(vm.getRecordedLogs().length, 0, "number of logs");
        _assertStored();
        _watch();
    }

    function _closes() private {
        host.record(Outcome.Ok);
        _watch();
        host.record(Outcome.Ok);
        _becomesClosed();
        breaker.probedAt = 0;
        _assertClosed();
    }

    // ─── What is expected ───

    /// It opened just now because of the share, and the ring is empty.
    function _opens(Outcome cause) private {
        _becomesOpen(TRIP_AT_ONCE, uint40(block.timestamp) + COOLDOWN);
        _assertOpened(cause);
        _remembers(0, 0, 0);
    }

    function _remembers(uint192 outcomes, uint8 calls, uint8 failures) private {
        (ring.outcomes, ring.calls, ring.failures) = (outcomes, calls, failures);
        assertEq(abi.encode(host.ring()), abi.encode(ring), "ring");
    }

    function _assertRingUntouched() private {
        assertEq(_writesOf(host.RING_SLOT()), 0, "number of SSTOREs of the ring");
    }

    function _assertBuilds(uint8 size, uint8 minCalls, uint16 shareBps) private {
        (ring.size, ring.minCalls, ring.shareBps) = (size, minCalls, shareBps);
        assertEq(abi.encode(host.build(size, minCalls, shareBps)), abi.encode(ring), "ring");
    }
}
