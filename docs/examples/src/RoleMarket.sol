// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "./DecoratedMarket.sol";
import {IOracle} from "./Market.sol";
import {OneBreaker} from "./OneBreaker.sol";
import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Breaker, CircuitBreaker, Config} from "fusebox/CircuitBreaker.sol";
import {EmergencyPowers} from "fusebox/EmergencyPowers.sol";
import {Outcome} from "fusebox/Outcome.sol";

contract RoleMarket is DecoratedMarket, EmergencyPowers, AccessControl {
    using CircuitBreaker for Breaker;

    error NotSent();

    bytes32 public constant TRIPPER = keccak256("TRIPPER");
    bytes32 public constant PROBER = keccak256("PROBER");
    bytes32 public constant RESCUER = keccak256("RESCUER");
    address payable public immutable refuge;

    // ANCHOR: constructor
    constructor(IOracle primary_, IOracle backup_, address payable refuge_, address admin)
        DecoratedMarket(primary_, backup_)
        EmergencyPowers(1 hours, 1 days)
    {
        refuge = refuge_;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
    }
    // ANCHOR_END: constructor

    receive() external payable {}

    // ANCHOR: roles
    function trip(uint40 until) external onlyRole(TRIPPER) {
        _tripUntil(_breaker, until);
    }

    function reset() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _breaker.reset();
    }

    function configure(Config calldata config) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _breaker.configure(_withoutLatch(config));
    }

    function evacuate() external onlyRole(RESCUER) onlyInEmergency(_breaker) {
        (bool ok,) = refuge.call{value: address(this).balance}("");
        if (!ok) revert NotSent();
    }

    // ANCHOR_END: roles

    // ANCHOR: probe
    function probe(bytes32 id) external override onlyRole(PROBER) returns (Outcome) {
        _mustKnow(id);
        return _probe(_breaker, abi.encodeCall(this.price, ()), _limits);
    }

    // ANCHOR_END: probe

    function supportsInterface(bytes4 id) public view override(OneBreaker, AccessControl) returns (bool) {
        return OneBreaker.supportsInterface(id) || AccessControl.supportsInterface(id);
    }
}
