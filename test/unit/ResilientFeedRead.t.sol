// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {START} from "../utils/Defaults.sol";
import {BACKUP_ROUND, FeedTest, PERCENT, PRICE, PRIMARY_HEARTBEAT, PRIMARY_ROUND} from "../utils/FeedTest.sol";
import {Source} from "contracts/FeedChoice.sol";
import {ResilientFeed} from "contracts/ResilientFeed.sol";

/// @notice What is served. Reads are views: whatever the feeds do, the word stays what it is.
contract ResilientFeedReadTest is FeedTest {
    int256 private constant NEW = PRICE + PERCENT;

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        skip(60);
        _primaryAnswers(NEW);
        _backupAnswers(NEW + PERCENT);
        _store();
        _;
        _assertUnmoved();
    }

    function test_WhenBothFeedsAgree() external givenItIsClosed {
        _serves(Source.Primary, NEW, block.timestamp);
        (,, uint256 startedAt,,) = feed.latestRoundData();
        assertEq(startedAt, block.timestamp - 7, "startedAt");
    }

    function test_WhenThePrimaryIsDown() external givenItIsClosed {
        primary.setDown(true);
        _serves(Source.Backup, NEW + PERCENT, block.timestamp);
    }

    function test_WhenThePrimaryHasASecondLeft() external givenItIsClosed {
        skip(PRIMARY_HEARTBEAT - 1);
        _serves(Source.Primary, NEW, START + 120);
    }

    function test_WhenTheTimeOfThePrimaryIsJustUp() external givenItIsClosed {
        skip(PRIMARY_HEARTBEAT);
        _serves(Source.Primary, NEW, START + 120);
    }

    function test_WhenThePrimaryIsASecondTooOld() external givenItIsClosed {
        skip(PRIMARY_HEARTBEAT + 1);
        _serves(Source.Backup, NEW + PERCENT, START + 120);
    }

    function test_WhenThePrimaryIsFromTheFuture() external givenItIsClosed {
        primary.answers(NEW, block.timestamp + 1);
        _serves(Source.Backup, NEW + PERCENT, block.timestamp);
    }

    function test_WhenTheRoundOfThePrimaryIsNotComplete() external givenItIsClosed {
        primary.setRound(PRIMARY_ROUND, NEW, block.timestamp, block.timestamp, PRIMARY_ROUND - 1);
        _serves(Source.Backup, NEW + PERCENT, block.timestamp);
        primary.setRound(PRIMARY_ROUND, NEW, block.timestamp, 0, PRIMARY_ROUND);
        _serves(Source.Backup, NEW + PERCENT, block.timestamp);
    }

    function test_WhenThePriceOfThePrimaryIsNone() external givenItIsClosed {
        int256[3] memory none = [int256(0), -1, type(int256).min];
        for (uint256 i; i < none.length; ++i) {
            _primaryAnswers(none[i]);
            _serves(Source.Backup, NEW + PERCENT, block.timestamp);
        }
    }

    function test_WhenTheFeedsDisagree() external givenItIsClosed {
        _primaryAnswers(PRICE + 3 * PERCENT + 1);
        _backupAnswers(PRICE - 3 * PERCENT);
        _serves(Source.Backup, PRICE - 3 * PERCENT, block.timestamp);
        _primaryAnswers(PRICE + 3 * PERCENT);
        _serves(Source.Backup, PRICE - 3 * PERCENT, block.timestamp);
        _primaryAnswers(PRICE + 3 * PERCENT - 1);
        _serves(Source.Primary, PRICE + 3 * PERCENT - 1, block.timestamp);
    }

    // ─── given it is closed and both feeds are down ───

    modifier givenItIsClosedAndBothFeedsAreDown() {
        primary.setDown(true);
        backup.setDown(true);
        vm.warp(START + PRIMARY_HEARTBEAT);
        _store();
        _;
        _assertUnmoved();
    }

    function test_WhenTheLastGoodAnswerHasASecondLeft() external givenItIsClosedAndBothFeedsAreDown {
        rewind(1);
        _serves(Source.LastGood, PRICE, START);
    }

    function test_WhenTheTimeOfTheLastGoodAnswerIsJustUp() external givenItIsClosedAndBothFeedsAreDown {
        _serves(Source.LastGood, PRICE, START);
        (uint80 roundId,, uint256 startedAt,,) = feed.latestRoundData();
        assertEq(roundId, PRIMARY_ROUND, "roundId");
        assertEq(startedAt, START - 7, "startedAt");
    }

    function test_RevertWhen_TheLastGoodAnswerIsASecondTooOld() external givenItIsClosedAndBothFeedsAreDown {
        skip(1);
        _servesNothing();
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        skip(60);
        _primaryAnswers(NEW);
        _backupAnswers(NEW);
        _storeOpen(type(uint40).max);
        vm.expectCall(address(primary), abi.encodeWithSelector(_latest()), 0);
        _;
        _assertUnmoved();
    }

    function test_WhenTheBackupIsWell() external givenItIsOpen {
        _serves(Source.Backup, NEW, block.timestamp);
    }

    function test_WhenTheBackupIsDown() external givenItIsOpen {
        backup.setDown(true);
        _serves(Source.LastGood, PRICE, START);
    }

    /// The primary would confirm the move, and is not asked.
    function test_WhenTheBackupIsFarFromTheLastGoodAnswer() external givenItIsOpen {
        _primaryAnswers(PRICE + 6 * PERCENT);
        _backupAnswers(PRICE + 6 * PERCENT);
        _serves(Source.LastGood, PRICE, START);
    }

    function test_RevertWhen_ThereIsNothingLeft() external givenItIsOpen {
        backup.setDown(true);
        skip(PRIMARY_HEARTBEAT);
        _servesNothing();
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        skip(60);
        _primaryAnswers(NEW);
        _backupAnswers(NEW + PERCENT);
        _storeHalfOpen();
        _;
        _assertUnmoved();
    }

    function test_WhenThePrimaryHasRecovered() external givenItIsHalf_open {
        _serves(Source.Primary, NEW, block.timestamp);
    }

    function test_WhenThePrimaryIsStillDown() external givenItIsHalf_open {
        primary.setDown(true);
        _serves(Source.Backup, NEW + PERCENT, block.timestamp);
    }

    // ─── given a round is asked for ───

    modifier givenARoundIsAskedFor() {
        skip(60);
        _primaryAnswers(NEW);
        _;
    }

    function test_WhenItIsTheOneServedNow() external givenARoundIsAskedFor {
        (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound) =
            feed.getRoundData(PRIMARY_ROUND + 1);
        assertEq(roundId, PRIMARY_ROUND + 1, "roundId");
        assertEq(answer, NEW, "answer");
        assertEq(startedAt, block.timestamp - 7, "startedAt");
        assertEq(updatedAt, block.timestamp, "updatedAt");
        assertEq(answeredInRound, PRIMARY_ROUND + 1, "answeredInRound");
        primary.setDown(true);
        backup.setDown(true);
        (, answer,, updatedAt,) = feed.getRoundData(PRIMARY_ROUND);
        assertEq(answer, PRICE, "last good answer");
        assertEq(updatedAt, START, "its own time");
    }

    function test_RevertWhen_ItIsAnEarlierOne() external givenARoundIsAskedFor {
        vm.expectRevert(ResilientFeed.NoAnswer.selector);
        feed.getRoundData(PRIMARY_ROUND);
    }

    function test_RevertWhen_ItIsTheOneOfTheOtherFeed() external givenARoundIsAskedFor {
        vm.expectRevert(ResilientFeed.NoAnswer.selector);
        feed.getRoundData(BACKUP_ROUND);
    }
}
