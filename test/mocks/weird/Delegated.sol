// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Delegated
/// @notice The code of an account that has delegated to a contract, as EIP-7702 stores it.
library Delegated {
    function code(address to) internal pure returns (bytes memory) {
        return abi.encodePacked(hex"ef0100", to);
    }
}
