// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Object, Values} from "../Values.sol";
import {CircuitBreaker, Config} from "contracts/CircuitBreaker.sol";
import {RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";

/// @title  Policy
/// @notice A breaker's configuration: the key `config`, with every setting spelled out, since a policy that nobody
///         chose is one that nobody knows.
abstract contract Policy is Values {
    /// @param flags The names that may be given, of those that there are.
    function _config(Object memory parent, string memory flags) internal view returns (Config memory config) {
        string memory known = "failure_threshold, cooldown, success_threshold, max_cooldown, window, flags";
        Object memory object = _object(parent, "config", known);
        config.failureThreshold = _uint16(object, "failure_threshold", 1);
        config.cooldown = _uint32(object, "cooldown", 1);
        config.successThreshold = _uint8(object, "success_threshold", 1);
        config.maxCooldown = _uint32(object, "max_cooldown", config.cooldown);
        config.window = _uint32(object, "window", 0);
        config.flags = _flags(object, string.concat("a list of: ", flags), vm.split(flags, ", "));
    }

    function _flags(Object memory object, string memory expected, string[] memory known)
        private
        view
        returns (uint8 flags)
    {
        string[] memory given = _strings(object, "flags", expected);
        for (uint256 i = 0; i < given.length; i++) {
            uint8 flag = 0;
            for (uint256 j = 0; j < known.length; j++) {
                if (_equal(given[i], known[j])) flag = _flag(known[j]);
            }
            if (flag == 0) revert BadParam(object.file, _path(object, "flags"), given[i], expected);
            flags |= flag;
        }
    }

    function _flag(string memory name) private pure returns (uint8) {
        if (_equal(name, "latch")) return CircuitBreaker.LATCH;
        if (_equal(name, "once_per_block")) return CircuitBreaker.ONCE_PER_BLOCK;
        if (_equal(name, "record_calls")) return RECORD_CALLS;
        return 0;
    }
}
