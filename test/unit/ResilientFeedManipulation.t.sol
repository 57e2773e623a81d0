// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {SettableFeed} from "../mocks/SettableFeed.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {
    BACKUP_HEARTBEAT,
    BACKUP_ROUND,
    FeedTest,
    PERCENT,
    PRICE,
    PRIMARY_HEARTBEAT,
    PRIMARY_ROUND
} from "../utils/FeedTest.sol";
import {Source} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FeedConfig, ResilientFeed} from "contracts/ResilientFeed.sol";

/// @notice What a feed that lies can reach, and what a real move of the price must.
contract ResilientFeedManipulationTest is FeedTest {
    // ─── given a dead backup and a real move of ten percent ───

    int256 private constant MOVED = PRICE + 10 * PERCENT;

    modifier givenADeadBackupAndARealMoveOfTenPercent() {
        backup.setDown(true);
        _primaryAnswers(MOVED);
        _store();
        _;
    }

    function test_WhenTheLastGoodAnswerHasASecondLeft_Row22() external givenADeadBackupAndARealMoveOfTenPercent {
        _primaryAnswersAt(START + PRIMARY_HEARTBEAT - 1);
        _serves(Source.LastGood, PRICE, START);
        _assertUnmoved();
    }

    function test_WhenTheTimeOfTheLastGoodAnswerIsJustUp_Row22() external givenADeadBackupAndARealMoveOfTenPercent {
        _primaryAnswersAt(START + PRIMARY_HEARTBEAT);
        _serves(Source.LastGood, PRICE, START);
        _assertUnmoved();
    }

    function test_WhenTheLastGoodAnswerIsASecondTooOld_Row22() external givenADeadBackupAndARealMoveOfTenPercent {
        _primaryAnswersAt(START + PRIMARY_HEARTBEAT + 1);
        _serves(Source.Primary, MOVED, block.timestamp);
        _assertUnmoved();
    }

    function test_WhenItIsProbedAllAlong_Row22() external givenADeadBackupAndARealMoveOfTenPercent {
        for (uint256 time = START + 60; time <= START + PRIMARY_HEARTBEAT; time += 60) {
            _primaryAnswersAt(time);
            _probes(Outcome.Rejected);
            _assertUnmoved();
            _serves(Source.LastGood, PRICE, START);
        }
        skip(1);
        _probes(Outcome.Ok);
        _assertRefreshed(MOVED, block.timestamp - 1);
        _serves(Source.Primary, MOVED, block.timestamp - 1);
    }

    function _primaryAnswersAt(uint256 time) private {
        vm.warp(time);
        _primaryAnswers(MOVED);
    }

    // ─── given a primary that lies four percent a probe ───

    modifier givenAPrimaryThatLiesFourPercentAProbe() {
        _;
    }

    function test_WhenThreePercentAreAllowed_Row22() external givenAPrimaryThatLiesFourPercentAProbe {
        _allow(300);
        for (uint16 count = 1; count <= THRESHOLD; ++count) {
            _lie();
            _serves(Source.Backup, PRICE, START + 60);
            _probes(Outcome.Rejected);
            if (count < THRESHOLD) {
                _countsOneMore();
                _assertCounted();
            }
        }
        _becomesOpen(THRESHOLD, uint40(block.timestamp) + COOLDOWN);
        _assertOpenedBy(Outcome.Rejected);
        _serves(Source.Backup, PRICE, START + 60);
        assertEq(feed.lastGood().answer, PRICE, "moved");
    }

    /// The first lie is what an honest feed might say. The next ones are not.
    function test_WhenFivePercentAreAllowed_Row22() external givenAPrimaryThatLiesFourPercentAProbe {
        _lie();
        _probes(Outcome.Ok);
        _assertRefreshed(PRICE + 4 * PERCENT, block.timestamp);
        for (uint16 count = 1; count < THRESHOLD; ++count) {
            _lie();
            _probes(Outcome.Rejected);
            _countsOneMore();
            _assertCounted();
        }
        _lie();
        _probes(Outcome.Rejected);
        _becomesOpen(THRESHOLD, uint40(block.timestamp) + COOLDOWN);
        _assertOpenedBy(Outcome.Rejected);
        _serves(Source.Backup, PRICE, START);
        assertEq(feed.lastGood().answer, PRICE + 4 * PERCENT, "moved");
    }

    /// At the edge of what the backup confirms, the last good answer contradicts the backup as soon as that moves: then
    /// it must not speak for the primary.
    function test_WhenTheBackupMovesAwayHonestly_Row22() external givenAPrimaryThatLiesFourPercentAProbe {
        _lie();
        _probes(Outcome.Ok);
        _assertRefreshed(PRICE + 4 * PERCENT, block.timestamp);
        _backupAnswers(PRICE - 2 * PERCENT);
        _lie();
        _probes(Outcome.Rejected);
        _countsOneMore();
        _assertCounted();
        // Near a fresh last good answer it is still served, at most so far off, and only until the breaker opens.
        _serves(Source.Primary, (PRICE + 4 * PERCENT) * 104 / 100, block.timestamp);
        _lie();
        _serves(Source.LastGood, PRICE + 4 * PERCENT, block.timestamp - 2);
    }

    /// Nobody contradicts it. What it can do is bounded by its rounds alone.
    function test_WhenTheBackupIsStale() external givenAPrimaryThatLiesFourPercentAProbe {
        _allow(500);
        backup.answers(1, block.timestamp - BACKUP_HEARTBEAT - 1);
        for (uint256 i; i < 4; ++i) {
            _lie();
            _probes(Outcome.Ok);
            (, int256 lie,,,) = primary.latestRoundData();
            _assertRefreshed(lie, block.timestamp);
            // Probing again, in the same second or with the same round, moves nothing more.
            primary.answers(lie * 104 / 100, block.timestamp);
            _probes(Outcome.Ok);
            _assertUnmoved();
            primary.answers(lie, block.timestamp);
        }
    }

    function _lie() private {
        skip(1);
        (, int256 answer,,,) = primary.latestRoundData();
        _primaryAnswers(answer * 104 / 100);
    }

    function _allow(uint16 bps) private {
        _primaryAnswers(PRICE);
        _backupAnswers(PRICE);
        FeedConfig memory feeds = _feeds();
        feeds.maxDeviationBps = bps;
        _use(new ResilientFeed(feeds, _plain()));
    }

    // ─── given a primary that is stuck while the price falls ───

    /// A feed that reports its floor, round after round, while the market is far below it.
    modifier givenAPrimaryThatIsStuckWhileThePriceFalls() {
        skip(1);
        _backupAnswers(PRICE / 2);
        _;
    }

    function test_WhenItIsProbedEveryMinute() external givenAPrimaryThatIsStuckWhileThePriceFalls {
        for (uint16 count = 1; count <= THRESHOLD; ++count) {
            skip(60);
            _primaryAnswers(PRICE);
            _serves(Source.Primary, PRICE, block.timestamp);
            _probes(Outcome.Rejected);
            if (count < THRESHOLD) {
                _countsOneMore();
                _assertCounted();
            }
        }
        _becomesOpen(THRESHOLD, uint40(block.timestamp) + COOLDOWN);
        _assertOpenedBy(Outcome.Rejected);
        // The last good answer shows its age, and gives way.
        _serves(Source.LastGood, PRICE, START);
        vm.warp(START + PRIMARY_HEARTBEAT + 1);
        _primaryAnswers(PRICE);
        _probes(Outcome.Rejected);
        _serves(Source.Backup, PRICE / 2, START + 61);
        assertEq(feed.lastGood().answer, PRICE, "moved");
    }

    // ─── given a backup that lies ───

    modifier givenABackupThatLies() {
        skip(60);
        _primaryAnswers(PRICE + PERCENT);
        _backupAnswers(2 * PRICE);
        _;
    }

    function test_WhenTheLastGoodAnswerIsFresh() external givenABackupThatLies {
        _serves(Source.Primary, PRICE + PERCENT, block.timestamp);
    }

    function test_WhenTheLastGoodAnswerIsStale() external givenABackupThatLies {
        vm.warp(START + PRIMARY_HEARTBEAT + 1);
        _primaryAnswers(PRICE + PERCENT);
        for (uint256 i; i < THRESHOLD; ++i) {
            _servesNothing();
            _probes(Outcome.Rejected);
            skip(1);
        }
        _serves(Source.Backup, 2 * PRICE, START + 120);
    }

    function test_WhenThePrimaryIsDown() external givenABackupThatLies {
        primary.setDown(true);
        vm.warp(START + PRIMARY_HEARTBEAT);
        _serves(Source.LastGood, PRICE, START);
        skip(1);
        _serves(Source.Backup, 2 * PRICE, START + 120);
    }

    // ─── given two feeds that lie alike ───

    modifier givenTwoFeedsThatLieAlike() {
        _primaryAnswers(2 * PRICE);
        _backupAnswers(2 * PRICE);
        _;
    }

    /// There is nobody left to tell.
    function test_WhenTheyAreProbed() external givenTwoFeedsThatLieAlike {
        _probes(Outcome.Ok);
        _assertRefreshed(2 * PRICE, block.timestamp);
        _serves(Source.Primary, 2 * PRICE, block.timestamp);
    }

    // ─── given feeds at the ends of the decimals ───

    modifier givenFeedsAtTheEndsOfTheDecimals() {
        _;
    }

    function test_WhenThePrimaryHasNoneAndTheBackupHas77() external givenFeedsAtTheEndsOfTheDecimals {
        primary = new SettableFeed(0, PRIMARY_ROUND);
        backup = new SettableFeed(77, BACKUP_ROUND);
        _primaryAnswers(1);
        backup.answers(type(int256).max, block.timestamp); // 0.57…
        _use(new ResilientFeed(_feeds(), _plain()));
        primary.setDown(true);
        _serves(Source.LastGood, 1, block.timestamp);
    }

    function test_WhenThePrimaryHas77AndTheBackupHasNone() external givenFeedsAtTheEndsOfTheDecimals {
        primary = new SettableFeed(77, PRIMARY_ROUND);
        backup = new SettableFeed(0, BACKUP_ROUND);
        _primaryAnswers(type(int256).max);
        backup.answers(1, block.timestamp);
        _use(new ResilientFeed(_feeds(), _plain()));
        _probes(Outcome.Ok);
        _serves(Source.Primary, type(int256).max, block.timestamp);
    }

    function _countsOneMore() private {
        ++breaker.failureCount;
        breaker.lastFailureAt = uint40(block.timestamp);
    }
}
