// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {Defaults} from "../utils/Defaults.sol";

/// @notice A person closes the breaker. What it remembers afterwards are two times that `step` compares with.
contract ResetTest is BreakerTest {
    modifier givenNothingIsCounted() {
        breaker = Defaults.closed();
        _store();
        _;
    }

    function test_WhenAResetFindsNothingToDo() external givenNothingIsCounted {
        host.reset();
        _assertUntouched();
    }

    modifier givenAFailureIsCounted() {
        breaker = Defaults.closed();
        breaker.failureCount = 1;
        _store();
        _;
    }

    function test_WhenAResetFindsAClosedBreaker() external givenAFailureIsCounted {
        host.reset();
        breaker.failureCount = 0;
        _assertWritten();
    }

    modifier givenTheCooldownRuns() {
        breaker = Defaults.open();
        _store();
        _;
    }

    function test_WhenAResetFindsAnOpenBreaker() external givenTheCooldownRuns {
        host.reset();
        _becomesClosed();
        _assertClosed();
    }

    modifier givenTheCooldownIsOverAndAProbeWasGood() {
        breaker = Defaults.halfOpen();
        breaker.successCount = 1;
        _store();
        _;
    }

    function test_WhenAResetFindsAHalf_openBreaker() external givenTheCooldownIsOverAndAProbeWasGood {
        host.reset();
        _becomesClosed();
        _assertClosed();
    }
}
