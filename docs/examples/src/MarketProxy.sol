// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "./Market.sol";
import {CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {FaultTolerantProxy} from "fusebox/FaultTolerantProxy.sol";
import {Limits} from "fusebox/GuardedCall.sol";

/// What a deploy script does.
library MarketProxy {
    // ANCHOR: deploy
    function deploy(IOracle primary, IOracle backup, address owner) internal returns (IOracle) {
        FaultTolerantProxy proxy = new FaultTolerantProxy({
            primary_: address(primary),
            backup_: address(backup),
            owner_: owner,
            config: CircuitBreaker.safe(3, 5 minutes),
            limits: Limits({gas: 60_000, reserve: 80_000, maxReturn: 4096, minReturn: 0}),
            probeCalldata: abi.encodeCall(IOracle.price, ())
        });
        return IOracle(address(proxy));
    }
    // ANCHOR_END: deploy
}
