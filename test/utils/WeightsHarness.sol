// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ErrorWeightTable, ErrorWeights} from "contracts/policies/ErrorWeights.sol";

/// @title  WeightsHarness
/// @notice A host that does nothing but pass every function of the library on, for a breaker and its table.
contract WeightsHarness {
    using CircuitBreaker for Breaker;
    using ErrorWeights for ErrorWeightTable;

    /// @notice Where the two are.
    bytes32 public constant BREAKER_SLOT = bytes32(uint256(3));
    bytes32 public constant TABLE_SLOT = bytes32(uint256(4));

    uint256[3] private _below;
    Breaker private _breaker;
    ErrorWeightTable private _weights;

    function record(Outcome outcome, bytes4 errorSelector) external {
        _weights.record(_breaker, outcome, errorSelector);
    }

    function set(bytes4 errorSelector, uint16 weight) external {
        _weights.set(errorSelector, weight);
    }

    function weightOf(bytes4 errorSelector) external view returns (uint16) {
        return _weights.weightOf(errorSelector);
    }

    function weightOf(Outcome outcome, bytes4 errorSelector) external view returns (uint16) {
        return _weights.weightOf(outcome, errorSelector);
    }
}
