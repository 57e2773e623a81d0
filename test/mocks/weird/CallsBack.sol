// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  CallsBack
/// @notice Whatever it is asked, it calls somebody first, usually whoever asked. Then it fails with what came of that,
///         or hides it and answers.
contract CallsBack {
    address private _whom;
    bytes private _call;
    bool private _hides;
    bytes private _answer;

    /// @notice What came of the last call.
    bytes public heard;
    bool public wasRefused;

    receive() external payable {}

    function callBack(address whom, bytes calldata call, bool hides, bytes calldata answer) external {
        (_whom, _call, _hides, _answer) = (whom, call, hides, answer);
    }

    fallback() external payable {
        (bool ok, bytes memory data) = _whom.call(_call);
        (heard, wasRefused) = (data, !ok);
        if (!ok && !_hides) {
            assembly ("memory-safe") {
                revert(add(data, 32), mload(data))
            }
        }
        bytes memory answer = _answer;
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }
}
