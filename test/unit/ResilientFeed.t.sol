// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {SettableFeed} from "../mocks/SettableFeed.sol";
import {WeirdFeed} from "../mocks/weird/WeirdFeed.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {
    BACKUP_DECIMALS,
    BACKUP_HEARTBEAT,
    BACKUP_ROUND,
    DEVIATION,
    FeedTest,
    PERCENT,
    PRICE,
    PRIMARY_DECIMALS,
    PRIMARY_HEARTBEAT,
    PRIMARY_ROUND
} from "../utils/FeedTest.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FeedConfig, LastGood, ResilientFeed} from "contracts/ResilientFeed.sol";
import {AggregatorV3Interface} from "contracts/interfaces/AggregatorV3Interface.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice How a feed comes to be, and what it tells about itself.
contract ResilientFeedTest is FeedTest {
    /// @dev Four times the budget with the 64th that the EVM keeps, three times 3,000 for a cold delegate, and 100,000
    ///      around it all, is just below 16,777,216.
    uint32 private constant LARGEST_BUDGET = 4_101_943;

    FeedConfig private feeds;
    Config private config;

    function setUp() public override {
        super.setUp();
        feeds = _feeds();
        config = CircuitBreaker.safe(THRESHOLD, COOLDOWN);
        _primaryAnswers(PRICE);
        _backupAnswers(PRICE);
    }

    // ─── given parameters that cannot work ───

    modifier givenParametersThatCannotWork() {
        _;
        new ResilientFeed(feeds, config);
    }

    function test_RevertWhen_ThePrimaryIsZero() external givenParametersThatCannotWork {
        feeds.primary = AggregatorV3Interface(address(0));
        _expect(abi.encodeWithSelector(ResilientFeed.PrimaryWithoutCode.selector, address(0)));
    }

    function test_RevertWhen_ThePrimaryHasNoCode() external givenParametersThatCannotWork {
        feeds.primary = AggregatorV3Interface(makeAddr("nobody"));
        _expect(abi.encodeWithSelector(ResilientFeed.PrimaryWithoutCode.selector, makeAddr("nobody")));
    }

    function test_RevertWhen_TheBackupIsZero() external givenParametersThatCannotWork {
        feeds.backup = AggregatorV3Interface(address(0));
        _expect(abi.encodeWithSelector(ResilientFeed.BackupWithoutCode.selector, address(0)));
    }

    function test_RevertWhen_TheBackupHasNoCode() external givenParametersThatCannotWork {
        feeds.backup = AggregatorV3Interface(makeAddr("nobody"));
        _expect(abi.encodeWithSelector(ResilientFeed.BackupWithoutCode.selector, makeAddr("nobody")));
    }

    function test_RevertWhen_TheBackupIsThePrimary() external givenParametersThatCannotWork {
        feeds.backup = primary;
        _expect(abi.encodeWithSelector(ResilientFeed.BackupIsPrimary.selector, primary));
    }

    function test_RevertWhen_TheHeartbeatOfThePrimaryIsZero() external givenParametersThatCannotWork {
        feeds.primaryHeartbeat = 0;
        _expect(abi.encodeWithSelector(ResilientFeed.PrimaryHeartbeatZero.selector));
    }

    function test_RevertWhen_TheHeartbeatOfTheBackupIsZero() external givenParametersThatCannotWork {
        feeds.backupHeartbeat = 0;
        _expect(abi.encodeWithSelector(ResilientFeed.BackupHeartbeatZero.selector));
    }

    function test_RevertWhen_TheDeviationIsZero() external givenParametersThatCannotWork {
        feeds.maxDeviationBps = 0;
        _expect(abi.encodeWithSelector(ResilientFeed.MaxDeviationOutOfRange.selector, 0, 10_000));
    }

    function test_RevertWhen_TheDeviationIsAboveTheWhole() external givenParametersThatCannotWork {
        feeds.maxDeviationBps = 10_001;
        _expect(abi.encodeWithSelector(ResilientFeed.MaxDeviationOutOfRange.selector, 10_001, 10_000));
    }

    function test_RevertWhen_TheBudgetIsBelowTheStipend() external givenParametersThatCannotWork {
        feeds.gas = 2299;
        _expect(abi.encodeWithSelector(GuardedCall.GasBudgetTooSmall.selector, 2299, 2300));
    }

    function test_RevertWhen_TheBudgetDoesNotFitATransaction() external givenParametersThatCannotWork {
        feeds.gas = type(uint32).max;
        _expectTooLarge();
    }

    function test_RevertWhen_TheBudgetFitsATransactionButFourOfThemDoNot() external givenParametersThatCannotWork {
        feeds.gas = LARGEST_BUDGET + 1;
        _expectTooLarge();
    }

    function test_RevertWhen_TheDecimalsOfThePrimaryCannotBeRead() external givenParametersThatCannotWork {
        WeirdFeed weird = new WeirdFeed();
        feeds.primary = AggregatorV3Interface(address(weird));
        _expect(abi.encodeWithSelector(ResilientFeed.DecimalsUnreadable.selector, weird, Outcome.BadReturn));
    }

    function test_RevertWhen_TheDecimalsOfTheBackupNeedMoreThanAByte() external givenParametersThatCannotWork {
        WeirdFeed weird = new WeirdFeed();
        weird.answer(AggregatorV3Interface.decimals.selector, abi.encode(256));
        feeds.backup = AggregatorV3Interface(address(weird));
        _expect(abi.encodeWithSelector(ResilientFeed.DecimalsUnreadable.selector, weird, Outcome.BadReturn));
    }

    function test_RevertWhen_ThePrimaryHas78Decimals() external givenParametersThatCannotWork {
        primary.setDecimals(78);
        _expect(abi.encodeWithSelector(ResilientFeed.DecimalsTooLarge.selector, primary, 78, 77));
    }

    function test_RevertWhen_TheBackupHas78Decimals() external givenParametersThatCannotWork {
        backup.setDecimals(78);
        _expect(abi.encodeWithSelector(ResilientFeed.DecimalsTooLarge.selector, backup, 78, 77));
    }

    function test_RevertWhen_TheFailureThresholdIsZero() external givenParametersThatCannotWork {
        config.failureThreshold = 0;
        _expect(abi.encodeWithSelector(CircuitBreaker.FailureThresholdZero.selector));
    }

    function test_RevertWhen_TheBreakerLatches() external givenParametersThatCannotWork {
        config.flags |= CircuitBreaker.LATCH;
        _expect(abi.encodeWithSelector(ResilientFeed.LatchRefused.selector));
    }

    // ─── given parameters at their limits ───

    modifier givenParametersAtTheirLimits() {
        _;
        _use(new ResilientFeed(feeds, config));
    }

    function test_WhenAllAreAtTheirLeast() external givenParametersAtTheirLimits {
        primary.setDecimals(0);
        backup.setDecimals(0);
        primary.answers(1, block.timestamp);
        backup.answers(1, block.timestamp);
        feeds.primaryHeartbeat = 1;
        feeds.backupHeartbeat = 1;
        feeds.maxDeviationBps = 1;
        feeds.description = "";
    }

    function test_WhenAllAreAtTheirMost() external givenParametersAtTheirLimits {
        primary.setDecimals(77);
        backup.setDecimals(77);
        primary.answers(type(int256).max, block.timestamp);
        backup.answers(type(int256).max, block.timestamp);
        feeds.primaryHeartbeat = type(uint32).max;
        feeds.backupHeartbeat = type(uint32).max;
        feeds.maxDeviationBps = 10_000;
    }

    function test_WhenTheBudgetIsTheLargestOfWhichFourFit() external givenParametersAtTheirLimits {
        feeds.gas = LARGEST_BUDGET;
    }

    // ─── given feeds to take a first answer from ───

    modifier givenFeedsToTakeAFirstAnswerFrom() {
        _;
    }

    function test_WhenTheyAgree() external givenFeedsToTakeAFirstAnswerFrom {
        _backupAnswers(PRICE + 5 * PERCENT);
        _keeps(PRICE, PRIMARY_ROUND + 1, PRIMARY_HEARTBEAT);
    }

    function test_WhenTheBackupIsDown() external givenFeedsToTakeAFirstAnswerFrom {
        backup.setDown(true);
        _keeps(PRICE, PRIMARY_ROUND + 1, PRIMARY_HEARTBEAT);
    }

    function test_WhenThePrimaryIsDown() external givenFeedsToTakeAFirstAnswerFrom {
        primary.setDown(true);
        _keeps(PRICE, BACKUP_ROUND + 1, BACKUP_HEARTBEAT);
    }

    function test_RevertWhen_TheyDisagree() external givenFeedsToTakeAFirstAnswerFrom {
        _backupAnswers(PRICE + 5 * PERCENT + 1);
        vm.expectRevert(ResilientFeed.NoAnswer.selector);
        new ResilientFeed(feeds, config);
    }

    function test_RevertWhen_BothAreDown() external givenFeedsToTakeAFirstAnswerFrom {
        primary.setDown(true);
        backup.setDown(true);
        vm.expectRevert(ResilientFeed.NoAnswer.selector);
        new ResilientFeed(feeds, config);
    }

    function test_WhenTheRoundStartedAfterAll64Bits() external givenFeedsToTakeAFirstAnswerFrom {
        primary.setRound(PRIMARY_ROUND, PRICE, type(uint256).max, block.timestamp, PRIMARY_ROUND);
        assertEq(new ResilientFeed(feeds, config).lastGood().startedAt, type(uint64).max);
    }

    // ─── given a feed that was constructed ───

    modifier givenAFeedThatWasConstructed() {
        _;
    }

    function test_WhenItIsAskedWhatItIs() external view givenAFeedThatWasConstructed {
        assertEq(feed.decimals(), PRIMARY_DECIMALS, "decimals");
        assertEq(feed.description(), "ETH / USD", "description");
        assertEq(feed.version(), 1, "version");
        assertEq(address(feed.primary()), address(primary), "primary");
        assertEq(address(feed.backup()), address(backup), "backup");
        assertEq(feed.primaryHeartbeat(), PRIMARY_HEARTBEAT, "primaryHeartbeat");
        assertEq(feed.backupHeartbeat(), BACKUP_HEARTBEAT, "backupHeartbeat");
        assertEq(feed.maxDeviationBps(), DEVIATION, "maxDeviationBps");
        assertNotEq(PRIMARY_DECIMALS, BACKUP_DECIMALS, "nothing to scale");
        Breaker memory built = CircuitBreaker.build(config);
        assertEq(abi.encode(feed.breaker()), abi.encode(built), "breaker");
    }

    /// From the signatures, so that a change of the interfaces is noticed.
    function test_WhenItsInterfacesAreAskedFor() external view givenAFeedThatWasConstructed {
        bytes4 probe = bytes4(keccak256("probe(bytes32)"));
        bytes4 host = bytes4(keccak256("breakers()")) ^ bytes4(keccak256("breakerState(bytes32)")) ^ probe;
        bytes4 aggregator = bytes4(keccak256("decimals()")) ^ bytes4(keccak256("description()"))
            ^ bytes4(keccak256("version()")) ^ bytes4(keccak256("getRoundData(uint80)"))
            ^ bytes4(keccak256("latestRoundData()"));
        assertTrue(feed.supportsInterface(host), "ICircuitBreaker");
        assertTrue(feed.supportsInterface(aggregator), "AggregatorV3Interface");
        assertTrue(feed.supportsInterface(0x01ffc9a7), "ERC-165");
        assertFalse(feed.supportsInterface(0xffffffff), "what ERC-165 reserves for no");
        assertFalse(feed.supportsInterface(probe), "a part of ICircuitBreaker");
    }

    function test_WhenItsBreakersAreListed() external givenAFeedThatWasConstructed {
        assertEq(feed.breakers().length, 1, "number of breakers");
        assertEq(feed.breakers()[0], id, "slot");
        _assertUnmoved();
    }

    function test_WhenTheStateOfItsBreakerIsRead() external givenAFeedThatWasConstructed {
        _assertState(State.Closed);
        _storeOpen(uint40(block.timestamp) + 1);
        _assertState(State.Open);
        _storeHalfOpen();
        _assertState(State.HalfOpen);
    }

    function test_RevertWhen_TheStateOfAnUnknownBreakerIsRead() external givenAFeedThatWasConstructed {
        bytes32 unknown = bytes32(uint256(1));
        vm.expectRevert(abi.encodeWithSelector(ICircuitBreaker.UnknownBreaker.selector, unknown));
        feed.breakerState(unknown);
    }

    // ─── given a clone of it ───

    /// It has the feeds, which are in the code, and no storage.
    modifier givenACloneOfIt() {
        _use(ResilientFeed(Clones.clone(address(feed))));
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        _;
        _assertUnmoved();
    }

    function test_RevertWhen_TheCloneIsRead_Row21() external givenACloneOfIt {
        feed.latestRoundData();
    }

    function test_RevertWhen_TheCloneIsProbed_Row21() external givenACloneOfIt {
        feed.probe(id);
    }

    function test_RevertWhen_TheStateInTheCloneIsRead_Row21() external givenACloneOfIt {
        feed.breakerState(id);
    }

    // ─── Helpers ───

    function _expect(bytes memory reason) private {
        vm.expectRevert(reason);
    }

    function _expectTooLarge() private {
        vm.expectPartialRevert(GuardedCall.GasBudgetTooLarge.selector);
    }

    function _keeps(int256 answer, uint80 roundId, uint32 heartbeat) private {
        vm.recordLogs();
        ResilientFeed built = new ResilientFeed(feeds, config);
        LastGood memory expected = LastGood({
            answer: answer,
            roundId: roundId,
            startedAt: uint64(block.timestamp - 7),
            updatedAt: uint64(block.timestamp),
            heartbeat: heartbeat
        });
        assertEq(abi.encode(built.lastGood()), abi.encode(expected), "last good answer");
        assertEq(vm.getRecordedLogs()[0].data, abi.encode(answer, block.timestamp, roundId), "event");
        assertGt(block.timestamp, START, "the one of the constructor before");
    }

    function _assertState(State expected) private view {
        (State state, Breaker memory stored) = feed.breakerState(id);
        assertEq(uint8(state), uint8(expected), "state");
        assertEq(abi.encode(stored), abi.encode(breaker), "breakerState");
        assertEq(abi.encode(feed.breaker()), abi.encode(breaker), "breaker");
    }
}
