// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FailureRate, FailureRing} from "contracts/policies/FailureRate.sol";

/// @title  RateHarness
/// @notice A host that does nothing but pass every function of the library on, for a breaker and its ring.
contract RateHarness {
    using CircuitBreaker for Breaker;
    using FailureRate for FailureRing;

    /// @notice Where the two are.
    bytes32 public constant BREAKER_SLOT = bytes32(uint256(3));
    bytes32 public constant RING_SLOT = bytes32(uint256(4));

    uint256[3] private _below;
    Breaker private _breaker;
    FailureRing private _ring;

    // ─── Recording ───

    function record(Outcome outcome) external {
        _ring.record(_breaker, outcome);
    }

    function record(Outcome outcome, uint16 weight) external {
        _ring.record(_breaker, outcome, weight);
    }

    function forget() external {
        _ring.forget();
    }

    // ─── For owners ───

    function setRing(FailureRing calldata ring_) external {
        _ring = ring_;
    }

    function rebuild(uint8 size, uint8 minCalls, uint16 shareBps) external {
        _ring = FailureRate.build(size, minCalls, shareBps);
    }

    function configure(Config memory config) external {
        _breaker.configure(config);
    }

    function trip(uint40 until, Outcome cause) external {
        _breaker.trip(until, cause);
    }

    function reset() external {
        _breaker.reset();
    }

    // ─── Reading ───

    function ring() external view returns (FailureRing memory) {
        return _ring;
    }

    // ─── Pure; external, so that a revert can be expected ───

    function build(uint8 size, uint8 minCalls, uint16 shareBps) external pure returns (FailureRing memory) {
        return FailureRate.build(size, minCalls, shareBps);
    }
}
