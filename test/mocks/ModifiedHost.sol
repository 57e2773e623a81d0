// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "./DecoratedHost.sol";
import {ITeller} from "./ITeller.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  ModifiedHost
/// @notice Decorated functions with other modifiers around the decorator: the right order, and each wrong one.
contract ModifiedHost is DecoratedHost, Ownable, ReentrancyGuard {
    error NotYou(address you);

    uint256 public finished;
    uint256[8] private _paused;

    constructor(ITeller primary_, ITeller secondary_, Config memory config, Limits memory limits)
        DecoratedHost(primary_, secondary_, config, limits)
        Ownable(msg.sender)
    {}

    /// A check that does not know of the decorator.
    modifier onlySender() {
        if (msg.sender != owner()) revert NotYou(msg.sender);
        _;
    }

    modifier finishes() {
        _;
        ++finished;
    }

    /// Slots that nobody read before: more than the margin of a guarded call, and more than a small budget.
    modifier whenRunning() {
        for (uint256 i; i < _paused.length; ++i) {
            if (_paused[i] != 0) revert NotYou(msg.sender);
        }
        _;
    }

    // ─── Who calls ───

    function who() external faultTolerant(_breaker, address(secondary), _limits) returns (address) {
        return _caller();
    }

    function whoReads() external view faultTolerantView(_breaker, address(secondary), _limits) returns (address) {
        return _caller();
    }

    function whoElse() external view returns (address) {
        return _caller();
    }

    function onlyFor(address you) external faultTolerant(_breaker, address(secondary), _limits) {
        if (_caller() != you) revert NotYou(_caller());
    }

    // ─── Checks ───

    function ownerBefore()
        external
        onlyOwner
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function senderBefore()
        external
        onlySender
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function ownerAfter()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        onlyOwner
        returns (string memory)
    {
        return primary.speak();
    }

    function ownerInBody()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        _checkOwner();
        return primary.speak();
    }

    function runningBefore()
        external
        whenRunning
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    // ─── Locks ───

    function lockedBefore()
        external
        nonReentrant
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function lockedAfter()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        nonReentrant
        returns (string memory)
    {
        return primary.speak();
    }

    function locked() external nonReentrant returns (bool) {
        return true;
    }

    // ─── Code after the body ───

    function finishesBefore()
        external
        finishes
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function finishesAfter()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        finishes
        returns (string memory)
    {
        return primary.speak();
    }

    // ─── Calls to itself ───

    function nested()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function callsItself() external returns (string memory) {
        return this.safeAsk();
    }

    function bodyCallsDecorated()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return this.safeAsk();
    }

    function bodyReads()
        external
        faultTolerantWith(_breaker, address(secondary), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return this.read(1);
    }

    /// With whatever its caller wants behind the selector.
    function bodyCallsBare(bytes calldata data)
        external
        faultTolerant(_breaker, address(secondary), _limits)
        returns (address)
    {
        (, bytes memory answer) = address(this).call(bytes.concat(this.whoElse.selector, data));
        return abi.decode(answer, (address));
    }

    /// Makes `onlyOwner` and its like see through the decorator.
    function _msgSender() internal view override returns (address) {
        return _caller();
    }
}
