// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Planned} from "../Planned.sol";
import {Object} from "../Values.sol";
import {Policy} from "./Policy.sol";
import {References} from "./References.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";

/// @title  Proxy
/// @notice The parameters of a FaultTolerantProxy.
abstract contract Proxy is References, Policy {
    /// What recording and its event take, in gas. With less left, a failure that was paid for could not be recorded;
    /// the backup's gas comes on top, which the contract cannot know.
    uint256 private constant _RECORDING = 10_000;

    function _proxyArgs(Object memory object, Planned[] memory before) internal view returns (bytes memory) {
        _checkKeys(object, "artifact, primary, backup, owner, config, limits, probe_calldata");
        (address primary, address backup) = _pair(object, "primary", "backup", before);
        return abi.encode(
            primary,
            backup,
            _owner(object),
            // Without record_calls, the proxy records probes only.
            _config(object, "latch, once_per_block, record_calls"),
            _limits(object),
            _bytes(object, "probe_calldata")
        );
    }

    /// Nobody has to be said in words: a zero is too easily a variable that was not set.
    function _owner(Object memory object) private view returns (address) {
        string memory expected = "the address of who may trip, reset and configure, or none";
        if (_equal(_string(object, "owner", expected), "none")) return address(0);
        return _address(object, "owner", expected);
    }

    function _limits(Object memory parent) private view returns (Limits memory limits) {
        Object memory object = _object(parent, "limits", "gas, reserve, max_return, min_return");
        // What all of it may be together is for the contract to say; no part can be more than a transaction has.
        uint256 most = GuardedCall.MAX_TRANSACTION_GAS;
        // forge-lint: disable-start(unsafe-typecast)
        limits.gas = uint32(_uint(object, "gas", GuardedCall.STIPEND, most));
        limits.reserve = uint32(_uint(object, "reserve", _RECORDING, most));
        limits.maxReturn = _uint32(object, "max_return", 0);
        limits.minReturn = uint32(_uint(object, "min_return", 0, limits.maxReturn));
        // forge-lint: disable-end(unsafe-typecast)
    }
}
