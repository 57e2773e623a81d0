// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Breaker, CircuitBreaker, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerant} from "contracts/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Its owner is asked for by `_caller()`, and anyone may have it call itself, as a batch does. Without the
///         decorator that is harmless: such a call comes from the host, which is nobody.
contract BatchHost is FaultTolerant, Ownable {
    using CircuitBreaker for Breaker;

    IHuman public immutable primary;
    IHuman public immutable backup;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 400_000, reserve: 100_000, maxReturn: 0, minReturn: 0}));

    Breaker private _breaker = CircuitBreaker.build(3, 100);

    constructor(IHuman primary_, IHuman backup_) Ownable(msg.sender) {
        (primary, backup) = (primary_, backup_);
    }

    /// The primary's `speak` changes things, so it is not called as the view that the interface says it is.
    function speak() external faultTolerant(_breaker, address(backup), _limits) returns (string memory) {
        (bool ok, bytes memory answer) = address(primary).call(abi.encodeCall(IHuman.speak, ()));
        require(ok);
        return abi.decode(answer, (string));
    }

    function execute(bytes calldata call) external returns (bytes memory answer) {
        bool ok;
        (ok, answer) = address(this).call(call);
        if (ok) return answer;
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }

    function whoCalls() external view returns (address) {
        return _caller();
    }

    function probe(bytes32 id) external returns (Outcome) {
        if (id != _breaker.id()) revert UnknownBreaker(id);
        return _probe(_breaker, abi.encodeCall(this.speak, ()), _limits);
    }

    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    function breakerState(bytes32) external view returns (State, Breaker memory) {
        return (_breaker.state(), _breaker);
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId;
    }

    function _msgSender() internal view override returns (address) {
        return _caller();
    }
}
