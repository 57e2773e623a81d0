// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {NEVER, START} from "./Defaults.sol";
import {Word} from "./Word.sol";
import {Breaker, Config} from "contracts/CircuitBreaker.sol";

/// @notice A stream of random numbers, all determined by its first value.
struct Stream {
    uint256 last;
}

/// @title  Random
/// @notice Breakers, configurations, times and arguments as they are interesting.
/// @dev    A uniformly random word is half-open with a time at its deadline once in 2^40 tries, and never closes. So
///         most draws here are at, just before or just after a value that something is compared with.
library Random {
    // ─── Numbers ───

    function next(Stream memory stream) internal pure returns (uint256) {
        stream.last = uint256(keccak256(abi.encode(stream.last)));
        return stream.last;
    }

    function below(Stream memory stream, uint256 limit) internal pure returns (uint256) {
        return next(stream) % limit;
    }

    function oneIn(Stream memory stream, uint256 n) internal pure returns (bool) {
        return below(stream, n) == 0;
    }

    /// @dev `value` or a neighbour of it, within 0 and `max`.
    function around(Stream memory stream, uint256 value, uint256 max) internal pure returns (uint256) {
        uint256 drawn = value + below(stream, 3);
        drawn = drawn == 0 ? 0 : drawn - 1;
        return drawn < max ? drawn : max;
    }

    // ─── What a breaker is made of ───

    /// @notice A valid configuration; mostly small numbers, so that counts reach thresholds.
    function config(Stream memory stream) internal pure returns (Config memory c) {
        c.failureThreshold = uint16(1 + below(stream, oneIn(stream, 8) ? 65_535 : 4));
        c.successThreshold = uint8(1 + below(stream, oneIn(stream, 8) ? 255 : 3));
        c.cooldown = uint32(1 + below(stream, oneIn(stream, 8) ? type(uint32).max : 300));
        c.maxCooldown = uint32(c.cooldown + below(stream, uint256(type(uint32).max) - c.cooldown + 1));
        if (oneIn(stream, 3)) c.maxCooldown = uint32(around(stream, uint256(c.cooldown) * 4, type(uint32).max));
        if (oneIn(stream, 3)) c.maxCooldown = c.cooldown;
        if (c.maxCooldown < c.cooldown) c.maxCooldown = c.cooldown;
        if (oneIn(stream, 2)) c.window = uint32(1 + below(stream, oneIn(stream, 4) ? type(uint32).max : 300));
        c.flags = uint8(below(stream, 8));
    }

    /// @notice Any word of a configured breaker, whether or not a sequence of calls leads to it.
    function breaker(Stream memory stream) internal pure returns (Breaker memory b) {
        uint256 seed = next(stream);
        b = Word.unpack(seed - seed % 256 + below(stream, 2));
        // Counts one below, at and one above their thresholds; a threshold of zero is another test.
        if (oneIn(stream, 2)) b.failureThreshold = uint16(below(stream, 5));
        if (b.failureThreshold == 0) b.failureThreshold = 1;
        if (oneIn(stream, 2)) b.failureCount = uint16(around(stream, b.failureThreshold, type(uint16).max));
        if (oneIn(stream, 4)) b.failureCount = 0;
        if (oneIn(stream, 2)) b.successCount = uint8(around(stream, b.successThreshold, type(uint8).max));
        if (oneIn(stream, 4)) b.successCount = 0;
        if (oneIn(stream, 4)) b.retryAt = uint40(around(stream, NEVER, NEVER));
        if (oneIn(stream, 2)) b.reopenCount = uint8(below(stream, 34));
        if (oneIn(stream, 8)) b.reopenCount = uint8(254 + below(stream, 2));
        if (oneIn(stream, 2)) b.cooldown = uint32(1 + below(stream, 300));
        if (oneIn(stream, 2)) b.window = uint32(below(stream, 300));
        if (oneIn(stream, 4)) b.window = 0;
    }

    /// @notice A time that something about this breaker is compared with, or any time.
    function time(Stream memory stream, Breaker memory b) internal pure returns (uint40) {
        uint256 kind = below(stream, 8);
        if (kind < 3) return uint40(around(stream, b.retryAt, NEVER));
        if (kind == 3) return uint40(around(stream, b.lastFailureAt, NEVER));
        if (kind == 4) return uint40(around(stream, uint256(b.lastFailureAt) + b.window, NEVER));
        if (kind == 5) return uint40(around(stream, NEVER - b.cooldown, NEVER));
        // The same low byte as the last good probe, at a time when the breaker may be half-open.
        if (kind == 6) return uint40(cap(uint256(b.retryAt / 256 + 1) * 256 + b.probedAt));
        return uint40(below(stream, uint256(NEVER) + 1));
    }

    /// @notice The next time in a story that began at START; sometimes an earlier one.
    function timeAfter(Stream memory stream, uint40 now_, Breaker memory b) internal pure returns (uint40) {
        uint256 kind = below(stream, 12);
        if (kind < 3) return now_;
        if (kind < 6) return uint40(cap(now_ + below(stream, 3)));
        if (kind == 6) return uint40(cap(now_ + 255 + below(stream, 3)));
        if (kind == 7 && b.lastFailureAt > 0) {
            return uint40(around(stream, uint256(b.lastFailureAt) + b.window, NEVER));
        }
        if (kind == 8 && now_ > START) return uint40(now_ - below(stream, 1000));
        // A deadline that has come lets the story go on.
        if (b.retryAt < now_ || b.retryAt == NEVER) return now_;
        return uint40(around(stream, b.retryAt, NEVER));
    }

    /// @notice The weight of a failure; mostly one.
    function weight(Stream memory stream) internal pure returns (uint16) {
        uint256 kind = below(stream, 16);
        if (kind == 0) return 0;
        if (kind == 1) return 65_534;
        if (kind == 2) return 65_535;
        if (kind == 3) return uint16(next(stream));
        return uint16(1 + below(stream, 2));
    }

    /// @notice The deadline of a trip.
    function until(Stream memory stream, uint40 now_, Breaker memory b) internal pure returns (uint40) {
        uint256 kind = below(stream, 6);
        if (kind < 2) return 0;
        if (kind == 2) return uint40(around(stream, now_, NEVER));
        if (kind == 3) return uint40(around(stream, b.retryAt, NEVER));
        // Seldom, since a story ends at the end of time.
        if (kind == 4 && oneIn(stream, 4)) return uint40(below(stream, uint256(NEVER) + 1));
        return uint40(cap(now_ + below(stream, 1000)));
    }

    function cap(uint256 value) internal pure returns (uint256) {
        return value < NEVER ? value : NEVER;
    }
}
