// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Planned} from "../Planned.sol";
import {Object} from "../Values.sol";
import {References} from "./References.sol";

/// @title  Examples
/// @notice The parameters of Moody, Stoic, and Resilient over two who speak.
abstract contract Examples is References {
    /// Moody's or Stoic's constructor arguments.
    function _speakerArgs(Object memory object) internal view returns (bytes memory) {
        _checkKeys(object, "artifact, greeting");
        return abi.encode(_string(object, "greeting", "a string"));
    }

    function _resilientArgs(Object memory object, Planned[] memory before) internal view returns (bytes memory) {
        _checkKeys(object, "artifact, primary, secondary, failure_threshold, cooldown");
        (address primary, address secondary) = _pair(object, "primary", "secondary", before);
        return abi.encode(primary, secondary, _uint16(object, "failure_threshold", 1), _uint32(object, "cooldown", 1));
    }
}
