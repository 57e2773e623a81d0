// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IFlags} from "../../../contracts/interfaces/IFlags.sol";

/// @title  SlowFlags
/// @notice Every flag is raised, and reading one takes nearly all the gas that there is.
contract SlowFlags is IFlags {
    /// @inheritdoc IFlags
    function getFlag(address) external view returns (bool) {
        while (gasleft() > 500) {}
        return true;
    }
}
