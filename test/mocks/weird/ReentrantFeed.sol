// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ICircuitBreaker} from "../../../contracts/interfaces/ICircuitBreaker.sol";
import {SettableFeed} from "../SettableFeed.sol";

/// @title  ReentrantFeed
/// @notice When asked for its decimals, calls the host back. Fails when that is refused; other failures give it
///         different decimals.
contract ReentrantFeed {
    /// @dev More than any function of a host needs, and not all there is.
    uint256 private constant _GAS = 300_000;

    SettableFeed private immutable _feed;
    address private _host;
    bytes private _call;

    constructor(SettableFeed feed) {
        _feed = feed;
    }

    function callBack(address host, bytes calldata call) external {
        _host = host;
        _call = call;
    }

    function decimals() external view returns (uint8) {
        if (_host != address(0)) {
            (bool ok, bytes memory answer) = _host.staticcall{gas: _GAS}(_call);
            if (!ok && bytes4(answer) == ICircuitBreaker.Reentered.selector) revert ICircuitBreaker.Reentered();
            if (!ok) return _feed.decimals() + 1;
        }
        return _feed.decimals();
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return _feed.latestRoundData();
    }
}
