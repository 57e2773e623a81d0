// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {EmergencyPowers} from "contracts/EmergencyPowers.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  ManagedTreasury
/// @notice The same treasury with OpenZeppelin's AccessManager: which role may call what is set there, so nothing here
///         names one. `restricted` comes first: it looks at the function that entered the contract.
contract ManagedTreasury is FaultTolerant, EmergencyPowers, AccessManaged {
    using CircuitBreaker for Breaker;

    error NotSent();

    IHuman public immutable primary;
    IHuman public immutable secondary;
    address payable public immutable refuge;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 100_000, reserve: 150_000, maxReturn: 0, minReturn: 0}));

    Breaker private _breaker;

    constructor(IHuman primary_, IHuman secondary_, address payable refuge_, Config memory config, address manager)
        EmergencyPowers(1 hours, 1 days)
        AccessManaged(manager)
    {
        (primary, secondary, refuge) = (primary_, secondary_, refuge_);
        _breaker = CircuitBreaker.build(_withoutLatch(config));
    }

    receive() external payable {}

    // ─── Privileged ───

    /// @notice For the role of rescuers, in an emergency. Not to be the role of trippers.
    function evacuate() external restricted onlyInEmergency(_breaker) {
        (bool ok,) = refuge.call{value: address(this).balance}("");
        if (!ok) revert NotSent();
    }

    /// @notice For the role of trippers.
    function trip(uint40 until) external restricted {
        _tripUntil(_breaker, until);
    }

    /// @notice For the admin of the manager, like everything that was given to no role.
    function reset() external restricted {
        _breaker.reset();
    }

    function configure(Config calldata config) external restricted {
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

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId || interfaceId == this.supportsInterface.selector;
    }
}
