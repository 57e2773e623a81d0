// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Planned} from "../Planned.sol";
import {Object} from "../Values.sol";
import {Policy} from "./Policy.sol";
import {References} from "./References.sol";
import {FeedChoice} from "contracts/FeedChoice.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {FeedConfig} from "contracts/ResilientFeed.sol";
import {AggregatorV3Interface} from "contracts/interfaces/AggregatorV3Interface.sol";

/// @title  Feed
/// @notice The parameters of a ResilientFeed.
abstract contract Feed is References, Policy {
    function _feedArgs(Object memory object, Planned[] memory before) internal view returns (bytes memory) {
        _checkKeys(
            object,
            "artifact, primary, backup, primary_heartbeat, backup_heartbeat, max_deviation_bps, gas, description, config"
        );
        FeedConfig memory feeds;
        (address primary, address backup) = _pair(object, "primary", "backup", before);
        feeds.primary = AggregatorV3Interface(primary);
        feeds.backup = AggregatorV3Interface(backup);
        feeds.primaryHeartbeat = _uint32(object, "primary_heartbeat", 1);
        feeds.backupHeartbeat = _uint32(object, "backup_heartbeat", 1);
        // forge-lint: disable-start(unsafe-typecast)
        feeds.maxDeviationBps = uint16(_uint(object, "max_deviation_bps", 1, FeedChoice.BPS));
        feeds.gas = uint32(_uint(object, "gas", GuardedCall.STIPEND, GuardedCall.MAX_TRANSACTION_GAS));
        // forge-lint: disable-end(unsafe-typecast)
        feeds.description = _string(object, "description", "what is priced, such as ETH / USD");
        // Only probes are recorded, whatever the flags say.
        return abi.encode(feeds, _config(object, "once_per_block"));
    }
}
