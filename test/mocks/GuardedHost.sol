// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config} from "contracts/CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  GuardedHost
/// @notice What Resilient does, with limits to choose. It has no lock: nothing that it calls can call back with effect.
contract GuardedHost {
    using CircuitBreaker for Breaker;

    IHuman public immutable primary;
    IHuman public immutable secondary;
    PackedLimits private immutable _limits;

    Breaker private _breaker;

    constructor(IHuman primary_, IHuman secondary_, Config memory config, Limits memory limits) {
        primary = primary_;
        secondary = secondary_;
        _limits = GuardedCall.pack(limits);
        _breaker = CircuitBreaker.build(config);
    }

    function ask() external view returns (string memory) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, string memory answer) = _askPrimary();
            if (outcome == Outcome.Ok) return answer;
        }
        return secondary.speak();
    }

    function safeAsk() external returns (string memory) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, string memory answer) = _attempt();
            if (outcome == Outcome.Ok) return answer;
        }
        return secondary.speak();
    }

    function probe(bytes32) external returns (Outcome outcome) {
        if (_breaker.isOpen()) return Outcome.NotTried;
        (outcome,) = _attempt();
    }

    function breaker() external view returns (Breaker memory) {
        return _breaker;
    }

    function _attempt() private returns (Outcome outcome, string memory answer) {
        (outcome, answer) = _askPrimary();
        if (outcome == Outcome.Ok) _breaker.success();
        else _breaker.fail(outcome);
    }

    function _askPrimary() private view returns (Outcome outcome, string memory answer) {
        bytes memory data;
        (outcome, data) = GuardedCall.tryStaticCall(address(primary), abi.encodeCall(IHuman.speak, ()), _limits);
        if (outcome != Outcome.Ok) return (outcome, answer);
        bool ok;
        (ok, answer) = GuardedCall.decodeString(data);
        if (!ok) outcome = Outcome.BadReturn;
    }
}
