// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, Config, Event, Status, Transition} from "contracts/CircuitBreaker.sol";

/// @notice A breaker with all fields unpacked, and nothing that could overflow.
struct Naive {
    bool open;
    uint256 failureCount;
    uint256 failureThreshold;
    uint256 cooldown;
    uint256 retryAt;
    uint256 successCount;
    uint256 successThreshold;
    uint256 reopenCount;
    uint256 maxCooldown;
    uint256 window;
    uint256 lastFailureAt;
    uint256 flags;
    uint256 probedAt;
}

/// @title  NaiveBreaker
/// @notice The transition table, row by row, to hold the library against.
/// @dev    It shares nothing with the library, on purpose: where both are wrong, they should be wrong differently. So
///         there are no words, masks or shifts here, every rule is an `if` and every limit a number.
library NaiveBreaker {
    uint256 private constant FOREVER = 1_099_511_627_775;

    /// @notice Does to `b` what the table says. Changes it in place.
    /// @param  arg The weight of a failure, or the `until` of a trip.
    function step(Naive memory b, Event e, uint256 arg, uint256 time) internal pure returns (Transition) {
        if (e == Event.Trip) return trip(b, arg, time);
        if (e == Event.Reset) return reset(b);
        if (!b.open) {
            if (e == Event.Failure) return failWhileClosed(b, arg, time);
            b.failureCount = 0;
            return Transition.None;
        }
        if (!isHalfOpen(b, time)) return Transition.None;
        if (e == Event.Success) return goodProbe(b, time);
        return badProbe(b, arg, time);
    }

    function isHalfOpen(Naive memory b, uint256 time) internal pure returns (bool) {
        if (!b.open) return false;
        if (b.retryAt == FOREVER) return false;
        return time >= b.retryAt;
    }

    function failWhileClosed(Naive memory b, uint256 weight, uint256 time) internal pure returns (Transition) {
        if (weight == 0) return Transition.None;
        if (time < b.lastFailureAt) time = b.lastFailureAt;
        uint256 age = time - b.lastFailureAt;

        bool countedNow = b.failureCount > 0 && age == 0;
        if (oncePerBlock(b) && countedNow && weight < 65_535) return Transition.None;

        if (b.window > 0 && age > b.window) b.failureCount = 0;
        b.failureCount = smaller(b.failureCount + weight, 65_535);
        b.lastFailureAt = time;

        if (b.failureCount < b.failureThreshold && weight < 65_535) return Transition.None;
        b.open = true;
        b.retryAt = latch(b) ? FOREVER : smaller(time + b.cooldown, FOREVER);
        b.reopenCount = 0;
        b.successCount = 0;
        return Transition.Opened;
    }

    function goodProbe(Naive memory b, uint256 time) internal pure returns (Transition) {
        if (oncePerBlock(b) && b.successCount > 0 && b.probedAt == time % 256) return Transition.None;
        if (b.successCount + 1 < b.successThreshold) {
            b.successCount += 1;
            b.probedAt = time % 256;
            return Transition.None;
        }
        return reset(b);
    }

    function badProbe(Naive memory b, uint256 weight, uint256 time) internal pure returns (Transition) {
        if (weight == 0) return Transition.None;
        if (b.reopenCount < 255) b.reopenCount += 1;
        uint256 wait = smaller(b.cooldown, b.maxCooldown);
        for (uint256 i; i < b.reopenCount; ++i) {
            wait = smaller(wait * 2, b.maxCooldown);
        }
        b.retryAt = latch(b) ? FOREVER : smaller(time + wait, FOREVER);
        b.successCount = 0;
        return Transition.Opened;
    }

    function trip(Naive memory b, uint256 until, uint256 time) internal pure returns (Transition) {
        bool news = !b.open || b.successCount > 0;
        if (!b.open) {
            if (time < b.lastFailureAt) time = b.lastFailureAt;
            b.open = true;
            b.reopenCount = 0;
            b.lastFailureAt = time;
        }
        b.successCount = 0;
        if (until == 0) until = latch(b) ? FOREVER : smaller(time + b.cooldown, FOREVER);
        if (until < time + 1) until = smaller(time + 1, FOREVER);
        if (until > b.retryAt) {
            b.retryAt = until;
            news = true;
        }
        return news ? Transition.Opened : Transition.None;
    }

    function reset(Naive memory b) internal pure returns (Transition) {
        bool wasOpen = b.open;
        b.open = false;
        b.failureCount = 0;
        b.retryAt = 0;
        b.successCount = 0;
        b.reopenCount = 0;
        return wasOpen ? Transition.Closed : Transition.None;
    }

    function configure(Naive memory b, Config memory config) internal pure {
        b.failureThreshold = config.failureThreshold;
        b.cooldown = config.cooldown;
        b.successThreshold = config.successThreshold;
        b.maxCooldown = config.maxCooldown;
        b.window = config.window;
        b.flags = config.flags;
        if (b.failureCount >= b.failureThreshold) b.failureCount = b.failureThreshold - 1;
        if (b.successCount >= b.successThreshold) b.successCount = b.successThreshold - 1;
    }

    function latch(Naive memory b) internal pure returns (bool) {
        return b.flags % 2 == 1;
    }

    function oncePerBlock(Naive memory b) internal pure returns (bool) {
        return b.flags / 2 % 2 == 1;
    }

    function smaller(uint256 a, uint256 b) internal pure returns (uint256) {
        if (a < b) return a;
        return b;
    }

    function fromBreaker(Breaker memory b) internal pure returns (Naive memory) {
        return Naive({
            open: b.status == Status.OPEN,
            failureCount: b.failureCount,
            failureThreshold: b.failureThreshold,
            cooldown: b.cooldown,
            retryAt: b.retryAt,
            successCount: b.successCount,
            successThreshold: b.successThreshold,
            reopenCount: b.reopenCount,
            maxCooldown: b.maxCooldown,
            window: b.window,
            lastFailureAt: b.lastFailureAt,
            flags: b.flags,
            probedAt: b.probedAt
        });
    }

    /// @dev A value too large for its field stops the test here, rather than being cut off.
    function toBreaker(Naive memory b) internal pure returns (Breaker memory) {
        return Breaker({
            status: b.open ? Status.OPEN : Status.CLOSED,
            failureCount: uint16(fits(b.failureCount, 2 ** 16)),
            failureThreshold: uint16(fits(b.failureThreshold, 2 ** 16)),
            cooldown: uint32(fits(b.cooldown, 2 ** 32)),
            retryAt: uint40(fits(b.retryAt, 2 ** 40)),
            successCount: uint8(fits(b.successCount, 2 ** 8)),
            successThreshold: uint8(fits(b.successThreshold, 2 ** 8)),
            reopenCount: uint8(fits(b.reopenCount, 2 ** 8)),
            maxCooldown: uint32(fits(b.maxCooldown, 2 ** 32)),
            window: uint32(fits(b.window, 2 ** 32)),
            lastFailureAt: uint40(fits(b.lastFailureAt, 2 ** 40)),
            flags: uint8(fits(b.flags, 2 ** 8)),
            probedAt: uint8(fits(b.probedAt, 2 ** 8))
        });
    }

    function fits(uint256 value, uint256 limit) internal pure returns (uint256) {
        assert(value < limit);
        return value;
    }
}
