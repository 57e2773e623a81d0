// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {START} from "./Defaults.sol";
import {Reading} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";

uint32 constant HEARTBEAT = 3600;

/// @title  Readings
/// @notice Readings to choose from, at time START.
library Readings {
    /// @notice Given a minute ago.
    function sound(int256 answer) internal pure returns (Reading memory) {
        return Reading({
            outcome: Outcome.Ok,
            roundId: 7,
            answer: answer,
            startedAt: START - 70,
            updatedAt: START - 60,
            answeredInRound: 7,
            heartbeat: HEARTBEAT
        });
    }

    /// @notice Given a second too long ago.
    function stale(int256 answer) internal pure returns (Reading memory reading) {
        reading = sound(answer);
        reading.updatedAt = START - HEARTBEAT - 1;
    }

    /// @notice A feed that did not answer.
    function failed(Outcome outcome) internal pure returns (Reading memory reading) {
        reading.outcome = outcome;
    }
}
