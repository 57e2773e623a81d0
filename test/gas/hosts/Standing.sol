// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, Config, State} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice What the proxy is measured against: hosts that are called like the human they stand for, and have the
///         external functions of the proxy besides, so that a difference in gas is never one of dispatch.
abstract contract Standing is IHuman, ICircuitBreaker {
    address public immutable primary;
    address public immutable backup;
    address public immutable owner;

    constructor(IHuman primary_, IHuman backup_) {
        primary = address(primary_);
        backup = address(backup_);
    }

    function probe(bytes32) external returns (Outcome) {}
    function breakers() external view returns (bytes32[] memory) {}
    function breakerState(bytes32) external view returns (State, Breaker memory) {}
    function supportsInterface(bytes4) external view returns (bool) {}
    function trip(uint40) external {}
    function reset() external {}
    function configure(Config memory) external {}
}

/// @notice No breaker at all: asks the primary, and fails with it.
contract StandingPlain is Standing {
    constructor(IHuman primary_, IHuman backup_) Standing(primary_, backup_) {}

    function speak() external view returns (string memory) {
        return IHuman(primary).speak();
    }
}

/// @notice A fallback and no breaker: asks the primary every time, and the backup when that fails.
contract StandingTryCatch is Standing {
    constructor(IHuman primary_, IHuman backup_) Standing(primary_, backup_) {}

    function speak() external view returns (string memory) {
        try IHuman(primary).speak() returns (string memory answer) {
            return answer;
        } catch {
            return IHuman(backup).speak();
        }
    }
}
