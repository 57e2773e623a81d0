// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ICircuitBreaker} from "../../../contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "../../../contracts/interfaces/IHuman.sol";

/// @title  ReentrantHuman
/// @notice When asked, calls the asker back. Then it fails with what came of that, or hides it and answers.
contract ReentrantHuman is IHuman {
    /// @dev More than any function of a host needs, and not all there is: a call back that burns its gas must not
    ///      pass for one that was refused.
    uint256 private constant _GAS = 200_000;

    address private _host;
    bytes private _call;
    bool private _hides;

    function callBack(address host, bytes calldata call, bool hides) external {
        _host = host;
        _call = call;
        _hides = hides;
    }

    /// @inheritdoc IHuman
    function speak() external view returns (string memory) {
        (bool ok, bytes memory answer) = _host.staticcall{gas: _GAS}(_call);
        if (ok) return "called back";
        if (_hides) return bytes4(answer) == ICircuitBreaker.Reentered.selector ? "refused" : "burnt";
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }
}
