// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config} from "contracts/CircuitBreaker.sol";
import {EmergencyPowers} from "contracts/EmergencyPowers.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @title  EmergencyHarness
/// @notice A host in which everyone may do everything, as far as the emergency lets them.
contract EmergencyHarness is EmergencyPowers {
    using CircuitBreaker for Breaker;

    /// @notice Where the breaker is.
    bytes32 public constant BREAKER_SLOT = bytes32(uint256(3));

    uint256[3] private _below;
    Breaker private _breaker;

    constructor(uint32 minOpen_, uint32 maxTrip_) EmergencyPowers(minOpen_, maxTrip_) {}

    function act() external view onlyInEmergency(_breaker) returns (bool) {
        return true;
    }

    function tripUntil(uint40 until) external {
        _tripUntil(_breaker, until);
    }

    function tripAndAct(uint40 until) external {
        _tripUntil(_breaker, until);
        this.act();
    }

    function failAndAct() external {
        _breaker.fail(Outcome.Reverted, CircuitBreaker.TRIP_AT_ONCE);
        this.act();
    }

    function fail() external {
        _breaker.fail();
    }

    function reset() external {
        _breaker.reset();
    }

    function withoutLatch(Config memory config) external pure returns (Config memory) {
        return _withoutLatch(config);
    }
}
