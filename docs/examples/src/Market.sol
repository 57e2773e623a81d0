// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "fusebox/CircuitBreaker.sol";

interface IOracle {
    function price() external view returns (uint256);
}

contract Market {
    using CircuitBreaker for Breaker;

    IOracle public immutable primary;
    IOracle public immutable backup;
    Breaker private _breaker;

    constructor(IOracle primary_, IOracle backup_) {
        (primary, backup) = (primary_, backup_);
        // Three failures open it for five minutes.
        _breaker = CircuitBreaker.build(CircuitBreaker.safe(3, 5 minutes));
    }

    // ANCHOR: price
    function price() external returns (uint256) {
        if (!_breaker.isOpen()) {
            try primary.price() returns (uint256 answer) {
                _breaker.success();
                return answer;
            } catch {
                _breaker.fail();
            }
        }
        return backup.price();
    }

    // ANCHOR_END: price

    /// What is stored of the breaker, for explorers.
    function breaker() external view returns (Breaker memory) {
        return _breaker;
    }
}
