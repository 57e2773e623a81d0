// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "./Market.sol";
import {OneBreaker} from "./OneBreaker.sol";
import {Breaker, CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "fusebox/GuardedCall.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {lock, unlock} from "fusebox/TransientLock.sol";

contract GuardedMarket is OneBreaker {
    using CircuitBreaker for Breaker;

    IOracle public immutable primary;
    IOracle public immutable backup;

    // ANCHOR: limits
    PackedLimits private immutable _limits;

    /// @param gas What the primary takes at most, measured cold, with a margin.
    constructor(IOracle primary_, IOracle backup_, uint32 gas) {
        (primary, backup) = (primary_, backup_);
        _limits = GuardedCall.pack(Limits({gas: gas, reserve: 80_000, maxReturn: 32, minReturn: 32}));
        _breaker = CircuitBreaker.build(CircuitBreaker.safe(3, 5 minutes));
    }

    // ANCHOR_END: limits

    // ANCHOR: price
    function price() external returns (uint256) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, uint256 answer) = _attempt();
            if (outcome == Outcome.Ok) return answer;
        }
        return backup.price();
    }

    function probe(bytes32 id) external returns (Outcome outcome) {
        _mustKnow(id);
        if (_breaker.isOpen()) return Outcome.NotTried;
        (outcome,) = _attempt();
    }

    function _attempt() private returns (Outcome outcome, uint256 answer) {
        lock();
        bytes memory data;
        (outcome, data) = GuardedCall.tryStaticCall(address(primary), abi.encodeCall(IOracle.price, ()), _limits);
        if (outcome == Outcome.Ok) {
            (, answer) = GuardedCall.decodeUint256(data);
            // A price of zero is well-formed, and nobody should believe it.
            if (answer == 0) outcome = Outcome.Rejected;
        }
        if (outcome == Outcome.Ok) _breaker.success();
        else _breaker.fail(outcome);
        unlock();
    }
    // ANCHOR_END: price
}
