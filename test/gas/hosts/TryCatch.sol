// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Host} from "./Host.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice A fallback and no breaker: asks the primary every time, and the secondary when that fails.
contract TryCatch is Host {
    constructor(IHuman primary_, IHuman secondary_) Host(primary_, secondary_) {}

    function ask() external view override returns (string memory) {
        return _ask();
    }

    function safeAsk() external view override returns (string memory) {
        return _ask();
    }

    function probe(bytes32) external override returns (Outcome) {}

    function _ask() private view returns (string memory) {
        try primary.speak() returns (string memory answer) {
            return answer;
        } catch {
            return secondary.speak();
        }
    }
}
