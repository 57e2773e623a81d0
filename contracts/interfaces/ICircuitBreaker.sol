// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, State} from "../CircuitBreaker.sol";
import {Outcome} from "../Outcome.sol";

/// @title  ICircuitBreaker
/// @notice What a contract with circuit breakers offers to whoever watches and probes it. Announced by ERC-165.
/// @dev    Half-open is time passing, so it emits no event: watchers derive it from `retryAt`. The events are those of
///         the library `CircuitBreaker`.
interface ICircuitBreaker {
    /// @notice There is no breaker with this id here; `breakers()` lists those there are.
    error UnknownBreaker(bytes32 breaker);

    /// @notice A call that records came in during another one of this contract.
    error Reentered();

    /// @notice The function that `probe` calls is not decorated, so nothing that came of it could be blamed on a
    ///         primary.
    error NotDecorated();

    /// @notice The backup was needed, and there is no contract at its address.
    error NoBackup(address backup);

    /// @notice The ids of all breakers of this contract, those that never tripped included. An id is a storage slot.
    function breakers() external view returns (bytes32[] memory);

    /// @notice A breaker's state now, and all that is stored of it. Reverts with `UnknownBreaker`, and with
    ///         `BreakerNotConfigured` before it was configured.
    function breakerState(bytes32 breaker) external view returns (State state, Breaker memory stored);

    /// @notice Tries the primary and records what came of it, without needing a backup. Open to anyone.
    /// @dev    Reverts only with `InsufficientGas`, `UnknownBreaker`, `BreakerNotConfigured`, `Reentered` or
    ///         `NotDecorated`; whatever the primary does is an outcome.
    /// @param  breaker The breaker to probe.
    /// @return outcome What came of it; `NotTried` while the breaker is open, when nothing is called.
    function probe(bytes32 breaker) external returns (Outcome outcome);
}
