// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  WeirdFeed
/// @notice Answers each of its functions with whatever bytes the test gave, after spending some gas or all of it.
contract WeirdFeed {
    mapping(bytes4 selector => bytes) private _answers;
    mapping(bytes4 selector => bool) private _burns;
    mapping(bytes4 selector => uint256) private _leaves;

    function answer(bytes4 selector, bytes calldata data) external {
        _answers[selector] = data;
    }

    function burn(bytes4 selector) external {
        _burns[selector] = true;
    }

    /// @notice Makes a function spend what it is given, but so much, before it answers.
    function leaveOnly(bytes4 selector, uint256 gas) external {
        _leaves[selector] = gas;
    }

    fallback() external {
        if (_burns[msg.sig]) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        bytes memory data = _answers[msg.sig];
        uint256 gas = _leaves[msg.sig];
        while (gas != 0 && gasleft() > gas) {}
        assembly ("memory-safe") {
            return(add(data, 32), mload(data))
        }
    }
}
