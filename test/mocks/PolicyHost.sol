// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Careful, Careless} from "./Careless.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IFlags} from "contracts/interfaces/IFlags.sol";
import {ErrorWeightTable, ErrorWeights} from "contracts/policies/ErrorWeights.sol";
import {FailureRate, FailureRing} from "contracts/policies/FailureRate.sol";
import {FlagTrip} from "contracts/policies/FlagTrip.sol";

interface IFlagHost {
    function carryFlag() external returns (bool);
}

/// @title  PolicyHost
/// @notice A complete host with every policy: a decorated function whose outcomes are weighed, then shared out, and a
///         flag that comes first in a probe.
contract PolicyHost is FaultTolerant, FlagTrip, IFlagHost {
    using CircuitBreaker for Breaker;
    using ErrorWeights for ErrorWeightTable;
    using FailureRate for FailureRing;

    Careless public immutable primary;
    Careful public immutable backup;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 100_000, reserve: 150_000, maxReturn: 0, minReturn: 0}));

    Breaker private _breaker;
    FailureRing private _ring = FailureRate.build({size: 10, minCalls: 4, shareBps: 5000});
    ErrorWeightTable private _weights;

    constructor(Careless primary_, Careful backup_, IFlags flags_, Config memory config) FlagTrip(flags_, 20_000) {
        (primary, backup) = (primary_, backup_);
        _breaker = CircuitBreaker.build(config);
        _weights.set(Careless.BadInput.selector, 0);
        _weights.set(Careless.Broken.selector, CircuitBreaker.TRIP_AT_ONCE);
    }

    // ─── Public ───

    function act(Careless.How how) external faultTolerant(_breaker, address(backup), _limits) returns (string memory) {
        return primary.act(how);
    }

    /// @inheritdoc ICircuitBreaker
    function probe(bytes32 id) external returns (Outcome) {
        if (id != _breaker.id()) revert UnknownBreaker(id);
        _carryFlag(_breaker, address(primary));
        return _probe(_breaker, abi.encodeCall(this.act, (Careless.How.Well)), _limits);
    }

    function carryFlag() external returns (bool) {
        return _carryFlag(_breaker, address(primary));
    }

    function ring() external view returns (FailureRing memory) {
        return _ring;
    }

    /// @inheritdoc ICircuitBreaker
    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    /// @inheritdoc ICircuitBreaker
    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        if (id != _breaker.id()) revert UnknownBreaker(id);
        return (_breaker.state(), _breaker);
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId || interfaceId == this.supportsInterface.selector;
    }

    // ─── Internal ───

    function _record(Breaker storage breaker, Outcome outcome, bytes4 errorSelector) internal override {
        _ring.record(breaker, outcome, _weights.weightOf(outcome, errorSelector));
    }
}
