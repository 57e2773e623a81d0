// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "./Market.sol";
import {OneBreaker} from "./OneBreaker.sol";
import {CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {FaultTolerant} from "fusebox/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "fusebox/GuardedCall.sol";
import {Outcome} from "fusebox/Outcome.sol";

contract DecoratedMarket is FaultTolerant, OneBreaker {
    IOracle public immutable primary;
    IOracle public immutable backup;

    PackedLimits internal immutable _limits =
        GuardedCall.pack(Limits({gas: 60_000, reserve: 80_000, maxReturn: 0, minReturn: 0}));

    constructor(IOracle primary_, IOracle backup_) {
        (primary, backup) = (primary_, backup_);
        // ANCHOR: build
        _breaker = CircuitBreaker.build(CircuitBreaker.safe(3, 5 minutes));
        // ANCHOR_END: build
    }

    function price() external faultTolerant(_breaker, address(backup), _limits) returns (uint256) {
        return primary.price();
    }

    function probe(bytes32 id) external virtual returns (Outcome) {
        _mustKnow(id);
        return _probe(_breaker, abi.encodeCall(this.price, ()), _limits);
    }
}
