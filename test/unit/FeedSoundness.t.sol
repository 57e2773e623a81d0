// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {START} from "../utils/Defaults.sol";
import {HEARTBEAT, Readings} from "../utils/Readings.sol";
import {FeedChoice, Reading} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice What makes a reading usable by itself, before anybody compares it with another one.
contract FeedSoundnessTest is Test {
    uint256 private constant END = type(uint256).max;

    Reading private reading;
    uint256 private time = START;

    // ─── given a reading that came ───

    modifier givenAReadingThatCame() {
        reading = Readings.sound(100);
        _;
    }

    function test_WhenItIsAPriceThatIsCompleteAndFresh() external givenAReadingThatCame {
        _isSound();
    }

    function test_WhenTheAnswerIsOne() external givenAReadingThatCame {
        reading.answer = 1;
        _isSound();
    }

    function test_WhenTheAnswerIsZero() external givenAReadingThatCame {
        reading.answer = 0;
        _isNotSound();
    }

    function test_WhenTheAnswerIsTheLeastNumberThereIs() external givenAReadingThatCame {
        reading.answer = type(int256).min;
        _isNotSound();
    }

    function test_WhenTheAnswerIsTheGreatestNumberThereIs() external givenAReadingThatCame {
        reading.answer = type(int256).max;
        _isSound();
    }

    function test_WhenTheRoundWasAnsweredInAnEarlierOne() external givenAReadingThatCame {
        reading.answeredInRound = reading.roundId - 1;
        _isNotSound();
    }

    function test_WhenTheRoundWasAnsweredInALaterOne() external givenAReadingThatCame {
        reading.answeredInRound = reading.roundId + 1;
        _isSound();
    }

    /// Oracles sign that time with their own clocks: nothing depends on it.
    function test_WhenTheRoundStartedAfterAllTime() external givenAReadingThatCame {
        reading.startedAt = END;
        _isSound();
    }

    // ─── given a reading at the edge of its heartbeat ───

    modifier givenAReadingAtTheEdgeOfItsHeartbeat() {
        reading = Readings.sound(100);
        reading.updatedAt = START - HEARTBEAT;
        _;
    }

    function test_WhenItHasASecondLeft() external givenAReadingAtTheEdgeOfItsHeartbeat {
        time = START - 1;
        _isSound();
    }

    function test_WhenItsTimeIsJustUp() external givenAReadingAtTheEdgeOfItsHeartbeat {
        _isSound();
    }

    function test_WhenItIsASecondOlder() external givenAReadingAtTheEdgeOfItsHeartbeat {
        time = START + 1;
        _isNotSound();
    }

    // ─── given a reading at the edge of the future ───

    modifier givenAReadingAtTheEdgeOfTheFuture() {
        reading = Readings.sound(100);
        _;
    }

    function test_WhenItIsASecondOld() external givenAReadingAtTheEdgeOfTheFuture {
        reading.updatedAt = START - 1;
        _isSound();
    }

    function test_WhenItWasGivenNow() external givenAReadingAtTheEdgeOfTheFuture {
        reading.updatedAt = START;
        _isSound();
    }

    function test_WhenItWasGivenInASecond() external givenAReadingAtTheEdgeOfTheFuture {
        reading.updatedAt = START + 1;
        _isNotSound();
    }

    // ─── given a reading at an end of time ───

    modifier givenAReadingAtAnEndOfTime() {
        reading = Readings.sound(100);
        _;
    }

    /// Zero is what a round has that is not complete.
    function test_WhenItWasGivenAtSecondZeroAndTheHeartbeatReachesBackToIt() external givenAReadingAtAnEndOfTime {
        reading.updatedAt = 0;
        time = 2;
        _isNotSound();
    }

    function test_WhenItWasGivenAtSecondOneAndTheHeartbeatReachesBackToIt() external givenAReadingAtAnEndOfTime {
        reading.updatedAt = 1;
        time = 2;
        _isSound();
    }

    function test_WhenItWasGivenAtTheLastSecondThatThereIs() external givenAReadingAtAnEndOfTime {
        reading.updatedAt = END;
        _isNotSound();
    }

    function test_WhenTheClockShowsTheLastSecondThatThereIs() external givenAReadingAtAnEndOfTime {
        reading.updatedAt = END - 1;
        time = END;
        _isSound();
    }

    // ─── given a reading that did not come ───

    modifier givenAReadingThatDidNotCome() {
        reading = Readings.sound(100);
        _;
    }

    function test_WhenAllElseInItIsWell() external givenAReadingThatDidNotCome {
        for (uint8 outcome = 1; outcome <= uint8(type(Outcome).max); ++outcome) {
            reading.outcome = Outcome(outcome);
            _isNotSound();
        }
    }

    function _isSound() private view {
        assertTrue(FeedChoice.isSound(reading, time), "not sound");
    }

    function _isNotSound() private view {
        assertFalse(FeedChoice.isSound(reading, time), "sound");
    }
}
