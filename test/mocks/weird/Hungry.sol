// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Hungry
/// @notice Healthy, but answers only after so much work, with so many bytes. Starved of it, it fails like one who is
///         not.
contract Hungry {
    uint256 public immutable SIZE;
    uint256 private immutable _WORK;

    /// @param work Gas, give or take the last round of the loop.
    constructor(uint256 work, uint256 size) {
        (_WORK, SIZE) = (work, size);
    }

    receive() external payable {}

    fallback() external payable {
        uint256 before = gasleft();
        while (before - gasleft() < _WORK) {}
        uint256 size = SIZE;
        assembly {
            return(0, size)
        }
    }
}
