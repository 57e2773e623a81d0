// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {EmergencyPowers} from "contracts/EmergencyPowers.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  RoleTreasury
/// @notice Holds ether that nobody can move, until the contract it depends on has been down for a while: then a rescuer
///         can send all of it to a refuge. A complete host with OpenZeppelin's AccessControl.
contract RoleTreasury is FaultTolerant, EmergencyPowers, AccessControl {
    using CircuitBreaker for Breaker;

    error NotSent();

    /// @notice May trip the breaker, for a while.
    bytes32 public constant TRIPPER = keccak256("TRIPPER");
    /// @notice May evacuate, in an emergency. Not to be given to a tripper.
    bytes32 public constant RESCUER = keccak256("RESCUER");

    IHuman public immutable primary;
    IHuman public immutable secondary;
    address payable public immutable refuge;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 100_000, reserve: 150_000, maxReturn: 0, minReturn: 0}));

    Breaker private _breaker;

    constructor(IHuman primary_, IHuman secondary_, address payable refuge_, Config memory config, address owner)
        EmergencyPowers(1 hours, 1 days)
    {
        (primary, secondary, refuge) = (primary_, secondary_, refuge_);
        _breaker = CircuitBreaker.build(_withoutLatch(config));
        _grantRole(DEFAULT_ADMIN_ROLE, owner);
    }

    receive() external payable {}

    // ─── Privileged ───

    function evacuate() external onlyRole(RESCUER) onlyInEmergency(_breaker) {
        (bool ok,) = refuge.call{value: address(this).balance}("");
        if (!ok) revert NotSent();
    }

    function trip(uint40 until) external onlyRole(TRIPPER) {
        _tripUntil(_breaker, until);
    }

    function reset() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _breaker.reset();
    }

    function configure(Config calldata config) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _breaker.configure(_withoutLatch(config));
    }

    // ─── Public ───

    function speak() external faultTolerant(_breaker, address(secondary), _limits) returns (string memory) {
        return primary.speak();
    }

    /// @inheritdoc ICircuitBreaker
    function probe(bytes32 id) external returns (Outcome) {
        if (id != _breaker.id()) revert UnknownBreaker(id);
        return _probe(_breaker, abi.encodeCall(this.speak, ()), _limits);
    }

    /// @inheritdoc ICircuitBreaker
    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    /// @inheritdoc ICircuitBreaker
    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        if (id != _breaker.id()) revert UnknownBreaker(id);
        return (_breaker.state(), _breaker);
    }

    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId || super.supportsInterface(interfaceId);
    }
}
