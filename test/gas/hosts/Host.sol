// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice The external functions that all measured hosts share, so that a difference in gas is never one of dispatch.
abstract contract Host {
    IHuman public immutable primary;
    IHuman public immutable secondary;

    constructor(IHuman primary_, IHuman secondary_) {
        primary = primary_;
        secondary = secondary_;
    }

    function ask() external view virtual returns (string memory);

    function safeAsk() external virtual returns (string memory);

    function probe(bytes32 id) external virtual returns (Outcome);
}
