// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  RawRevert
/// @notice Reverts with the bytes it was made of, whatever it is asked.
contract RawRevert {
    bytes private _data;

    constructor(bytes memory data) {
        _data = data;
    }

    fallback() external payable {
        bytes memory data = _data;
        assembly ("memory-safe") {
            revert(add(data, 32), mload(data))
        }
    }
}
