// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {SettableFeed} from "../mocks/SettableFeed.sol";
import {BreakerAssertions} from "./BreakerAssertions.sol";
import {COOLDOWN, START, THRESHOLD} from "./Defaults.sol";
import {CircuitBreaker, Config, Status} from "contracts/CircuitBreaker.sol";
import {Source} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FeedConfig, LastGood, ResilientFeed} from "contracts/ResilientFeed.sol";
import {AggregatorV3Interface} from "contracts/interfaces/AggregatorV3Interface.sol";
import {Vm} from "forge-std/Vm.sol";

uint8 constant PRIMARY_DECIMALS = 8;
uint8 constant BACKUP_DECIMALS = 18;
uint80 constant PRIMARY_ROUND = 1000;
uint80 constant BACKUP_ROUND = 2000;
uint32 constant PRIMARY_HEARTBEAT = 3600;
uint32 constant BACKUP_HEARTBEAT = 7200;
uint16 constant DEVIATION = 500;
uint32 constant FEED_GAS = 100_000;

/// @dev The price at START. A hundred, so that a percent of it is one; in the decimals of the primary and the host.
int256 constant PRICE = 100e8;
int256 constant PERCENT = 1e8;

/// @title  FeedTest
/// @notice ResilientFeed over two feeds that tests speak for, and the states that its breaker goes through.
abstract contract FeedTest is BreakerAssertions {
    int256 private constant _TO_BACKUP = 1e10;

    SettableFeed internal primary;
    SettableFeed internal backup;
    ResilientFeed internal feed;

    /// @dev What the host is expected to keep.
    LastGood internal last;

    /// @dev A minute after both feeds gave the price that is the first last good answer.
    function setUp() public virtual {
        vm.warp(START);
        primary = new SettableFeed(PRIMARY_DECIMALS, PRIMARY_ROUND);
        backup = new SettableFeed(BACKUP_DECIMALS, BACKUP_ROUND);
        _primaryAnswers(PRICE);
        _backupAnswers(PRICE);
        _use(new ResilientFeed(_feeds(), CircuitBreaker.safe(THRESHOLD, COOLDOWN)));
        skip(60);
    }

    function _use(ResilientFeed feed_) internal {
        feed = feed_;
        watched = address(feed_);
        id = bytes32(0); // the contract's first slot
        breaker = feed_.breaker();
        last = feed_.lastGood();
        _watch();
    }

    function _feeds() internal view returns (FeedConfig memory) {
        return FeedConfig({
            primary: primary,
            backup: backup,
            primaryHeartbeat: PRIMARY_HEARTBEAT,
            backupHeartbeat: BACKUP_HEARTBEAT,
            maxDeviationBps: DEVIATION,
            gas: FEED_GAS,
            description: "ETH / USD"
        });
    }

    /// @dev Every failure counts and one good probe closes it: for tests with several probes in one block.
    function _plain() internal pure returns (Config memory) {
        return Config({
            failureThreshold: THRESHOLD,
            cooldown: COOLDOWN,
            successThreshold: 1,
            maxCooldown: COOLDOWN,
            window: 0,
            flags: 0
        });
    }

    // ─── What the feeds say ───

    function _primaryAnswers(int256 price) internal {
        primary.answers(price, block.timestamp);
    }

    function _backupAnswers(int256 price) internal {
        backup.answers(price * _TO_BACKUP, block.timestamp);
    }

    // ─── States ───

    function _storeOpen(uint40 retryAt) internal {
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = retryAt;
        breaker.lastFailureAt = START - COOLDOWN;
        _store();
    }

    function _storeHalfOpen() internal {
        _storeOpen(uint40(block.timestamp));
    }

    // ─── Assertions ───

    function _probes(Outcome expected) internal {
        assertEq(uint8(feed.probe(id)), uint8(expected), "outcome");
    }

    function _serves(Source expected, int256 answer, uint256 updatedAt) internal view {
        assertEq(uint8(feed.source()), uint8(expected), "source");
        (uint80 roundId, int256 served,, uint256 servedAt, uint80 answeredInRound) = feed.latestRoundData();
        assertEq(served, answer, "answer");
        assertEq(servedAt, updatedAt, "updatedAt");
        assertEq(answeredInRound, roundId, "answeredInRound");
        if (expected == Source.Primary) {
            assertTrue(roundId >= PRIMARY_ROUND && roundId < BACKUP_ROUND, "not primary's");
        }
        if (expected == Source.Backup) assertGe(roundId, BACKUP_ROUND, "not the backup's");
        if (expected == Source.LastGood) assertEq(roundId, last.roundId, "not the last good one");
    }

    function _servesNothing() internal {
        assertEq(uint8(feed.source()), uint8(Source.None), "source");
        vm.expectRevert(ResilientFeed.NoAnswer.selector);
        feed.latestRoundData();
    }

    /// @dev Nothing written, nothing emitted.
    function _assertUnmoved() internal {
        _assertWrites(0, false);
        assertEq(vm.getRecordedLogs().length, 0, "number of logs");
        _assertAll();
    }

    /// @dev The breaker's word alone was written.
    function _assertCounted() internal {
        _assertWrites(1, false);
        assertEq(vm.getRecordedLogs().length, 0, "number of logs");
        _assertAll();
    }

    /// @dev The primary's answer is the last good one now; the breaker's word was not written.
    function _assertRefreshed(int256 answer, uint256 updatedAt) internal {
        _assertWrites(0, true);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1, "number of logs");
        _assertRefreshing(logs[0], answer, updatedAt);
    }

    /// @dev The same, and the word was written without an event.
    function _assertCountedAndRefreshed(int256 answer, uint256 updatedAt) internal {
        _assertWrites(1, true);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1, "number of logs");
        _assertRefreshing(logs[0], answer, updatedAt);
    }

    /// @dev The same, and the breaker closed.
    function _assertClosedAndRefreshed(int256 answer, uint256 updatedAt) internal {
        _assertWrites(1, true);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 2, "number of logs");
        assertEq(logs[0].topics[0], CircuitBreaker.Closed.selector, "event");
        _assertRefreshing(logs[1], answer, updatedAt);
    }

    function _assertOpenedBy(Outcome cause) internal {
        _assertWrites(1, false);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1, "number of logs");
        assertEq(logs[0].topics[0], CircuitBreaker.Opened.selector, "event");
        assertEq(logs[0].topics[1], id, "id in the event");
        assertEq(logs[0].data, abi.encode(breaker.retryAt, cause), "data of the event");
        _assertAll();
    }

    function _assertRefreshing(Vm.Log memory log, int256 answer, uint256 updatedAt) private {
        last.answer = answer;
        last.updatedAt = uint64(updatedAt);
        last.startedAt = uint64(updatedAt - 7);
        last.heartbeat = PRIMARY_HEARTBEAT;
        (last.roundId,,,,) = primary.latestRoundData();
        assertEq(log.emitter, watched, "emitter");
        assertEq(log.topics[0], ResilientFeed.LastGoodRefreshed.selector, "event");
        assertEq(log.data, abi.encode(answer, updatedAt, last.roundId), "data of the event");
        _assertAll();
    }

    function _assertAll() private {
        _assertStored();
        assertEq(abi.encode(feed.lastGood()), abi.encode(last), "last good answer");
        _watch();
    }

    /// @param ofWord Writes of the breaker's word.
    /// @param ofLast Whether the slots of the last good answer were written; how often is for the optimizer.
    function _assertWrites(uint256 ofWord, bool ofLast) private {
        (, bytes32[] memory writes) = vm.accesses(watched);
        uint256 found;
        for (uint256 i; i < writes.length; ++i) {
            if (writes[i] == id) ++found;
        }
        assertEq(found, ofWord, "number of SSTOREs of the word");
        assertEq(writes.length > found, ofLast, "last good answer written");
    }

    function _assertReads(uint256) internal pure override {}

    function _latest() internal pure returns (bytes4) {
        return AggregatorV3Interface.latestRoundData.selector;
    }
}
