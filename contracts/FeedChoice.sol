// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Outcome} from "./Outcome.sol";

/// @notice What one level of a price feed has to say: a feed's newest round, or the last good answer.
/// @param  outcome         `Ok`, or why there is nothing to say; then the other fields mean nothing.
/// @param  roundId         The round, within the feed that gave it.
/// @param  answer          The price, in the decimals of the host.
/// @param  startedAt       Unix seconds, as the feed gave it; nothing depends on it.
/// @param  updatedAt       Unix seconds at which the answer was given.
/// @param  answeredInRound The round that the answer is from.
/// @param  heartbeat       Seconds for which the answer is fresh.
struct Reading {
    Outcome outcome;
    uint80 roundId;
    int256 answer;
    uint256 startedAt;
    uint256 updatedAt;
    uint80 answeredInRound;
    uint256 heartbeat;
}

/// @notice Whose answer is served.
enum Source {
    None,
    Primary,
    Backup,
    LastGood
}

/// @title  FeedChoice
/// @notice Which of three prices to believe: the primary feed's, the backup feed's, or the last good answer.
/// @dev    *Pure.* Every rule of `ResilientFeed` is here, as a function of what was read and of the time. Nothing here
///         reverts, whatever a feed says: a revert would take the host down together with the feed that it is guarded
///         against.
///
///         *Sound* is what a reading is by itself: it came, it is positive, complete and fresh. *Good* is a sound
///         reading that the fresh last good answer does not contradict, or that the other feed confirms.
///
///         *Agreement* is symmetric, within the deviation of the smaller of two answers: it does not matter which of
///         the two is called the primary. Near the last good answer means within the deviation of that answer.
library FeedChoice {
    // ─── Constants ───

    /// @notice More decimals than these have no power of ten in 256 bits.
    uint8 internal constant MAX_DECIMALS = 77;

    /// @notice The whole, in basis points, and the largest deviation that can be asked for.
    uint16 internal constant BPS = 10_000;

    /// @notice The weight of a failure that is held against the primary.
    uint16 internal constant COUNTS = 1;
    /// @notice The weight of one that nobody can be blamed for.
    uint16 internal constant NEUTRAL = 0;

    // ─── Choosing ───

    /// @notice Whose answer to serve.
    /// @param  primary         What the primary says; `NotTried` while the breaker is open.
    /// @param  backup          What the backup says.
    /// @param  last            The last good answer, with the heartbeat of the feed that gave it.
    /// @param  maxDeviationBps How far apart two answers may be, in basis points; at most `BPS`.
    /// @param  time            Unix seconds.
    function choose(
        Reading memory primary,
        Reading memory backup,
        Reading memory last,
        uint256 maxDeviationBps,
        uint256 time
    ) internal pure returns (Source) {
        bool primaryGood = isSound(primary, time);
        bool backupGood = isSound(backup, time);
        if (primaryGood && backupGood && _agree(primary, backup, maxDeviationBps)) return Source.Primary;

        // Nobody confirms anybody: the last good answer may contradict, as long as it is fresh.
        bool lastFresh = isSound(last, time);
        if (lastFresh) {
            primaryGood = primaryGood && _near(primary, last, maxDeviationBps);
            backupGood = backupGood && _near(backup, last, maxDeviationBps);
        }
        if (primaryGood && backupGood) {
            if (!lastFresh) return Source.None;
            // A tie is the backup's: a primary that pulled the last good answer half way would have made it one.
            return _distance(primary, last) < _distance(backup, last) ? Source.Primary : Source.Backup;
        }
        if (primaryGood) return Source.Primary;
        if (backupGood) return Source.Backup;
        return lastFresh ? Source.LastGood : Source.None;
    }

    /// @notice What a probe makes of the primary. `Ok` means that its answer may become the last good one.
    /// @dev    A sound backup that disagrees is enough for `Rejected`, even one that the last good answer contradicts.
    ///         Else a primary that lies a little, and so pulls the last good answer to the edge of what the backup
    ///         still confirms, could use that answer against the backup at its next honest move, and walk on.
    /// @return outcome What came of it.
    /// @return weight  `COUNTS`, or `NEUTRAL` where only the last good answer is against the primary: a real move of
    ///                 the price looks the same.
    function verdict(
        Reading memory primary,
        Reading memory backup,
        Reading memory last,
        uint256 maxDeviationBps,
        uint256 time
    ) internal pure returns (Outcome outcome, uint16 weight) {
        if (!isSound(primary, time)) {
            return (primary.outcome == Outcome.Ok ? Outcome.Rejected : primary.outcome, COUNTS);
        }
        if (isSound(backup, time)) {
            return (_agree(primary, backup, maxDeviationBps) ? Outcome.Ok : Outcome.Rejected, COUNTS);
        }
        if (isSound(last, time) && !_near(primary, last, maxDeviationBps)) return (Outcome.Rejected, NEUTRAL);
        return (Outcome.Ok, COUNTS);
    }

    /// @notice Whether a reading can be used at all: it came, is positive, complete, not from the future and fresh.
    function isSound(Reading memory reading, uint256 time) internal pure returns (bool) {
        if (reading.outcome != Outcome.Ok || reading.answer <= 0) return false;
        if (reading.updatedAt == 0 || reading.answeredInRound < reading.roundId) return false;
        if (reading.updatedAt > time) return false;
        unchecked {
            // time ≥ updatedAt, see above.
            return time - reading.updatedAt <= reading.heartbeat;
        }
    }

    // ─── Reading ───

    /// @notice A round out of what a feed returned, in the host's decimals.
    /// @dev    What the ABI's decoder would revert on is `BadReturn`; a price that is none, or that the host's decimals
    ///         cannot express, is `Rejected`.
    /// @param  data      At least five words.
    /// @param  from      The feed's decimals; at most `MAX_DECIMALS`.
    /// @param  to        The host's decimals; at most `MAX_DECIMALS`.
    /// @param  heartbeat Seconds for which the feed's answers are fresh.
    function read(bytes memory data, uint8 from, uint8 to, uint256 heartbeat)
        internal
        pure
        returns (Reading memory reading)
    {
        uint256 roundId = _word(data, 0);
        uint256 answeredInRound = _word(data, 4);
        if (roundId > type(uint80).max || answeredInRound > type(uint80).max) {
            reading.outcome = Outcome.BadReturn;
            return reading;
        }
        // forge-lint: disable-next-line(unsafe-typecast) -- the same 256 bits, read as two's complement
        (bool ok, int256 answer) = scale(int256(_word(data, 1)), from, to);
        if (!ok) {
            reading.outcome = Outcome.Rejected;
            return reading;
        }
        // forge-lint: disable-next-line(unsafe-typecast) -- at most 80 bits, see above
        reading.roundId = uint80(roundId);
        reading.answer = answer;
        reading.startedAt = _word(data, 2);
        reading.updatedAt = _word(data, 3);
        // forge-lint: disable-next-line(unsafe-typecast) -- at most 80 bits, see above
        reading.answeredInRound = uint80(answeredInRound);
        reading.heartbeat = heartbeat;
    }

    /// @notice A price in other decimals, rounded down; `ok` false for zero, less, and what does not fit.
    /// @dev    Bounds apply before scaling: nothing is multiplied that could overflow, and no price becomes zero.
    function scale(int256 answer, uint8 from, uint8 to) internal pure returns (bool ok, int256 scaled) {
        if (answer <= 0) return (false, 0);
        unchecked {
            // At most 10^77, which 256 bits hold; a quotient is no larger than the answer, and the product was checked.
            if (from > to) {
                // forge-lint: disable-next-line(unsafe-typecast) -- positive
                uint256 quotient = uint256(answer) / 10 ** (from - to);
                // forge-lint: disable-next-line(unsafe-typecast) -- no larger than the answer
                return (quotient != 0, int256(quotient));
            }
            uint256 factor = 10 ** (to - from);
            // forge-lint: disable-next-line(unsafe-typecast) -- positive
            if (uint256(answer) > uint256(type(int256).max) / factor) return (false, 0);
            // forge-lint: disable-next-line(unsafe-typecast) -- fits, see above
            return (true, int256(uint256(answer) * factor));
        }
    }

    function _word(bytes memory data, uint256 index) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(add(data, 32), mul(index, 32)))
        }
    }

    // ─── Comparing; all answers are positive ───

    function _agree(Reading memory a, Reading memory b, uint256 bps) private pure returns (bool) {
        return a.answer < b.answer ? _near(b, a, bps) : _near(a, b, bps);
    }

    /// Whether a reading is within so many basis points of the other one.
    function _near(Reading memory reading, Reading memory from, uint256 bps) private pure returns (bool) {
        // forge-lint: disable-next-line(unsafe-typecast) -- positive
        uint256 base = uint256(from.answer);
        unchecked {
            // ⌊base · bps / 10,000⌋ without the product, which may not fit: base = 10,000 q + r, and bps ≤
            // 10,000.
            // slither-disable-next-line divide-before-multiply -- exact: the remainder is multiplied by itself
            uint256 allowed = base / BPS * bps + base % BPS * bps / BPS;
            return _distance(reading, from) <= allowed;
        }
    }

    function _distance(Reading memory a, Reading memory b) private pure returns (uint256) {
        unchecked {
            // The difference of two positive numbers.
            // forge-lint: disable-next-line(unsafe-typecast) -- not negative
            return a.answer < b.answer ? uint256(b.answer - a.answer) : uint256(a.answer - b.answer);
        }
    }
}
