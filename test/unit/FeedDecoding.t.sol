// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {FeedChoice, Reading} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice From what a feed returned to a reading in the host's decimals.
contract FeedDecodingTest is Test {
    int256 private constant MAX = type(int256).max;
    uint256 private constant ROUND_MAX = type(uint80).max;
    uint32 private constant HEARTBEAT = 3600;

    uint256 private roundId;
    int256 private answer;
    uint256 private answeredInRound;
    uint8 private from;
    uint8 private to;

    // ─── given a round of five words ───

    modifier givenARoundOfFiveWords() {
        roundId = 5;
        answer = 123e18;
        answeredInRound = 6;
        from = 18;
        to = 8;
        _;
    }

    function test_WhenItIsAPriceInOtherDecimals() external givenARoundOfFiveWords {
        Reading memory reading = _read();
        assertEq(uint8(reading.outcome), uint8(Outcome.Ok), "outcome");
        assertEq(reading.roundId, 5, "roundId");
        assertEq(reading.answer, 123e8, "answer");
        assertEq(reading.startedAt, 1, "startedAt");
        assertEq(reading.updatedAt, 2, "updatedAt");
        assertEq(reading.answeredInRound, 6, "answeredInRound");
        assertEq(reading.heartbeat, HEARTBEAT, "heartbeat");
    }

    function test_WhenTheRoundNeedsMoreThan80Bits() external givenARoundOfFiveWords {
        roundId = ROUND_MAX + 1;
        _comesTo(Outcome.BadReturn);
        roundId = type(uint256).max;
        _comesTo(Outcome.BadReturn);
    }

    function test_WhenTheAnsweringRoundNeedsMoreThan80Bits() external givenARoundOfFiveWords {
        answeredInRound = ROUND_MAX + 1;
        _comesTo(Outcome.BadReturn);
    }

    function test_WhenBothRoundsTakeAll80Bits() external givenARoundOfFiveWords {
        roundId = ROUND_MAX;
        answeredInRound = ROUND_MAX;
        assertEq(_read().roundId, ROUND_MAX, "roundId");
        assertEq(_read().answeredInRound, ROUND_MAX, "answeredInRound");
        _comesTo(Outcome.Ok);
    }

    function test_WhenThePriceIsZero() external givenARoundOfFiveWords {
        answer = 0;
        _comesTo(Outcome.Rejected);
    }

    function test_WhenThePriceIsTheLeastNumberThereIs() external givenARoundOfFiveWords {
        answer = type(int256).min;
        _comesTo(Outcome.Rejected);
        (from, to) = (to, from);
        _comesTo(Outcome.Rejected);
    }

    function test_WhenThePriceDoesNotFitTheDecimalsOfTheHost() external givenARoundOfFiveWords {
        (from, to) = (8, 18);
        answer = MAX;
        _comesTo(Outcome.Rejected);
    }

    function test_WhenThePriceIsNothingInTheDecimalsOfTheHost() external givenARoundOfFiveWords {
        answer = 1e10 - 1;
        _comesTo(Outcome.Rejected);
    }

    // ─── given a price to be scaled ───

    modifier givenAPriceToBeScaled() {
        _;
    }

    function test_WhenTheDecimalsAreTheSame() external pure givenAPriceToBeScaled {
        _scales(MAX, 8, 8, MAX);
        _scales(1, 0, 0, 1);
        _scales(MAX, 77, 77, MAX);
    }

    function test_WhenTheHostHasMoreDecimals() external pure givenAPriceToBeScaled {
        _scales(7, 6, 8, 700);
    }

    function test_WhenTheHostHasFewerDecimals() external pure givenAPriceToBeScaled {
        _scales(799, 8, 6, 7);
    }

    function test_WhenItJustFitsAfterMultiplying() external pure givenAPriceToBeScaled {
        _scales(MAX / 100, 6, 8, MAX / 100 * 100);
    }

    function test_WhenItIsOneTooLargeForMultiplying() external pure givenAPriceToBeScaled {
        _scalesNot(MAX / 100 + 1, 6, 8);
    }

    function test_WhenItIsJustOneAfterDividing() external pure givenAPriceToBeScaled {
        _scales(100, 8, 6, 1);
    }

    function test_WhenItIsOneTooSmallForDividing() external pure givenAPriceToBeScaled {
        _scalesNot(99, 8, 6);
    }

    /// 10^77 does not fit a signed number, and 10^76 does.
    function test_WhenThereAre77DecimalsBetweenThem() external pure givenAPriceToBeScaled {
        _scalesNot(1, 0, 77);
        _scalesNot(MAX, 77, 0);
        _scales(1, 0, 76, 1e76);
        _scales(MAX, 76, 0, 5);
    }

    function _read() private view returns (Reading memory) {
        bytes memory data = abi.encode(roundId, answer, 1, 2, answeredInRound);
        return FeedChoice.read(data, from, to, HEARTBEAT);
    }

    function _comesTo(Outcome expected) private view {
        assertEq(uint8(_read().outcome), uint8(expected), "outcome");
    }

    function _scales(int256 price, uint8 from_, uint8 to_, int256 expected) private pure {
        (bool ok, int256 scaled) = FeedChoice.scale(price, from_, to_);
        assertTrue(ok, "not scaled");
        assertEq(scaled, expected, "scaled");
    }

    function _scalesNot(int256 price, uint8 from_, uint8 to_) private pure {
        (bool ok, int256 scaled) = FeedChoice.scale(price, from_, to_);
        assertFalse(ok, "scaled");
        assertEq(scaled, 0, "something left");
    }
}
