// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Host} from "./Host.sol";
import {Breaker, CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice The breaker written out by hand around a plain `try`, with a transient lock: the form that the other ways to
///         use the library are measured against.
contract ByHand is Host {
    using CircuitBreaker for Breaker;

    /// @dev First four bytes of keccak256("fusebox.lock").
    uint256 private constant _LOCK = 0xbaff5280;

    Breaker private _breaker;

    constructor(IHuman primary_, IHuman secondary_, uint16 failureThreshold, uint32 cooldown)
        Host(primary_, secondary_)
    {
        _breaker = CircuitBreaker.build(failureThreshold, cooldown);
    }

    function ask() external view override returns (string memory) {
        if (!_breaker.isOpen()) {
            try primary.speak() returns (string memory answer) {
                return answer;
            } catch {}
        }
        return secondary.speak();
    }

    function safeAsk() external override returns (string memory) {
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

    function probe(bytes32 id) external override returns (Outcome) {
        if (id != _breaker.id()) revert ICircuitBreaker.UnknownBreaker(id);
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

    function _lock() private {
        uint256 held;
        assembly ("memory-safe") {
            held := tload(_LOCK)
        }
        if (held != 0) revert ICircuitBreaker.Reentered();
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
