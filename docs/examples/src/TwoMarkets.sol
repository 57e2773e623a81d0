// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "./Market.sol";
import {Breaker, CircuitBreaker, State} from "fusebox/CircuitBreaker.sol";
import {FaultTolerant} from "fusebox/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "fusebox/GuardedCall.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {ICircuitBreaker} from "fusebox/interfaces/ICircuitBreaker.sol";
import {FailureRate, FailureRing} from "fusebox/policies/FailureRate.sol";

/// Two oracles that fail for reasons of their own.
contract TwoMarkets is FaultTolerant {
    using CircuitBreaker for Breaker;
    using FailureRate for FailureRing;

    IOracle public immutable gold;
    IOracle public immutable oil;
    IOracle public immutable backup;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 60_000, reserve: 80_000, maxReturn: 0, minReturn: 0}));

    // ANCHOR: two
    struct Guard {
        Breaker breaker;
        FailureRing ring;
    }

    Guard private _gold = _build();
    Guard private _oil = _build();

    function goldPrice() external faultTolerantWith(_gold.breaker, address(backup), _ask(), _limits) returns (uint256) {
        return gold.price();
    }

    function oilPrice() external faultTolerantWith(_oil.breaker, address(backup), _ask(), _limits) returns (uint256) {
        return oil.price();
    }

    function _record(Breaker storage breaker, Outcome outcome, bytes4) internal override {
        Guard storage guard = breaker.id() == _gold.breaker.id() ? _gold : _oil;
        guard.ring.record(breaker, outcome);
    }

    // ANCHOR_END: two

    // ANCHOR: read
    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](2);
        (ids[0], ids[1]) = (_gold.breaker.id(), _oil.breaker.id());
    }

    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        Breaker storage breaker = _find(id);
        return (breaker.state(), breaker);
    }

    function probe(bytes32 id) external returns (Outcome) {
        Breaker storage breaker = _find(id);
        bool isGold = id == _gold.breaker.id();
        return _probe(breaker, isGold ? abi.encodeCall(this.goldPrice, ()) : abi.encodeCall(this.oilPrice, ()), _limits);
    }

    function _find(bytes32 id) private view returns (Breaker storage) {
        if (id == _gold.breaker.id()) return _gold.breaker;
        if (id == _oil.breaker.id()) return _oil.breaker;
        revert UnknownBreaker(id);
    }

    // ANCHOR_END: read

    constructor(IOracle gold_, IOracle oil_, IOracle backup_) {
        (gold, oil, backup) = (gold_, oil_, backup_);
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == type(ICircuitBreaker).interfaceId || id == this.supportsInterface.selector;
    }

    function _ask() private pure returns (bytes memory) {
        return abi.encodeCall(IOracle.price, ());
    }

    function _build() private pure returns (Guard memory) {
        return Guard({
            breaker: CircuitBreaker.build(CircuitBreaker.safe(3, 5 minutes)),
            ring: FailureRate.build({size: 20, minCalls: 10, shareBps: 5000})
        });
    }
}
