// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {COOLDOWN, Defaults, LATCH, NEVER, ONCE_PER_BLOCK, PROBE_ONLY, START} from "../utils/Defaults.sol";
import {EmergencyHarness} from "../utils/EmergencyHarness.sol";
import {PolicyTest} from "../utils/PolicyTest.sol";
import {CircuitBreaker, Config, Status} from "contracts/CircuitBreaker.sol";
import {EmergencyPowers} from "contracts/EmergencyPowers.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice When powers exist, and what a person's trip can do. Who may use either is the host's to say.
contract EmergencyPowersTest is PolicyTest {
    uint32 private constant MIN_OPEN = 50;
    uint32 private constant MAX_TRIP = 1000;

    EmergencyHarness private host;

    function setUp() public override {
        super.setUp();
        _use(MIN_OPEN);
    }

    function _use(uint32 minOpen) private {
        host = new EmergencyHarness(minOpen, MAX_TRIP);
        _use(address(host), host.BREAKER_SLOT());
        breaker = Defaults.closed();
        _store();
    }

    // ─── given a wait is asked for ───

    modifier givenAWaitIsAskedFor() {
        _;
    }

    function test_RevertWhen_TheWaitIsZero() external givenAWaitIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.MinOpenOutOfRange.selector, 0, 1, 30 days));
        new EmergencyHarness(0, MAX_TRIP);
    }

    function test_WhenTheWaitIsASecond() external givenAWaitIsAskedFor {
        assertEq(new EmergencyHarness(1, MAX_TRIP).minOpen(), 1, "minOpen");
    }

    function test_WhenTheWaitIsTheLongest() external givenAWaitIsAskedFor {
        assertEq(new EmergencyHarness(30 days, MAX_TRIP).minOpen(), 30 days, "minOpen");
    }

    function test_RevertWhen_TheWaitIsASecondLongerThanThat() external givenAWaitIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.MinOpenOutOfRange.selector, 30 days + 1, 1, 30 days));
        new EmergencyHarness(30 days + 1, MAX_TRIP);
    }

    // ─── given a longest trip is asked for ───

    modifier givenALongestTripIsAskedFor() {
        _;
    }

    function test_RevertWhen_TheLongestTripIsZero() external givenALongestTripIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.MaxTripOutOfRange.selector, 0, 1, 30 days));
        new EmergencyHarness(MIN_OPEN, 0);
    }

    function test_WhenTheLongestTripIsASecond() external givenALongestTripIsAskedFor {
        assertEq(new EmergencyHarness(MIN_OPEN, 1).maxTrip(), 1, "maxTrip");
    }

    function test_WhenTheLongestTripIsTheLongest() external givenALongestTripIsAskedFor {
        assertEq(new EmergencyHarness(MIN_OPEN, 30 days).maxTrip(), 30 days, "maxTrip");
    }

    function test_RevertWhen_TheLongestTripIsASecondLongerThanThat() external givenALongestTripIsAskedFor {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.MaxTripOutOfRange.selector, 30 days + 1, 1, 30 days));
        new EmergencyHarness(MIN_OPEN, 30 days + 1);
    }

    // ─── given a configuration ───

    modifier givenAConfiguration() {
        _;
    }

    function test_RevertWhen_ItLatches() external givenAConfiguration {
        Config memory config = Defaults.config();
        config.flags = LATCH | PROBE_ONLY;
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        host.withoutLatch(config);
    }

    function test_WhenItHasEveryOtherFlag() external view givenAConfiguration {
        Config memory config = Defaults.config();
        config.flags = ONCE_PER_BLOCK | PROBE_ONLY;
        assertEq(abi.encode(host.withoutLatch(config)), abi.encode(config), "config");
    }

    // ─── given it is not open ───

    modifier givenItIsNotOpen() {
        _;
        host.act();
        _assertUntouched();
    }

    function test_RevertWhen_SomebodyActsWhileClosed() external givenItIsNotOpen {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function test_RevertWhen_SomebodyActsBeforeItIsConfigured() external givenItIsNotOpen {
        breaker.failureThreshold = 0;
        _store();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        breaker = Defaults.open();
        breaker.lastFailureAt = START;
        _store();
        _;
        _assertUntouched();
    }

    function test_RevertWhen_SomebodyActsAtOnce() external givenItIsOpen {
        _isTooYoung(0);
    }

    function test_RevertWhen_SomebodyActsASecondTooEarly_Row14() external givenItIsOpen {
        skip(MIN_OPEN - 1);
        _isTooYoung(MIN_OPEN - 1);
    }

    function test_WhenSomebodyActsWhenTheWaitIsOver_Row14() external givenItIsOpen {
        skip(MIN_OPEN);
        _acts();
    }

    function test_WhenSomebodyActsASecondAfterThat_Row14() external givenItIsOpen {
        skip(MIN_OPEN + 1);
        _acts();
    }

    function test_RevertWhen_TheClockHasRunBackwards_Row14() external givenItIsOpen {
        vm.warp(START - MIN_OPEN);
        _isTooYoung(0);
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        breaker = Defaults.halfOpen();
        _store();
        _;
    }

    function test_WhenSomebodyActsAtTheDeadline() external givenItIsHalf_open {
        _acts();
        _assertUntouched();
    }

    function test_WhenSomebodyActsLongAfterTheDeadline() external givenItIsHalf_open {
        skip(365 days);
        _acts();
        _assertUntouched();
    }

    function test_WhenAProbeHasFailedJustNow() external givenItIsHalf_open {
        host.fail();
        breaker.reopenCount = 2;
        breaker.retryAt = START + 4 * COOLDOWN;
        _assertOpened(Outcome.Reverted);
        _acts();
    }

    function test_RevertWhen_SomebodyResets_Row23() external givenItIsHalf_open {
        host.reset();
        _becomesClosed();
        _assertClosed();
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
        host.act();
    }

    // ─── given it closed and opened again ───

    modifier givenItClosedAndOpenedAgain() {
        host.tripUntil(START + MAX_TRIP);
        skip(MIN_OPEN);
        _acts();
        host.reset();
        host.tripUntil(START + MAX_TRIP);
        _becomesOpen(0, START + MAX_TRIP);
        _assertStored();
        _;
    }

    function test_RevertWhen_TheSecondWaitIsASecondFromOver() external givenItClosedAndOpenedAgain {
        skip(MIN_OPEN - 1);
        _isTooYoung(MIN_OPEN - 1);
    }

    function test_WhenTheSecondWaitIsOver_Row23() external givenItClosedAndOpenedAgain {
        skip(MIN_OPEN);
        _acts();
    }

    // ─── given tripping and acting come in one transaction ───

    modifier givenTrippingAndActingComeInOneTransaction() {
        _;
        _assertStored();
    }

    function test_RevertWhen_APersonTrips_Row23() external givenTrippingAndActingComeInOneTransaction {
        _expectTooYoung(0, MIN_OPEN);
        host.tripAndAct(START + 1);
    }

    function test_RevertWhen_ThePrimaryFails_Row23() external givenTrippingAndActingComeInOneTransaction {
        _expectTooYoung(0, MIN_OPEN);
        host.failAndAct();
    }

    function test_RevertWhen_TheWaitIsASecond_Row23() external givenTrippingAndActingComeInOneTransaction {
        _use(1);
        _expectTooYoung(0, 1);
        host.tripAndAct(START + 1);
    }

    // ─── given it would stay open for ever ───

    modifier givenItWouldStayOpenForEver() {
        breaker = Defaults.halfOpen();
        _;
        _assertUntouched();
    }

    function test_RevertWhen_ItLatchesAndSomebodyActs() external givenItWouldStayOpenForEver {
        breaker.flags = LATCH;
        _store();
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        host.act();
    }

    function test_RevertWhen_ItWasLatchedBeforeAndSomebodyActs() external givenItWouldStayOpenForEver {
        breaker.retryAt = NEVER;
        _store();
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        host.act();
    }

    function test_WhenTheDeadlineIsASecondBeforeNever() external givenItWouldStayOpenForEver {
        breaker.retryAt = NEVER - 1;
        _store();
        _acts();
    }

    function test_RevertWhen_ItLatchesAndAPersonTrips() external givenItWouldStayOpenForEver {
        breaker = Defaults.closed();
        breaker.flags = LATCH;
        _store();
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        host.tripUntil(START + 1);
    }

    // ─── given a person trips a closed breaker ───

    modifier givenAPersonTripsAClosedBreaker() {
        _;
    }

    function test_RevertWhen_TheTripHasNoDeadline() external givenAPersonTripsAClosedBreaker {
        _isOutOfRange(0);
    }

    function test_RevertWhen_TheTripEndsInThePast() external givenAPersonTripsAClosedBreaker {
        _isOutOfRange(START - 1);
    }

    function test_RevertWhen_TheTripEndsNow() external givenAPersonTripsAClosedBreaker {
        _isOutOfRange(START);
    }

    function test_WhenTheTripEndsInASecond() external givenAPersonTripsAClosedBreaker {
        _trips(START + 1);
    }

    function test_WhenTheTripIsASecondShorterThanTheLongest() external givenAPersonTripsAClosedBreaker {
        _trips(START + MAX_TRIP - 1);
    }

    function test_WhenTheTripIsTheLongest() external givenAPersonTripsAClosedBreaker {
        _trips(START + MAX_TRIP);
    }

    function test_RevertWhen_TheTripIsASecondLongerThanTheLongest() external givenAPersonTripsAClosedBreaker {
        _isOutOfRange(START + MAX_TRIP + 1);
    }

    function test_RevertWhen_TheTripNeverEnds() external givenAPersonTripsAClosedBreaker {
        _isOutOfRange(NEVER);
    }

    // ─── given a person trips another breaker ───

    modifier givenAPersonTripsAnotherBreaker() {
        _;
    }

    function test_RevertWhen_ThatIsNotConfigured() external givenAPersonTripsAnotherBreaker {
        breaker.failureThreshold = 0;
        _store();
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        host.tripUntil(START + 1);
        _assertUntouched();
    }

    function test_RevertWhen_ThatIsOpen() external givenAPersonTripsAnotherBreaker {
        breaker = Defaults.open();
        breaker.retryAt = START + 1;
        _isOpenAlready();
    }

    function test_RevertWhen_ThatIsHalf_open() external givenAPersonTripsAnotherBreaker {
        breaker = Defaults.halfOpen();
        _isOpenAlready();
    }

    function test_WhenThatWasTrippedAndHasClosedSince() external givenAPersonTripsAnotherBreaker {
        _trips(START + 1);
        skip(1);
        breaker.status = Status.CLOSED;
        breaker.retryAt = 0;
        _store();
        _trips(START + 1 + MAX_TRIP);
    }

    // ─── What is done and expected ───

    function _acts() private view {
        assertTrue(host.act(), "acted");
    }

    function _trips(uint40 until) private {
        host.tripUntil(until);
        _becomesOpen(0, until);
        _assertOpened(Outcome.Forced);
    }

    function _expectTooYoung(uint256 openFor, uint256 minOpen) private {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.EmergencyTooYoung.selector, id, openFor, minOpen));
    }

    function _isTooYoung(uint256 openFor) private {
        _expectTooYoung(openFor, MIN_OPEN);
        host.act();
    }

    function _isOutOfRange(uint40 until) private {
        vm.expectRevert(
            abi.encodeWithSelector(EmergencyPowers.UntilOutOfRange.selector, until, START + 1, START + MAX_TRIP)
        );
        host.tripUntil(until);
        _assertUntouched();
    }

    function _isOpenAlready() private {
        _store();
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.AlreadyOpen.selector, id));
        host.tripUntil(START + MAX_TRIP);
        _assertUntouched();
    }
}
