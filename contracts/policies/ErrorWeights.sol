// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "../CircuitBreaker.sol";
import {Outcome} from "../Outcome.sol";

/// @notice What each error of a primary counts for. Read it through `ErrorWeights.weightOf`.
/// @param  encoded By the error's selector: the weight XOR the default, so that an empty slot reads as the default and
///                 every 16-bit weight has its own value.
struct ErrorWeightTable {
    mapping(bytes4 errorSelector => uint16) encoded;
}

/// @title  ErrorWeights
/// @notice Lets some errors of a primary count for more than others, or for nothing.
/// @dev    *Design.* In a host's `_record`, `_weights.record(breaker, outcome, errorSelector)` replaces the calls of
///         `success` and `fail`. An error counts for 1 until something else is set. 0 ignores it: that is for what a
///         caller brings about by bad input, and it neither ends nor prolongs a streak. 65,535 trips at once. With
///         `ONCE_PER_BLOCK` the first counted failure of a timestamp is the one that counts, whatever a later one
///         weighs, unless that trips at once.
///
///         *With other policies* the weight is passed on: `_ring.record(breaker, outcome, _weights.weightOf(outcome,
///         errorSelector))`. Looking a weight up takes 2,100 gas, a cold slot: leave it in the reserve.
///
///         *Only reverts are weighed.* Every other outcome counts for 1, so that no entry lets a target without code,
///         or one that burns its budget, go unseen.
///
///         *Trust assumptions.* The target chooses the error it reverts with. A hostile one that uses an ignored
///         error is never left alone, though each of its failures is still answered by the backup. An error that a
///         target passes on from somebody else may have been chosen by the caller: 65,535 for it lets the caller trip
///         the breaker.
library ErrorWeights {
    using CircuitBreaker for Breaker;

    /// @notice An error has a new weight.
    /// @param  table         The storage slot of the table in the emitting contract.
    /// @param  errorSelector The error's selector; zero for revert data of less than four bytes.
    /// @param  weight        What it counts for from now on.
    event ErrorWeightSet(bytes32 indexed table, bytes4 indexed errorSelector, uint16 weight);

    /// @notice The key of revert data that is too short to name an error: `revert()`, `require(false)`, `invalid()`.
    /// @dev    Warning: in a decorated function a target without code and an answer that cannot be decoded look
    ///         the same. Weight 0 for this key ignores them, too.
    bytes4 internal constant NO_DATA = 0;

    /// @notice What an error counts for that nothing was set for, and every outcome other than a revert.
    uint16 internal constant DEFAULT = 1;

    /// @notice Gives an error its weight.
    /// @dev    Warning: whoever may call this can disarm the breaker, or make it trip. The host decides who that is.
    /// @param  errorSelector The first four bytes of the revert data, or `NO_DATA`.
    /// @param  weight        0 = ignore it, 1 = as if never set, 65,535 = trip at once.
    function set(ErrorWeightTable storage self, bytes4 errorSelector, uint16 weight) internal {
        self.encoded[errorSelector] = weight ^ DEFAULT;
        emit ErrorWeightSet(id(self), errorSelector, weight);
    }

    /// @notice Records an outcome, a revert with the weight of its error.
    /// @param  errorSelector As `_record` is given it.
    function record(ErrorWeightTable storage self, Breaker storage breaker, Outcome outcome, bytes4 errorSelector)
        internal
    {
        if (outcome == Outcome.Ok) breaker.success();
        else breaker.fail(outcome, weightOf(self, outcome, errorSelector));
    }

    /// @notice What a failure counts for: to pass on to another policy.
    function weightOf(ErrorWeightTable storage self, Outcome outcome, bytes4 errorSelector)
        internal
        view
        returns (uint16)
    {
        return outcome == Outcome.Reverted ? weightOf(self, errorSelector) : DEFAULT;
    }

    /// @notice What an error counts for.
    function weightOf(ErrorWeightTable storage self, bytes4 errorSelector) internal view returns (uint16) {
        return self.encoded[errorSelector] ^ DEFAULT;
    }

    /// @notice The table's name in events: its storage slot, unique within the contract.
    function id(ErrorWeightTable storage self) internal pure returns (bytes32 slot) {
        assembly ("memory-safe") {
            slot := self.slot
        }
    }
}
