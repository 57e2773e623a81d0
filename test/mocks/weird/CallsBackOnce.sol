// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  CallsBackOnce
/// @notice Whatever function it is asked, it calls the asker back, once. Then it fails with what came of that, or hides
///         it and answers with it.
contract CallsBackOnce {
    /// @dev More than any function of a host needs, and not all there is: a call back that burns its gas must not
    ///      pass for one that was refused.
    uint256 private constant _GAS = 1_000_000;

    address private _host;
    bytes private _call;
    bool private _hides;
    bool private _done;

    function callBack(address host, bytes calldata call_, bool hides) external {
        (_host, _call, _hides, _done) = (host, call_, hides, false);
    }

    receive() external payable {}

    fallback() external payable {
        if (_done) return;
        _done = true;
        (bool ok, bytes memory answer) = _host.call{gas: _GAS}(_call);
        ok = ok || _hides;
        assembly ("memory-safe") {
            if iszero(ok) { revert(add(answer, 32), mload(answer)) }
            return(add(answer, 32), mload(answer))
        }
    }
}
