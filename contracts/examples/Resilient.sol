// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, State} from "../CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "../GuardedCall.sol";
import {Outcome} from "../Outcome.sol";
import {lock, unlock} from "../TransientLock.sol";
import {ICircuitBreaker} from "../interfaces/ICircuitBreaker.sol";
import {IHuman} from "../interfaces/IHuman.sol";

/// @title  Resilient
/// @notice Asks the primary, and the secondary while the primary is not to be relied on.
/// @dev    *Design.* One breaker guards the primary; the secondary is called bare. The lock is held over an attempt and
///         its record only, so that each attempt is recorded once, and never while open.
///
///         *Trust.* Anyone may call it, with any amount of gas. The primary may do whatever it wants with the budget it
///         is given; the secondary must answer.
contract Resilient is ICircuitBreaker {
    using CircuitBreaker for Breaker;

    /// @notice There is no contract at the secondary's address, and nothing would catch that when it is needed.
    error SecondaryWithoutCode(IHuman secondary);
    /// @notice A secondary that is the primary fails with it.
    error SecondaryIsPrimary(IHuman secondary);

    /// @notice Whom it asks first.
    IHuman public immutable primary;

    /// @notice Whom it asks when the primary fails, or is not asked.
    IHuman public immutable secondary;

    PackedLimits private immutable _limits = GuardedCall.pack(
        // A string out of storage and no more: 32 slots cold are 67,200. The reserve records, and asks the secondary.
        Limits({gas: 100_000, reserve: 150_000, maxReturn: 4096, minReturn: 64})
    );

    Breaker private _breaker;

    /// @param primary_         Whom to ask first. One that is not there is a failure like any other.
    /// @param secondary_       Whom to ask otherwise; another contract.
    /// @param failureThreshold Consecutive failures of the primary after which it is left alone; at least 1.
    /// @param cooldown         Seconds after which it is tried again; at least 1.
    constructor(IHuman primary_, IHuman secondary_, uint16 failureThreshold, uint32 cooldown) {
        if (address(secondary_).code.length == 0) revert SecondaryWithoutCode(secondary_);
        if (address(secondary_) == address(primary_)) revert SecondaryIsPrimary(secondary_);
        primary = primary_;
        secondary = secondary_;
        _breaker = CircuitBreaker.build(failureThreshold, cooldown);
    }

    // ─── Asking ───

    /// @notice What the primary says, else the secondary. Respects the breaker and records nothing.
    function ask() external view returns (string memory) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, string memory answer) = _askPrimary();
            if (outcome == Outcome.Ok) return answer;
        }
        return secondary.speak();
    }

    /// @notice What the primary says, else the secondary. Records how the primary did.
    function safeAsk() external returns (string memory) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, string memory answer) = _attempt();
            if (outcome == Outcome.Ok) return answer;
        }
        return secondary.speak();
    }

    /// @inheritdoc ICircuitBreaker
    function probe(bytes32 id) external returns (Outcome outcome) {
        _mustKnow(id);
        if (_breaker.isOpen()) return Outcome.NotTried;
        (outcome,) = _attempt();
    }

    // ─── Reading ───

    /// @notice All that is stored of the breaker.
    function breaker() external view returns (Breaker memory) {
        return _breaker;
    }

    /// @inheritdoc ICircuitBreaker
    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    /// @inheritdoc ICircuitBreaker
    function breakerState(bytes32 id) external view returns (State state, Breaker memory stored) {
        _mustKnow(id);
        return (_breaker.state(), _breaker);
    }

    /// @notice ERC-165: itself and `ICircuitBreaker`.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId || interfaceId == this.supportsInterface.selector;
    }

    // ─── Internal ───

    /// One call of the primary, recorded.
    function _attempt() private returns (Outcome outcome, string memory answer) {
        lock();
        (outcome, answer) = _askPrimary();
        if (outcome == Outcome.Ok) _breaker.success();
        else _breaker.fail(outcome, 1);
        unlock();
    }

    function _askPrimary() private view returns (Outcome outcome, string memory answer) {
        bytes memory data;
        (outcome, data) = GuardedCall.tryStaticCall(address(primary), abi.encodeCall(IHuman.speak, ()), _limits);
        if (outcome != Outcome.Ok) return (outcome, answer);
        bool ok;
        (ok, answer) = GuardedCall.decodeString(data);
        if (!ok) outcome = Outcome.BadReturn;
    }

    function _mustKnow(bytes32 id) private view {
        if (id != _breaker.id()) revert UnknownBreaker(id);
    }
}
