// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {IFlags} from "contracts/interfaces/IFlags.sol";
import {FlagTrip} from "contracts/policies/FlagTrip.sol";

/// @title  FlagHarness
/// @notice A host that lets anyone carry a flag over, and has nothing else.
contract FlagHarness is FlagTrip {
    using CircuitBreaker for Breaker;

    /// @notice Where the breaker is.
    bytes32 public constant BREAKER_SLOT = bytes32(uint256(3));

    uint256[3] private _below;
    Breaker private _breaker;

    constructor(IFlags flags_, uint32 gas) FlagTrip(flags_, gas) {}

    function carryFlag(address subject) external returns (bool) {
        return _carryFlag(_breaker, subject);
    }

    function readFlag(address subject) external view returns (bool known, bool raised) {
        return _readFlag(subject);
    }

    function success() external {
        _breaker.success();
    }

    function reset() external {
        _breaker.reset();
    }
}
