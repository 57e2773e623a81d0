// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "./DecoratedMarket.sol";
import {IOracle} from "./Market.sol";
import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {Breaker, CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {Outcome} from "fusebox/Outcome.sol";

contract ManagedMarket is DecoratedMarket, AccessManaged {
    using CircuitBreaker for Breaker;

    constructor(IOracle primary_, IOracle backup_, address manager)
        DecoratedMarket(primary_, backup_)
        AccessManaged(manager)
    {}

    // ANCHOR: restricted
    /// @param until Unix seconds; 0 is one cooldown from now.
    function trip(uint40 until) external restricted {
        _breaker.trip(until, Outcome.Forced);
    }

    function reset() external restricted {
        _breaker.reset();
    }
    // ANCHOR_END: restricted
}
