// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "./DecoratedMarket.sol";
import {IOracle} from "./Market.sol";
import {Breaker} from "fusebox/CircuitBreaker.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {IFlags} from "fusebox/interfaces/IFlags.sol";
import {ErrorWeightTable, ErrorWeights} from "fusebox/policies/ErrorWeights.sol";
import {FailureRate, FailureRing} from "fusebox/policies/FailureRate.sol";
import {FlagTrip} from "fusebox/policies/FlagTrip.sol";

/// The caller asked for something that does not exist.
error BadInput();

contract PolicyMarket is DecoratedMarket, FlagTrip {
    using ErrorWeights for ErrorWeightTable;
    using FailureRate for FailureRing;

    // ANCHOR: state
    // Half of the last twenty calls, once there were ten.
    FailureRing private _ring = FailureRate.build({size: 20, minCalls: 10, shareBps: 5000});
    ErrorWeightTable private _weights;

    constructor(IOracle primary_, IOracle backup_, IFlags flags_)
        DecoratedMarket(primary_, backup_)
        FlagTrip(flags_, 20_000)
    {
        _weights.set(BadInput.selector, 0);
    }

    // ANCHOR_END: state

    // ANCHOR: record
    function _record(Breaker storage breaker, Outcome outcome, bytes4 errorSelector) internal override {
        _ring.record(breaker, outcome, _weights.weightOf(outcome, errorSelector));
    }

    // ANCHOR_END: record

    // ANCHOR: flag
    function carryFlag() external returns (bool carried) {
        return _carryFlag(_breaker, address(primary));
    }

    function probe(bytes32 id) external override returns (Outcome) {
        _mustKnow(id);
        _carryFlag(_breaker, address(primary));
        return _probe(_breaker, abi.encodeCall(this.price, ()), _limits);
    }
    // ANCHOR_END: flag
}
