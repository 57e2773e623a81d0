// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  IFlags
/// @notice Where somebody says about a contract that it is not to be relied on: a list of raised flags.
/// @dev    What a host that watches flags assumes of the contract behind this interface:
///         - `getFlag` answers any caller, within the gas that the host gives it;
///         - it answers one word, 0 or 1. Anything else is unknown, not lowered and not raised;
///         - who may raise a flag there may take the subject out of use here, as often as wanted.
interface IFlags {
    /// @notice Whether the flag of `subject` is raised.
    function getFlag(address subject) external view returns (bool);
}
