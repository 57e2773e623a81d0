// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IFlags} from "contracts/interfaces/IFlags.sol";

/// @title  Flags
/// @notice Whoever deployed it raises flags, and lowers them.
contract Flags is IFlags {
    error OnlyOwner();

    address public immutable owner = msg.sender;

    /// @inheritdoc IFlags
    mapping(address subject => bool) public getFlag;

    function setFlag(address subject, bool raised) external {
        if (msg.sender != owner) revert OnlyOwner();
        getFlag[subject] = raised;
    }
}
