// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Host} from "./Host.sol";
import {Breaker, CircuitBreaker, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice The decorator over a backup that has the same function.
contract Decorated is FaultTolerant, Host {
    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 100_000, reserve: 150_000, maxReturn: 0, minReturn: 0}));

    Breaker private _breaker;

    constructor(IHuman primary_, IHuman secondary_, uint16 failureThreshold, uint32 cooldown)
        Host(primary_, secondary_)
    {
        _breaker = CircuitBreaker.build(failureThreshold, cooldown);
    }

    function ask()
        external
        view
        override
        faultTolerantView(_breaker, address(secondary), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function safeAsk() external override faultTolerant(_breaker, address(secondary), _limits) returns (string memory) {
        return primary.speak();
    }

    function probe(bytes32) external override(Host, ICircuitBreaker) returns (Outcome) {
        return _probe(_breaker, abi.encodeCall(Host.safeAsk, ()), _limits);
    }

    function breakers() external view returns (bytes32[] memory) {}
    function breakerState(bytes32) external view returns (State, Breaker memory) {}
}
