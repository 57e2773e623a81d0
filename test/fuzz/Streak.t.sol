// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {COOLDOWN, ONCE_PER_BLOCK} from "../utils/Defaults.sol";
import {Config, State} from "contracts/CircuitBreaker.sol";

/// @notice What "consecutive failures" means, without counting: the breaker trips exactly when the last `threshold`
///         counted outcomes were failures.
contract StreakTest is BreakerTest {
    uint256 private constant OUTCOMES = 48;

    /// The counted outcomes since the breaker was last closed; true for a failure.
    bool[] private history;

    function testFuzz_TripsExactlyWhenTheLastOutcomesFailed_Row01(uint256 outcomes, uint16 threshold) external {
        threshold = uint16(bound(threshold, 1, 6));
        host.configure(_config(threshold, 0));
        for (uint256 i; i < OUTCOMES; ++i) {
            // Two bits each: failures are three of four, or a long streak would be rare.
            _record({failed: outcomes % 4 != 0, counts: true});
            outcomes /= 4;
            _assertTrippedIffStreak(threshold);
        }
    }

    /// A failure does not count if the outcome before it was a counted failure of the same second.
    function testFuzz_TripsOncePerBlockWhenTheLastOutcomesFailed_Row01(
        uint256 outcomes,
        uint256 ticks,
        uint16 threshold
    ) external {
        threshold = uint16(bound(threshold, 1, 6));
        host.configure(_config(threshold, ONCE_PER_BLOCK));
        uint256 failedAt;
        for (uint256 i; i < OUTCOMES; ++i) {
            skip(ticks % 2);
            ticks /= 2;
            bool failed = outcomes % 4 != 0;
            outcomes /= 4;

            bool afterFailure = history.length > 0 && history[history.length - 1];
            bool counts = !failed || !afterFailure || failedAt != block.timestamp;
            if (failed && counts) failedAt = block.timestamp;
            _record(failed, counts);
            _assertTrippedIffStreak(threshold);
        }
    }

    function _record(bool failed, bool counts) private {
        if (failed) host.fail();
        else host.success();
        if (counts) history.push(failed);
    }

    function _assertTrippedIffStreak(uint16 threshold) private {
        bool streak = history.length >= threshold;
        for (uint256 i = 1; streak && i <= threshold; ++i) {
            streak = history[history.length - i];
        }
        assertEq(host.state() == State.Open, streak, "tripped");
        if (!streak) return;
        host.reset();
        delete history;
    }

    function _config(uint16 threshold, uint8 flags) private pure returns (Config memory) {
        return Config({
            failureThreshold: threshold,
            cooldown: COOLDOWN,
            successThreshold: 1,
            maxCooldown: COOLDOWN,
            window: 0,
            flags: flags
        });
    }
}
