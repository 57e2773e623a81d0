// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Relay
/// @notice Passes what it is asked on to the next one, and the answer back. One more level of calls.
contract Relay {
    error NextFailed(bytes data);

    address private immutable _NEXT;
    bool private immutable _WRAPS;

    /// @param wraps Whether it puts an error into one of its own, or passes that back, too.
    constructor(address next, bool wraps) {
        _NEXT = next;
        _WRAPS = wraps;
    }

    fallback() external payable {
        (bool ok, bytes memory data) = _NEXT.call{value: msg.value}(msg.data);
        if (!ok && _WRAPS) revert NextFailed(data);
        assembly ("memory-safe") {
            switch ok
            case 0 { revert(add(data, 32), mload(data)) }
            default { return(add(data, 32), mload(data)) }
        }
    }
}
