// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Random, Stream} from "../utils/Random.sol";
import {FeedChoice, Reading, Source} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice What holds for every three readings, deviation and time.
/// @dev    The rules are restated here with products of 512 bits, sets and no shortcuts, so that where the library and
///         the test are both wrong, they should be wrong differently. The fuzzer's numbers are not used as they come:
///         two random prices are never near each other.
contract FeedChoiceFuzzTest is Test {
    using Random for Stream;

    struct Case {
        Reading primary;
        Reading backup;
        Reading last;
        uint256 bps;
        uint256 time;
    }

    // ─── Choosing ───

    function testFuzz_NeverServesAStaleOrFutureAnswer_Row22(uint256 seed) external pure {
        Case memory c = _draw(seed);
        Source chosen = _choose(c);
        if (chosen == Source.None) return;
        Reading memory served = _of(c, chosen);
        assertLe(served.updatedAt, c.time, "from the future");
        assertLe(c.time - served.updatedAt, served.heartbeat, "stale");
        assertGt(served.answer, 0, "no price");
        assertEq(uint8(served.outcome), uint8(Outcome.Ok), "did not come");
        assertGe(served.answeredInRound, served.roundId, "not complete");
    }

    function testFuzz_ServesGoodFeedsOrTheFreshLastAnswerOnly(uint256 seed) external pure {
        Case memory c = _draw(seed);
        Source chosen = _choose(c);
        if (chosen == Source.Primary) assertTrue(_isGood(c, c.primary, c.backup), "primary is not good");
        if (chosen == Source.Backup) assertTrue(_isGood(c, c.backup, c.primary), "backup is not good");
        if (chosen == Source.LastGood) assertTrue(_isSound(c, c.last), "last good answer is not fresh");
    }

    function testFuzz_TheChoiceIsTheOneOfTheRules(uint256 seed) external pure {
        Case memory c = _draw(seed);
        bool primaryGood = _isGood(c, c.primary, c.backup);
        bool backupGood = _isGood(c, c.backup, c.primary);
        bool fresh = _isSound(c, c.last);
        Source expected = fresh ? Source.LastGood : Source.None;
        if (primaryGood != backupGood) {
            expected = primaryGood ? Source.Primary : Source.Backup;
        } else if (primaryGood) {
            if (_areNear(c, c.primary, c.backup)) expected = Source.Primary;
            else if (!fresh) expected = Source.None;
            else expected = _isNearer(c.primary, c.backup, c.last) ? Source.Primary : Source.Backup;
        }
        assertEq(uint8(_choose(c)), uint8(expected), "source");
    }

    /// The last good answer is a price of the past: where it decides, what is served is near it.
    function testFuzz_ServesNothingFarFromAFreshLastAnswerThatOneFeedAloneSays(uint256 seed) external pure {
        Case memory c = _draw(seed);
        Source chosen = _choose(c);
        if (chosen == Source.None || !_isSound(c, c.last)) return;
        bool agreed = _isSound(c, c.primary) && _isSound(c, c.backup) && _areNear(c, c.primary, c.backup);
        if (!agreed) assertTrue(_isWithin(c, _of(c, chosen), c.last), "far from the last good answer");
    }

    // ─── Judging ───

    function testFuzz_APrimaryIsNeverOkWhileASoundBackupDisagrees(uint256 seed) external pure {
        Case memory c = _draw(seed);
        (Outcome outcome,) = _judge(c);
        if (!_isSound(c, c.backup) || outcome != Outcome.Ok) return;
        assertTrue(_areNear(c, c.primary, c.backup), "refreshed against the backup");
    }

    function testFuzz_TheVerdictIsTheOneOfTheRules(uint256 seed) external pure {
        Case memory c = _draw(seed);
        (Outcome outcome, uint16 weight) = _judge(c);
        bool backupSound = _isSound(c, c.backup);
        bool agree = backupSound && _areNear(c, c.primary, c.backup);
        bool neutral = _isSound(c, c.primary) && !backupSound && _isSound(c, c.last) && !_isWithin(c, c.primary, c.last);
        Outcome expected = Outcome.Ok;
        if (c.primary.outcome != Outcome.Ok) expected = c.primary.outcome;
        else if (!_isSound(c, c.primary) || (backupSound && !agree) || neutral) expected = Outcome.Rejected;
        assertEq(uint8(outcome), uint8(expected), "outcome");
        assertEq(weight, neutral ? 0 : 1, "weight");
    }

    /// What a probe believes, a read in the same second serves.
    function testFuzz_WhatIsOkIsServed(uint256 seed) external pure {
        Case memory c = _draw(seed);
        (Outcome outcome,) = _judge(c);
        if (outcome == Outcome.Ok) assertEq(uint8(_choose(c)), uint8(Source.Primary), "source");
    }

    /// However the primary lies and the time passes: while the backup says the same price, what the last good answer
    /// becomes stays near that price.
    function testFuzz_NoWalkLeavesTheBackup_Row22(uint256 seed) external pure {
        Stream memory stream = Stream(seed);
        Case memory c = _draw(stream.next());
        c.time = 1e9;
        int256 price = int256(1 + stream.below(1e30));
        c.backup = Reading(Outcome.Ok, 1, price, 1, c.time, 1, 1);
        c.last = Reading(Outcome.Ok, 1, price, 1, c.time, 1, 1);
        c.primary = Reading(Outcome.Ok, 1, price, 1, c.time, 1, 1);
        bool up = stream.oneIn(2);
        for (uint256 i; i < 16; ++i) {
            int256 step = int256(uint256(c.last.answer) * stream.below(c.bps + 2) / 10_000);
            c.primary.answer = c.last.answer + (up ? step : -step);
            (Outcome outcome,) = _judge(c);
            if (outcome == Outcome.Ok) c.last.answer = c.primary.answer;
            assertTrue(_areNear(c, c.last, c.backup), "walked away");
        }
    }

    // ─── Decoding ───

    function testFuzz_AnyFiveWordsAreRead(uint256[5] memory words, uint8 from, uint8 to, uint256 which) external pure {
        from = uint8(bound(from, 0, 77));
        to = uint8(bound(to, 0, 77));
        // Random words are hardly ever rounds.
        if (which % 2 == 0) (words[0], words[4]) = (words[0] >> 176, words[4] >> 176);
        if (which % 3 == 0) words[1] >>= which % 256;
        Reading memory reading = FeedChoice.read(abi.encode(words), from, to, 1);
        bool shaped = words[0] < 2 ** 80 && words[4] < 2 ** 80;
        if (!shaped) {
            assertEq(uint8(reading.outcome), uint8(Outcome.BadReturn), "shape");
        } else if (reading.outcome == Outcome.Ok) {
            assertGt(reading.answer, 0, "no price");
            assertEq(reading.roundId, words[0], "roundId");
            assertEq(reading.updatedAt, words[3], "updatedAt");
            assertEq(reading.answeredInRound, words[4], "answeredInRound");
        } else {
            assertEq(uint8(reading.outcome), uint8(Outcome.Rejected), "value");
        }
    }

    /// Scaled and scaled back, a price loses less than a unit of the coarser decimals.
    function testFuzz_ScalingRoundsDownAndNeverWraps(int256 answer, uint8 from, uint8 to, uint8 shift) external pure {
        from = uint8(bound(from, 0, 77));
        to = uint8(bound(to, 0, 77));
        answer >>= shift;
        (bool ok, int256 scaled) = FeedChoice.scale(answer, from, to);
        if (answer <= 0) {
            assertFalse(ok, "scaled what is no price");
            return;
        }
        uint256 factor = 10 ** (from > to ? from - to : to - from);
        (uint256 high, uint256 low) = _product(uint256(answer), factor);
        if (from > to) {
            assertEq(ok, uint256(answer) >= factor, "bound");
            if (ok) assertEq(uint256(scaled), uint256(answer) / factor, "quotient");
        } else {
            assertEq(ok, high == 0 && low <= uint256(type(int256).max), "bound");
            if (ok) assertEq(uint256(scaled), low, "product");
        }
    }

    // ─── What is tested ───

    function _choose(Case memory c) private pure returns (Source) {
        return FeedChoice.choose(c.primary, c.backup, c.last, c.bps, c.time);
    }

    function _judge(Case memory c) private pure returns (Outcome, uint16) {
        return FeedChoice.verdict(c.primary, c.backup, c.last, c.bps, c.time);
    }

    function _of(Case memory c, Source chosen) private pure returns (Reading memory) {
        if (chosen == Source.Primary) return c.primary;
        return chosen == Source.Backup ? c.backup : c.last;
    }

    // ─── The rules, once more ───

    function _isGood(Case memory c, Reading memory feed, Reading memory other) private pure returns (bool) {
        if (!_isSound(c, feed)) return false;
        if (_isSound(c, other) && _areNear(c, feed, other)) return true;
        return !_isSound(c, c.last) || _isWithin(c, feed, c.last);
    }

    function _isSound(Case memory c, Reading memory r) private pure returns (bool) {
        bool came = r.outcome == Outcome.Ok;
        bool complete = r.updatedAt > 0 && r.answeredInRound >= r.roundId;
        bool timely = r.updatedAt <= c.time && (r.heartbeat >= c.time || r.updatedAt >= c.time - r.heartbeat);
        return came && complete && timely && r.answer > 0;
    }

    function _areNear(Case memory c, Reading memory a, Reading memory b) private pure returns (bool) {
        return _isWithin(c, a, b) && _isWithin(c, b, a);
    }

    /// distance · 10,000 ≤ bps · answer, in 512 bits.
    function _isWithin(Case memory c, Reading memory r, Reading memory from) private pure returns (bool) {
        (uint256 high, uint256 low) = _product(_distance(r, from), 10_000);
        (uint256 limitHigh, uint256 limitLow) = _product(uint256(from.answer), c.bps);
        return high < limitHigh || (high == limitHigh && low <= limitLow);
    }

    function _isNearer(Reading memory a, Reading memory b, Reading memory to) private pure returns (bool) {
        return _distance(a, to) < _distance(b, to);
    }

    function _distance(Reading memory a, Reading memory b) private pure returns (uint256) {
        (uint256 x, uint256 y) = (uint256(a.answer), uint256(b.answer));
        return x > y ? x - y : y - x;
    }

    /// Schoolbook, in halves of 128 bits.
    function _product(uint256 a, uint256 b) private pure returns (uint256 high, uint256 low) {
        uint256 half = 2 ** 128;
        unchecked {
            uint256 lows = (a % half) * (b % half);
            uint256 middle = (a / half) * (b % half) + lows / half;
            uint256 other = (a % half) * (b / half) + middle % half;
            low = other * half + lows % half;
            high = (a / half) * (b / half) + middle / half + other / half;
        }
    }

    // ─── Drawing ───

    function _draw(uint256 seed) private pure returns (Case memory c) {
        Stream memory stream = Stream(seed);
        c.bps = stream.oneIn(4) ? stream.around(10_000, 10_000) : 1 + stream.below(10_000);
        if (stream.oneIn(2)) c.bps = 500;
        c.time = 1 + stream.below(stream.oneIn(4) ? type(uint64).max : 2e9);
        if (stream.oneIn(16)) c.time = type(uint256).max - 8 - stream.below(3);
        int256 price = int256(1 + (stream.next() >> (1 + stream.below(255))) / 2);
        c.primary = _reading(stream, c, price);
        c.backup = _reading(stream, c, stream.oneIn(2) ? price : _price(c.primary));
        c.last = _reading(stream, c, stream.oneIn(2) ? price : _price(c.backup));
    }

    function _price(Reading memory reading) private pure returns (int256) {
        return reading.answer > 0 ? reading.answer : int256(1);
    }

    function _reading(Stream memory stream, Case memory c, int256 price) private pure returns (Reading memory r) {
        r.outcome = stream.oneIn(8) ? Outcome(stream.below(10)) : Outcome.Ok;
        r.roundId = uint80(1 + stream.below(100));
        r.answeredInRound = stream.oneIn(8) ? uint80(stream.around(r.roundId, 200)) : r.roundId;
        r.startedAt = stream.next();
        r.heartbeat = 1 + stream.below(stream.oneIn(4) ? type(uint32).max : 4000);
        uint256 oldest = c.time > r.heartbeat ? c.time - r.heartbeat : 0;
        uint256 kind = stream.below(8);
        if (kind == 0) r.updatedAt = stream.around(oldest, type(uint256).max - 3);
        else if (kind == 1) r.updatedAt = stream.around(c.time - 1, type(uint256).max - 3) + 1;
        else if (kind == 2) r.updatedAt = stream.next();
        else if (kind == 3) r.updatedAt = stream.below(3);
        else r.updatedAt = c.time - stream.below(c.time - oldest + 1);
        r.answer = _near(stream, c, price);
    }

    /// Mostly at, just within or just beyond the deviation.
    function _near(Stream memory stream, Case memory c, int256 price) private pure returns (int256) {
        uint256 kind = stream.below(16);
        if (kind == 0) return int256(stream.next());
        if (kind == 1) return type(int256).min + int256(stream.below(2));
        if (kind == 2) return type(int256).max - int256(stream.below(2));
        if (kind == 3) return int256(stream.below(3)) - 1;
        if (kind == 4) return price;
        uint256 base = uint256(price);
        uint256 allowed = base / 10_000 * c.bps + base % 10_000 * c.bps / 10_000;
        uint256 step = kind < 8 ? stream.below(allowed + 1) : stream.around(allowed, type(uint256).max - 3);
        uint256 max = uint256(type(int256).max);
        if (stream.oneIn(2)) return int256(base + step < max ? base + step : max);
        return int256(base > step ? base - step : 1);
    }
}
