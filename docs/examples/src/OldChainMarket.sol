// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "fusebox/GuardedCall.sol";
import {Outcome} from "fusebox/Outcome.sol";

interface ILiveOracle {
    /// Has effects, so it could call back.
    function update() external returns (uint256);
}

contract OldChainMarket {
    using CircuitBreaker for Breaker;

    error Reentered();

    ILiveOracle public immutable primary;
    ILiveOracle public immutable backup;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 200_000, reserve: 250_000, maxReturn: 32, minReturn: 32}));

    Breaker private _breaker;

    // ANCHOR: lock
    uint256 private _lock = 1;

    /// Storage instead of EIP-1153. Not zero: a slot that comes from zero costs 17,100 gas more to write.
    modifier locked() {
        if (_lock != 1) revert Reentered();
        _lock = 2;
        _;
        _lock = 1;
    }

    function update() external returns (uint256) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, uint256 answer) = _attempt();
            if (outcome == Outcome.Ok) return answer;
        }
        return backup.update();
    }

    function _attempt() private locked returns (Outcome outcome, uint256 answer) {
        bytes memory data;
        (outcome, data) = GuardedCall.tryCall(address(primary), 0, abi.encodeCall(ILiveOracle.update, ()), _limits);
        if (outcome == Outcome.Ok) (, answer) = GuardedCall.decodeUint256(data);
        if (outcome == Outcome.Ok) _breaker.success();
        else _breaker.fail(outcome);
    }
    // ANCHOR_END: lock

    constructor(ILiveOracle primary_, ILiveOracle backup_) {
        (primary, backup) = (primary_, backup_);
        _breaker = CircuitBreaker.build(CircuitBreaker.safe(3, 5 minutes));
    }
}
