// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Planned} from "../Planned.sol";
import {Object, Values} from "../Values.sol";

/// @title  References
/// @notice Parameters that are other contracts: an address, or the name of a contract in the same file.
abstract contract References is Values {
    string internal constant _CONTRACT = "the address of a contract, or the name of another one in this file";

    /// Two contracts, of which the second takes the first one's place, so they differ.
    /// @param before What was planned before, and can be referred to.
    function _pair(Object memory object, string memory first, string memory second, Planned[] memory before)
        internal
        view
        returns (address primary, address backup)
    {
        primary = _contract(object, first, before);
        backup = _contract(object, second, before);
        if (backup == primary) _reject(object, second, string.concat("another contract than ", first));
    }

    function _contract(Object memory object, string memory key, Planned[] memory before)
        private
        view
        returns (address)
    {
        string memory shown = _string(object, key, _CONTRACT);
        for (uint256 i = 0; i < before.length; i++) {
            // Places that are not filled yet have no address.
            if (before[i].addr != address(0) && _equal(before[i].name, shown)) return before[i].addr;
        }
        address addr = _address(object, key, _CONTRACT);
        if (addr.code.length == 0) {
            string memory chain = vm.toString(block.chainid);
            _reject(object, key, string.concat("a contract: there is no code at this address on chain ", chain));
        }
        return addr;
    }
}
