// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config, Event, State, Transition} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @title  BreakerHarness
/// @notice A host that does nothing but pass every function of the library on, for a breaker at a known slot.
/// @dev    Nothing else is read or written on the way, so that storage accesses of a call are the library's.
contract BreakerHarness {
    using CircuitBreaker for Breaker;

    /// @notice Where the breaker is. Not slot zero, which a forgotten `self.slot` would give as well.
    uint256 public constant SLOT = 7;

    uint256[SLOT] private _below;
    Breaker private _breaker;

    // ─── Recording ───

    function success() external {
        _self().success();
    }

    function fail() external {
        _self().fail();
    }

    function fail(Outcome cause) external {
        _self().fail(cause);
    }

    function fail(Outcome cause, uint16 weight) external {
        _self().fail(cause, weight);
    }

    // ─── For owners ───

    function trip(uint40 until, Outcome cause) external {
        _self().trip(until, cause);
    }

    function reset() external {
        _self().reset();
    }

    function configure(Config memory config) external {
        _self().configure(config);
    }

    // ─── Reading ───

    function state() external view returns (State) {
        return _self().state();
    }

    function isClosed() external view returns (bool) {
        return _self().isClosed();
    }

    function isOpen() external view returns (bool) {
        return _self().isOpen();
    }

    function isHalfOpen() external view returns (bool) {
        return _self().isHalfOpen();
    }

    function id() external view returns (bytes32) {
        return _self().id();
    }

    // ─── The slot, as the compiler sees it and as it is ───

    function breaker() external view returns (Breaker memory) {
        return _self();
    }

    function setBreaker(Breaker calldata breaker_) external {
        _breaker = breaker_;
    }

    function word() external view returns (uint256 value) {
        Breaker storage self = _self();
        assembly ("memory-safe") {
            value := sload(self.slot)
        }
    }

    // ─── Pure; external, so that a revert can be expected ───

    function build(uint16 failureThreshold, uint32 cooldown) external pure returns (Breaker memory) {
        return CircuitBreaker.build(failureThreshold, cooldown);
    }

    function build(Config memory config) external pure returns (Breaker memory) {
        return CircuitBreaker.build(config);
    }

    function safe(uint16 failureThreshold, uint32 cooldown) external pure returns (Config memory) {
        return CircuitBreaker.safe(failureThreshold, cooldown);
    }

    function step(uint256 word_, Event e, uint40 arg, uint40 time) external pure returns (uint256, Transition) {
        return CircuitBreaker.step(word_, e, arg, time);
    }

    function stateOf(uint256 word_, uint40 time) external pure returns (State) {
        return CircuitBreaker.stateOf(word_, time);
    }

    function _self() internal view virtual returns (Breaker storage) {
        return _breaker;
    }
}
