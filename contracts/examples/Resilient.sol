// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, State} from "../CircuitBreaker.sol";
import {Outcome} from "../Outcome.sol";
import {ICircuitBreaker} from "../interfaces/ICircuitBreaker.sol";
import {IHuman} from "../interfaces/IHuman.sol";

/// @title  Resilient
/// @notice Asks the primary, and the secondary while the primary is not to be relied on.
/// @dev    *Design.* One breaker guards the primary; the secondary is called bare. The lock is held over an attempt and
///         its record only, so that each attempt is recorded once, and never while open.
///
///         *Trust.* Anyone may call it. The primary may revert; one without code or with an undecodable answer takes
///         the caller down, since `try` does not catch that.
contract Resilient is ICircuitBreaker {
    using CircuitBreaker for Breaker;

    /// @dev A transient slot, so it costs 100 gas and is free after the transaction. Compilers count slots up from zero
    ///      and hashes take all 256 bits, so four bytes in the middle meet neither: those of keccak256("fusebox.lock").
    uint256 private constant _LOCK = 0xbaff5280;

    /// @notice Whom it asks first.
    IHuman public immutable primary;

    /// @notice Whom it asks when the primary fails, or is not asked.
    IHuman public immutable secondary;

    Breaker private _breaker;

    /// @param primary_         Whom to ask first.
    /// @param secondary_       Whom to ask otherwise.
    /// @param failureThreshold Consecutive failures of the primary after which it is left alone; at least 1.
    /// @param cooldown         Seconds after which it is tried again; at least 1.
    constructor(IHuman primary_, IHuman secondary_, uint16 failureThreshold, uint32 cooldown) {
        primary = primary_;
        secondary = secondary_;
        _breaker = CircuitBreaker.build(failureThreshold, cooldown);
    }

    // ─── Asking ───

    /// @notice What the primary says, else the secondary. Respects the breaker and records nothing.
    function ask() external view returns (string memory) {
        if (!_breaker.isOpen()) {
            try primary.speak() returns (string memory answer) {
                return answer;
            } catch {}
        }
        return secondary.speak();
    }

    /// @notice What the primary says, else the secondary. Records how the primary did.
    function safeAsk() external returns (string memory) {
        if (!_breaker.isOpen()) {
            _lock();
            try primary.speak() returns (string memory answer) {
                _breaker.success();
                _unlock();
                return answer;
            } catch {
                _breaker.fail();
                _unlock();
            }
        }
        return secondary.speak();
    }

    /// @inheritdoc ICircuitBreaker
    function probe(bytes32 id) external returns (Outcome) {
        _mustKnow(id);
        if (_breaker.isOpen()) return Outcome.NotTried;
        _lock();
        try primary.speak() returns (string memory) {
            _breaker.success();
            _unlock();
            return Outcome.Ok;
        } catch {
            _breaker.fail();
            _unlock();
            return Outcome.Reverted;
        }
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

    function _mustKnow(bytes32 id) private view {
        if (id != _breaker.id()) revert UnknownBreaker(id);
    }

    function _lock() private {
        uint256 held;
        assembly ("memory-safe") {
            held := tload(_LOCK)
        }
        // Before the write: a human who calls back does so in a static frame, where a write burns all gas given.
        if (held != 0) revert Reentered();
        assembly ("memory-safe") {
            tstore(_LOCK, 1)
        }
    }

    function _unlock() private {
        assembly ("memory-safe") {
            tstore(_LOCK, 0)
        }
    }
}
