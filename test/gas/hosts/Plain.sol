// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Host} from "./Host.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice No breaker at all: asks the primary, and fails with it.
contract Plain is Host {
    constructor(IHuman primary_, IHuman secondary_) Host(primary_, secondary_) {}

    function ask() external view override returns (string memory) {
        return primary.speak();
    }

    function safeAsk() external view override returns (string memory) {
        return primary.speak();
    }

    function probe(bytes32) external override returns (Outcome) {}
}
