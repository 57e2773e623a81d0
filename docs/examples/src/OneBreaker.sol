// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, State} from "fusebox/CircuitBreaker.sol";
import {ICircuitBreaker} from "fusebox/interfaces/ICircuitBreaker.sol";

/// What the keeper and others read of a host with one breaker.
abstract contract OneBreaker is ICircuitBreaker {
    using CircuitBreaker for Breaker;

    Breaker internal _breaker;

    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        _mustKnow(id);
        return (_breaker.state(), _breaker);
    }

    function supportsInterface(bytes4 id) public view virtual returns (bool) {
        return id == type(ICircuitBreaker).interfaceId || id == this.supportsInterface.selector;
    }

    function _mustKnow(bytes32 id) internal view {
        if (id != _breaker.id()) revert UnknownBreaker(id);
    }
}
