// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ReentrantFeed} from "../mocks/weird/ReentrantFeed.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {
    BACKUP_DECIMALS,
    FEED_GAS,
    FeedTest,
    PERCENT,
    PRICE,
    PRIMARY_DECIMALS,
    PRIMARY_HEARTBEAT
} from "../utils/FeedTest.sol";
import {CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {Source} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FeedConfig, ResilientFeed} from "contracts/ResilientFeed.sol";
import {AggregatorV3Interface} from "contracts/interfaces/AggregatorV3Interface.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice What a probe records, and when it moves the last good answer.
contract ResilientFeedProbeTest is FeedTest {
    int256 private constant NEAR = PRICE + 4 * PERCENT;
    int256 private constant FAR = PRICE + 6 * PERCENT;

    // ─── given an unknown breaker ───

    modifier givenAnUnknownBreaker() {
        vm.expectCall(address(primary), abi.encodeWithSelector(_latest()), 0);
        _;
    }

    function test_RevertWhen_ThatIsProbed() external givenAnUnknownBreaker {
        bytes32 unknown = bytes32(uint256(1));
        vm.expectRevert(abi.encodeWithSelector(ICircuitBreaker.UnknownBreaker.selector, unknown));
        feed.probe(unknown);
        _assertUnmoved();
    }

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _store();
        _;
    }

    function test_WhenTheBackupAgrees() external givenItIsClosed {
        _primaryAnswers(NEAR);
        _probes(Outcome.Ok);
        _assertRefreshed(NEAR, block.timestamp);
    }

    function test_WhenThereIsNoNewerRound() external givenItIsClosed {
        _probes(Outcome.Ok);
        _assertUnmoved();
        primary.answers(NEAR, START); // of the same second
        _probes(Outcome.Ok);
        _assertUnmoved();
    }

    function test_WhenTheRoundIsOlderThanTheLastGoodAnswer() external givenItIsClosed {
        primary.answers(NEAR, START - 1);
        _probes(Outcome.Ok);
        _assertUnmoved();
    }

    function test_WhenTheBackupIsDownAndThePrimaryIsNearTheLastGoodAnswer() external givenItIsClosed {
        backup.setDown(true);
        _primaryAnswers(NEAR);
        _probes(Outcome.Ok);
        _assertRefreshed(NEAR, block.timestamp);
    }

    function test_WhenTheBackupIsDownAndThePrimaryIsFarFromTheLastGoodAnswer() external givenItIsClosed {
        backup.setDown(true);
        _primaryAnswers(FAR);
        _probes(Outcome.Rejected);
        _assertUnmoved();
    }

    function test_WhenTheBackupDisagrees() external givenItIsClosed {
        _primaryAnswers(FAR);
        _probes(Outcome.Rejected);
        _countsOne();
        _assertCounted();
    }

    function test_WhenBothAgreeFarFromTheLastGoodAnswer() external givenItIsClosed {
        _primaryAnswers(FAR);
        _backupAnswers(FAR);
        _probes(Outcome.Ok);
        _assertRefreshed(FAR, block.timestamp);
    }

    function test_WhenThePrimaryIsDown() external givenItIsClosed {
        primary.setDown(true);
        _probes(Outcome.Reverted);
        _countsOne();
        _assertCounted();
    }

    function test_WhenThePrimaryIsStale() external givenItIsClosed {
        vm.warp(START + PRIMARY_HEARTBEAT);
        _probes(Outcome.Ok);
        _assertUnmoved();
        skip(1);
        _probes(Outcome.Rejected);
        _countsOne();
        _assertCounted();
    }

    // ─── given it is closed after a failure ───

    modifier givenItIsClosedAfterAFailure() {
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _store();
        _;
    }

    function test_WhenThePrimaryIsWell() external givenItIsClosedAfterAFailure {
        _primaryAnswers(NEAR);
        _probes(Outcome.Ok);
        breaker.failureCount = 0;
        _assertCountedAndRefreshed(NEAR, block.timestamp);
    }

    function test_WhenThePrimaryIsFarFromTheLastGoodAnswerAlone() external givenItIsClosedAfterAFailure {
        backup.setDown(true);
        _primaryAnswers(FAR);
        for (uint256 i; i < THRESHOLD; ++i) {
            _probes(Outcome.Rejected);
            _assertUnmoved();
            skip(1);
        }
    }

    /// Both are down: nothing can be served, and still it is recorded.
    function test_WhenThePrimaryFailsUpToTheThreshold() external givenItIsClosedAfterAFailure {
        primary.setDown(true);
        backup.setDown(true);
        for (uint16 count = 2; count < THRESHOLD; ++count) {
            _probes(Outcome.Reverted);
            breaker.failureCount = count;
            breaker.lastFailureAt = uint40(block.timestamp);
            _assertCounted();
            skip(1);
        }
        _probes(Outcome.Reverted);
        _becomesOpen(THRESHOLD, uint40(block.timestamp) + COOLDOWN);
        _assertOpenedBy(Outcome.Reverted);
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen(uint40(block.timestamp) + 1);
        vm.expectCall(address(primary), "", 0);
        vm.expectCall(address(backup), "", 0);
        _;
    }

    function test_WhenItIsProbedTooEarly() external givenItIsOpen {
        _probes(Outcome.NotTried);
        _assertUnmoved();
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        _storeHalfOpen();
        _;
    }

    function test_WhenThePrimaryHasRecovered() external givenItIsHalf_open {
        _primaryAnswers(NEAR);
        _probes(Outcome.Ok);
        breaker.successCount = 1;
        breaker.probedAt = uint8(block.timestamp);
        _assertCountedAndRefreshed(NEAR, block.timestamp);

        skip(1);
        _primaryAnswers(NEAR + 1);
        _probes(Outcome.Ok);
        _becomesClosed();
        _assertClosedAndRefreshed(NEAR + 1, block.timestamp);
    }

    function test_WhenTheBackupDisagreesStill() external givenItIsHalf_open {
        _primaryAnswers(FAR);
        _probes(Outcome.Rejected);
        breaker.reopenCount = 1;
        breaker.retryAt = uint40(block.timestamp) + 2 * COOLDOWN;
        _assertOpenedBy(Outcome.Rejected);
    }

    function test_WhenThePrimaryIsFarFromTheLastGoodAnswerOnItsOwn() external givenItIsHalf_open {
        backup.setDown(true);
        _primaryAnswers(FAR);
        _probes(Outcome.Rejected);
        _assertUnmoved();
    }

    // ─── given decimals that changed ───

    modifier givenDecimalsThatChanged() {
        _store();
        _;
    }

    function test_WhenTheyAreThoseOfThePrimary() external givenDecimalsThatChanged {
        primary.setDecimals(PRIMARY_DECIMALS + 1);
        _primaryAnswers(NEAR);
        _probes(Outcome.Rejected);
        _countsOne();
        _assertCounted();
    }

    function test_WhenThePrimaryDoesNotTellThemAnyMore() external givenDecimalsThatChanged {
        vm.mockCallRevert(address(primary), abi.encodeCall(AggregatorV3Interface.decimals, ()), "");
        _primaryAnswers(NEAR);
        _probes(Outcome.Reverted);
        _countsOne();
        _assertCounted();
    }

    /// It would contradict the primary, whose answer is near the last good one.
    function test_WhenTheyAreThoseOfTheBackup() external givenDecimalsThatChanged {
        _primaryAnswers(NEAR);
        _backupAnswers(PRICE - 4 * PERCENT);
        backup.setDecimals(BACKUP_DECIMALS - 1);
        _probes(Outcome.Ok);
        _assertRefreshed(NEAR, block.timestamp);
    }

    // ─── given a primary that calls back ───

    ReentrantFeed private reentrant;

    modifier givenAPrimaryThatCallsBack() {
        reentrant = new ReentrantFeed(primary);
        FeedConfig memory feeds = _feeds();
        feeds.primary = AggregatorV3Interface(address(reentrant));
        feeds.gas = 10 * FEED_GAS;
        _use(new ResilientFeed(feeds, CircuitBreaker.safe(THRESHOLD, COOLDOWN)));
        _;
    }

    function test_WhenItProbes() external givenAPrimaryThatCallsBack {
        reentrant.callBack(address(feed), abi.encodeCall(ResilientFeed.probe, (id)));
        _watch();
        _probes(Outcome.Reverted);
        _countsOne();
        _assertCounted();
    }

    function test_WhenItReads() external givenAPrimaryThatCallsBack {
        reentrant.callBack(address(feed), abi.encodeCall(ResilientFeed.lastGood, ()));
        _primaryAnswers(NEAR);
        _watch();
        _probes(Outcome.Ok);
        _assertRefreshed(NEAR, block.timestamp);
        _serves(Source.Primary, NEAR, block.timestamp);
    }

    function _countsOne() private {
        breaker.failureCount = 1;
        breaker.lastFailureAt = uint40(block.timestamp);
    }
}
