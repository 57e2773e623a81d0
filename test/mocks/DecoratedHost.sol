// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ITeller} from "./ITeller.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  DecoratedHost
/// @notice A host as a user would write it: each body is the unguarded call.
contract DecoratedHost is FaultTolerant {
    using CircuitBreaker for Breaker;

    ITeller public immutable primary;
    ITeller public immutable secondary;
    PackedLimits internal immutable _limits;

    Breaker internal _breaker;

    constructor(ITeller primary_, ITeller secondary_, Config memory config, Limits memory limits) {
        primary = primary_;
        secondary = secondary_;
        _limits = GuardedCall.pack(limits);
        _breaker = CircuitBreaker.build(config);
    }

    // ─── Decorated ───

    function speak() external faultTolerant(_breaker, address(secondary), _limits) returns (string memory) {
        return primary.speak();
    }

    function safeAsk()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function read(uint256 page)
        external
        view
        faultTolerantView(_breaker, address(secondary), _limits)
        returns (string memory)
    {
        return primary.read(page);
    }

    function deposit(address to)
        external
        payable
        faultTolerant(_breaker, address(secondary), _limits)
        returns (uint256)
    {
        return primary.deposit{value: msg.value}(to);
    }

    function accepts(address who) external faultTolerant(_breaker, address(secondary), _limits) returns (bool) {
        return primary.accepts(who);
    }

    function vault() external faultTolerant(_breaker, address(secondary), _limits) returns (address) {
        return primary.vault();
    }

    function change() external faultTolerant(_breaker, address(secondary), _limits) returns (int256) {
        return primary.change();
    }

    // ─── Not decorated ───

    function undecorated() external view returns (string memory) {
        return primary.speak();
    }

    // ─── Probing and reading ───

    function probe(bytes32 id) external returns (Outcome) {
        _mustKnow(id);
        return _probe(_breaker, abi.encodeCall(this.safeAsk, ()), _limits);
    }

    /// @notice Not what a host should offer: whoever chooses the call chooses the outcome.
    function probeWith(bytes calldata call) external returns (Outcome) {
        return _probe(_breaker, call, _limits);
    }

    function breaker() external view returns (Breaker memory) {
        return _breaker;
    }

    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        _mustKnow(id);
        return (_breaker.state(), _breaker);
    }

    function configure(Config calldata config) external {
        _breaker.configure(config);
    }

    function _mustKnow(bytes32 id) internal view {
        if (id != _breaker.id()) revert UnknownBreaker(id);
    }
}
