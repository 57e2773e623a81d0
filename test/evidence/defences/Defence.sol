// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  Defence
/// @notice Asks a primary, and counts a failure unless the caller is to blame for it; then it reverts.
abstract contract Defence {
    error Starved();

    IHuman internal immutable _primary;
    uint256 public failures;

    constructor(IHuman primary) {
        _primary = primary;
    }

    function ask() external virtual;
}
