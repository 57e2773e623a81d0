// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {FeedConfig, ResilientFeed} from "fusebox/ResilientFeed.sol";
import {AggregatorV3Interface} from "fusebox/interfaces/AggregatorV3Interface.sol";

/// What a deploy script does.
library EthUsd {
    // ANCHOR: deploy
    function deploy(AggregatorV3Interface primary, AggregatorV3Interface backup) internal returns (ResilientFeed) {
        return new ResilientFeed(
            FeedConfig({
                primary: primary,
                backup: backup,
                // Promised hourly and daily; with a margin, or each late round is a failure.
                primaryHeartbeat: 65 minutes,
                backupHeartbeat: 25 hours,
                maxDeviationBps: 200,
                gas: 60_000,
                description: "ETH / USD"
            }),
            CircuitBreaker.safe(3, 5 minutes)
        );
    }
    // ANCHOR_END: deploy
}
