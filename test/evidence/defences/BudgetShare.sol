// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Defence} from "./Defence.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Had the call been given its budget, a 63rd of that would be left.
contract BudgetShare is Defence {
    uint256 private immutable _BUDGET;

    constructor(IHuman primary, uint256 budget) Defence(primary) {
        _BUDGET = budget;
    }

    function ask() external override {
        try _primary.speak{gas: _BUDGET}() {}
        catch {
            if (gasleft() < _BUDGET / 63) revert Starved();
            ++failures;
        }
    }
}
