// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "../CircuitBreaker.sol";
import {Outcome} from "../Outcome.sol";

/// @notice The last outcomes of a primary, and the share of failures that trips: one storage slot, lowest bits first.
/// @param  outcomes One bit an outcome, the newest lowest; 1 = it failed.
/// @param  calls    Outcomes remembered so far, up to `size`.
/// @param  failures How many of them failed.
/// @param  size     Outcomes to remember, 1 to 192; 0 = not configured.
/// @param  minCalls Outcomes below which no share is taken, 1 to `size`.
/// @param  shareBps The share of failures that trips, in 1/10,000; 1 to 10,000.
struct FailureRing {
    uint192 outcomes;
    uint8 calls;
    uint8 failures;
    uint8 size;
    uint8 minCalls;
    uint16 shareBps;
}

/// @title  FailureRate
/// @notice Trips a breaker when too many of the last outcomes failed, in a row or not.
/// @dev    *Why.* One success ends a streak, so a primary that fails every other call never trips a breaker that
///         counts consecutive failures, and anybody can keep a streak from forming by a success in between. A share
///         of the last outcomes sees both.
///
///         *Design.* In a host's `_record`, `_ring.record(breaker, outcome)` replaces the calls of `success` and
///         `fail`. The breaker's own count goes on beside it, and whichever rule is met first trips; with a failure
///         threshold of 65,535 the share alone decides. Only a failure trips, since the last outcome is the cause
///         that `Opened` names. The ring is a shift register: it has no head to keep, and a success moves nothing
///         once all that is remembered are successes, so a healthy primary costs no write. A failure takes 7,000 gas
///         more than without the ring: leave it in the reserve.
///
///         *Open and closed.* An outcome that opens the breaker, or comes while it is not closed, empties the ring:
///         what an outage left behind says nothing about the primary that comes back, and probes are judged by the
///         breaker alone. So after closing the share needs `minCalls` outcomes again. A breaker that a person tripped
///         and reset, with no outcome in between, keeps its ring; a host that wants it empty calls `forget` beside
///         `reset`.
///
///         *Trust assumptions.* Whoever can make the primary fail can trip the breaker, as without the ring; with
///         `ONCE_PER_BLOCK` a timestamp adds one failure at most, so that this takes more than one transaction.
///         Successes always count: who pays for enough of them keeps the share down. The ring knows no time: on a
///         host that is seldom called, an old failure counts until `size` outcomes have pushed it out.
library FailureRate {
    using CircuitBreaker for Breaker;

    // ─── Errors ───

    /// @notice The ring cannot remember this many outcomes.
    error SizeOutOfRange(uint8 size, uint8 min, uint8 max);
    /// @notice The minimum is at least 1, and at most the size, or it would never be reached.
    error MinCallsOutOfRange(uint8 minCalls, uint8 min, uint8 max);
    /// @notice A share of nothing is reached without a failure, and one above the whole never.
    error ShareBpsOutOfRange(uint16 shareBps, uint16 min, uint16 max);

    // ─── Constants ───

    /// @notice The largest ring: what a slot holds beside the counts and the configuration.
    uint8 internal constant MAX_SIZE = 192;
    /// @notice Every one of the last outcomes, in 1/10,000.
    uint16 internal constant ALL = 10_000;

    // The word, high bits to low:
    //
    // | 255 240 | 239  224 | 223  216 | 215 208 | 207  200 | 199 192 | 191    0 |
    // | unused  | shareBps | minCalls | size    | failures | calls   | outcomes |
    uint256 private constant _CALLS_AT = 192;
    uint256 private constant _FAILURES_AT = 200;
    uint256 private constant _SIZE_AT = 208;
    uint256 private constant _MIN_CALLS_AT = 216;
    uint256 private constant _SHARE_BPS_AT = 224;

    uint256 private constant _OUTCOMES = type(uint192).max;
    /// What changes; all above is configuration.
    uint256 private constant _STATE = type(uint208).max;

    // ─── Configuration ───

    /// @notice An empty ring to store, in a constructor or later. A new configuration starts with an empty ring.
    /// @param  size     Outcomes to remember, 1 to 192.
    /// @param  minCalls Outcomes below which no share is taken, 1 to `size`.
    /// @param  shareBps The share of failures that trips, in 1/10,000; 1 to 10,000. Reaching it is enough.
    function build(uint8 size, uint8 minCalls, uint16 shareBps) internal pure returns (FailureRing memory ring) {
        if (size == 0 || size > MAX_SIZE) revert SizeOutOfRange(size, 1, MAX_SIZE);
        if (minCalls == 0 || minCalls > size) revert MinCallsOutOfRange(minCalls, 1, size);
        if (shareBps == 0 || shareBps > ALL) revert ShareBpsOutOfRange(shareBps, 1, ALL);
        (ring.size, ring.minCalls, ring.shareBps) = (size, minCalls, shareBps);
    }

    // ─── Recording ───

    /// @notice Records an outcome, a failure with weight 1.
    function record(FailureRing storage self, Breaker storage breaker, Outcome outcome) internal {
        record(self, breaker, outcome, 1);
    }

    /// @notice Records an outcome in the ring and in the breaker.
    /// @dev    Reverts with `BreakerNotConfigured` where ring or breaker is not configured, on a success as well as on
    ///         a failure: the first call shows it. Nothing else reverts.
    /// @param  weight What a failure counts for in the breaker if the share does not trip it; 0 = ignore the failure.
    function record(FailureRing storage self, Breaker storage breaker, Outcome outcome, uint16 weight) internal {
        uint256 word;
        assembly ("memory-safe") {
            word := sload(self.slot)
        }
        if (_size(word) == 0) revert CircuitBreaker.BreakerNotConfigured();

        uint256 next = word;
        bool wasClosed = breaker.isClosed();
        if (outcome == Outcome.Ok) {
            next = push(word, 0);
            breaker.success();
        } else if (weight != 0) {
            if (_counts(breaker)) {
                next = push(word, 1);
                if (isTooHigh(next)) weight = CircuitBreaker.TRIP_AT_ONCE;
            }
            breaker.fail(outcome, weight);
        }
        if (!wasClosed || !breaker.isClosed()) next = word & ~_STATE;

        if (next == word) return;
        assembly ("memory-safe") {
            sstore(self.slot, next)
        }
    }

    /// @notice Empties the ring.
    function forget(FailureRing storage self) internal {
        (self.outcomes, self.calls, self.failures) = (0, 0, 0);
    }

    /// Whether a failure goes into the ring. With `ONCE_PER_BLOCK` the first of a timestamp does, even if a success
    /// came in between; else one transaction could alternate the two until the share is reached. Each failure in the
    /// ring has moved `lastFailureAt`. A clock that runs backwards counts as no time passed.
    function _counts(Breaker storage breaker) private view returns (bool) {
        if (breaker.flags & CircuitBreaker.ONCE_PER_BLOCK == 0) return true;
        // forge-lint: disable-next-line(block-timestamp) -- a proposer who moves it moves it for the breaker, too
        return block.timestamp > breaker.lastFailureAt;
    }

    // ─── The ring ───

    /// @notice The ring after one more outcome; the oldest falls out of a full one.
    /// @param  word   A configured ring.
    /// @param  failed 1 for a failure, 0 for a success.
    function push(uint256 word, uint256 failed) internal pure returns (uint256) {
        unchecked {
            // 1 ≤ size ≤ 192; at most `size` calls, of which one is a failure if a failure leaves.
            uint256 size = _size(word);
            uint256 calls = _calls(word);
            uint256 outcomes = word & _OUTCOMES;
            uint256 leaving = outcomes >> size - 1;
            outcomes = (outcomes << 1 | failed) & type(uint256).max >> 256 - size;
            if (calls != size) ++calls;
            uint256 failures = _failures(word) + failed - leaving;
            return word & ~_STATE | failures << _FAILURES_AT | calls << _CALLS_AT | outcomes;
        }
    }

    /// @notice Whether there are enough calls, and enough of them failed.
    function isTooHigh(uint256 word) internal pure returns (bool) {
        uint256 calls = _calls(word);
        return calls >= _minCalls(word) && _failures(word) * ALL >= calls * _shareBps(word);
    }

    function _calls(uint256 word) private pure returns (uint256) {
        return word >> _CALLS_AT & 0xff;
    }

    function _failures(uint256 word) private pure returns (uint256) {
        return word >> _FAILURES_AT & 0xff;
    }

    function _size(uint256 word) private pure returns (uint256) {
        return word >> _SIZE_AT & 0xff;
    }

    function _minCalls(uint256 word) private pure returns (uint256) {
        return word >> _MIN_CALLS_AT & 0xff;
    }

    function _shareBps(uint256 word) private pure returns (uint256) {
        return word >> _SHARE_BPS_AT & 0xffff;
    }
}
