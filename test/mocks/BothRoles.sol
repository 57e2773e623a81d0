// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ITreasury} from "../utils/TreasuryTest.sol";

/// @title  BothRoles
/// @notice Whoever may trip and may evacuate: does both in one transaction, or tries to.
contract BothRoles {
    function tripAndEvacuate(ITreasury treasury) external {
        treasury.trip(uint40(block.timestamp + 1));
        treasury.evacuate();
    }
}
