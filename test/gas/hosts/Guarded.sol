// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Host} from "./Host.sol";
import {Breaker, CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {lock, unlock} from "contracts/TransientLock.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice A guarded call around a breaker, as `Resilient` has it.
contract Guarded is Host {
    using CircuitBreaker for Breaker;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 100_000, reserve: 150_000, maxReturn: 4096, minReturn: 64}));

    Breaker private _breaker;

    constructor(IHuman primary_, IHuman secondary_, uint16 failureThreshold, uint32 cooldown)
        Host(primary_, secondary_)
    {
        _breaker = CircuitBreaker.build(failureThreshold, cooldown);
    }

    function ask() external view override returns (string memory) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, string memory answer) = _askPrimary();
            if (outcome == Outcome.Ok) return answer;
        }
        return secondary.speak();
    }

    function safeAsk() external override returns (string memory) {
        if (!_breaker.isOpen()) {
            lock();
            (Outcome outcome, string memory answer) = _askPrimary();
            if (outcome == Outcome.Ok) {
                _breaker.success();
                unlock();
                return answer;
            }
            _breaker.fail(outcome, 1);
            unlock();
        }
        return secondary.speak();
    }

    function probe(bytes32 id) external override returns (Outcome outcome) {
        if (id != _breaker.id()) revert ICircuitBreaker.UnknownBreaker(id);
        if (_breaker.isOpen()) return Outcome.NotTried;
        (outcome,) = _attempt();
    }

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
        if (outcome == Outcome.Ok) {
            bool ok;
            (ok, answer) = GuardedCall.decodeString(data);
            if (!ok) outcome = Outcome.BadReturn;
        }
    }
}
