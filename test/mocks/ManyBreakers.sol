// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Chameleon, IPayee} from "./weird/Chameleon.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FREE, LOCK, lock, unlock} from "contracts/TransientLock.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {ErrorWeightTable, ErrorWeights} from "contracts/policies/ErrorWeights.sol";
import {FailureRate, FailureRing} from "contracts/policies/FailureRate.sol";

// The functions of the host, by the index of the breaker that each has for itself, which is its storage slot, too.
uint256 constant SPEAK = 0;
uint256 constant PAY = 1;
uint256 constant ASK = 2;
uint256 constant CONSULT = 3;
uint256 constant OF_HOST = 4;

/// @title  ManyBreakers
/// @notice A host with a breaker for each way to use one: decorated, decorated and payable with a share of failures,
///         decorated with another call for the backup and weights of errors, and guarded by hand.
contract ManyBreakers is FaultTolerant {
    using CircuitBreaker for Breaker;
    using ErrorWeights for ErrorWeightTable;
    using FailureRate for FailureRing;

    error NotOwner(address caller);

    uint16 public constant WEIGHT_OF_BAD_INPUT = 0;
    uint16 public constant WEIGHT_OF_BROKEN = 4;

    IPayee public immutable primary;
    IPayee public immutable backup;
    address public immutable owner = msg.sender;

    PackedLimits private immutable _limits;

    Breaker[OF_HOST] private _breakers;
    FailureRing private _ring = FailureRate.build({size: 8, minCalls: 4, shareBps: 5000});
    ErrorWeightTable private _weights;

    constructor(IPayee primary_, IPayee backup_, Limits memory limits) {
        (primary, backup) = (primary_, backup_);
        _limits = GuardedCall.pack(limits);
        _breakers[SPEAK] = CircuitBreaker.build(3, 100);
        _breakers[PAY] = CircuitBreaker.build(CircuitBreaker.safe(5, 50));
        _breakers[ASK] = CircuitBreaker.build(Config(10, 60, 1, 480, 600, 0));
        _breakers[CONSULT] = CircuitBreaker.build(CircuitBreaker.safe(2, 30));
        _weights.set(Chameleon.BadInput.selector, WEIGHT_OF_BAD_INPUT);
        _weights.set(Chameleon.Broken.selector, WEIGHT_OF_BROKEN);
    }

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    // ─── For the owner ───

    function trip(bytes32 id, uint40 until) external onlyOwner {
        _at(id).trip(until, Outcome.Forced);
    }

    function reset(bytes32 id) external onlyOwner {
        _at(id).reset();
    }

    function configure(bytes32 id, Config calldata config) external onlyOwner {
        _at(id).configure(config);
    }

    // ─── For everybody ───

    function speak() external faultTolerant(_breakers[SPEAK], address(backup), _limits) returns (string memory) {
        return primary.speak();
    }

    function pay() external payable faultTolerant(_breakers[PAY], address(backup), _limits) returns (string memory) {
        return primary.pay{value: msg.value}();
    }

    function ask()
        external
        faultTolerantWith(_breakers[ASK], address(backup), abi.encodeCall(IHuman.speak, ()), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function consult() external returns (string memory) {
        if (!_breakers[CONSULT].isOpen()) {
            bool records = !CircuitBreaker.isProbeOnly(_breakers[CONSULT].load());
            (Outcome outcome, string memory answer) = _consult(records);
            if (outcome == Outcome.Ok) return answer;
        }
        return backup.speak();
    }

    function look()
        external
        view
        faultTolerantView(_breakers[SPEAK], address(backup), _limits)
        returns (string memory)
    {
        return primary.speak();
    }

    function probe(bytes32 id) external returns (Outcome outcome) {
        Breaker storage breaker = _at(id);
        if (uint256(id) != CONSULT) return _probe(breaker, abi.encodePacked(_selectorOf(id)), _limits);
        if (breaker.isOpen()) return Outcome.NotTried;
        (outcome,) = _consult(true);
    }

    function breakers() external pure returns (bytes32[] memory ids) {
        ids = new bytes32[](OF_HOST);
        for (uint256 i; i < OF_HOST; ++i) {
            ids[i] = bytes32(i);
        }
    }

    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        Breaker storage breaker = _at(id);
        return (breaker.state(), breaker);
    }

    /// @notice Where the ring of `pay` is.
    function ringSlot() external pure returns (bytes32 slot) {
        assembly ("memory-safe") {
            slot := _ring.slot
        }
    }

    function isFree() external view returns (bool) {
        uint256 phase;
        assembly ("memory-safe") {
            phase := tload(LOCK)
        }
        return phase == FREE;
    }

    // ─── Internal ───

    function _record(Breaker storage breaker, Outcome outcome, bytes4 errorSelector) internal override {
        uint256 index = uint256(breaker.id());
        if (index == PAY) _ring.record(breaker, outcome);
        else if (index == ASK) _weights.record(breaker, outcome, errorSelector);
        else super._record(breaker, outcome, errorSelector);
    }

    function _consult(bool records) private returns (Outcome outcome, string memory answer) {
        lock();
        bytes memory data;
        (outcome, data) = GuardedCall.tryStaticCall(address(primary), abi.encodeCall(IHuman.speak, ()), _limits);
        if (outcome == Outcome.Ok) {
            bool ok;
            (ok, answer) = GuardedCall.decodeString(data);
            if (!ok) outcome = Outcome.BadReturn;
        }
        if (records && outcome == Outcome.Ok) _breakers[CONSULT].success();
        else if (records) _breakers[CONSULT].fail(outcome);
        unlock();
    }

    function _selectorOf(bytes32 id) private pure returns (bytes4) {
        if (uint256(id) == SPEAK) return this.speak.selector;
        return uint256(id) == PAY ? this.pay.selector : this.ask.selector;
    }

    function _at(bytes32 id) private view returns (Breaker storage) {
        if (uint256(id) >= OF_HOST) revert UnknownBreaker(id);
        return _breakers[uint256(id)];
    }
}
