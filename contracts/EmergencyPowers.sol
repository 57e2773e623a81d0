// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config} from "./CircuitBreaker.sol";
import {Outcome} from "./Outcome.sol";

/// @title  EmergencyPowers
/// @notice Powers that exist only until a breaker that opened closes again: a role can do in an outage what nobody may
///         do otherwise.
/// @dev    *Design.* This contract says *when*; the host says *who*, with any access control. OpenZeppelin's come
///         first:
///
///             function evacuate() external onlyRole(GUARDIAN) onlyInEmergency(_breaker) { … }   // AccessControl
///             function evacuate() external restricted onlyInEmergency(_breaker) { … }           // AccessManaged
///
///         There is an emergency while the breaker is open, half-open included, and has been since it left closed for
///         at least `minOpen` seconds. A second is the least: all of a transaction has one timestamp, so what trips
///         and what acts are never one transaction. It is over when the breaker closes; after the next trip `minOpen`
///         begins anew.
///
///         *It ends* by recovery, that is by good probes, which anyone may send and somebody should; or by the owner's
///         `reset`. `LATCH` is refused, since then only a person would end it; so is a breaker that is open for ever
///         for another reason. A trip by a person has a deadline at most `maxTrip` seconds away and is refused unless
///         the breaker is closed: nobody prolongs an emergency by tripping again, half-open included.
///
///         *Trust assumptions.* Give tripping and acting to different roles: together they are a power that can be
///         had at any time for the price of `minOpen`. The one who trips, if dishonest, takes the primary out of use
///         for `maxTrip` at a time. The one who acts, if dishonest, needs a real outage or the other one. Who can
///         make the primary fail can bring an emergency about; `minOpen` is the time in which others can object, so
///         choose it longer than they need. Whoever may configure the breaker or set roles is trusted with all of it.
abstract contract EmergencyPowers {
    using CircuitBreaker for Breaker;

    // ─── Errors ───

    /// @notice The breaker is closed: there is no emergency.
    error NoEmergency(bytes32 breaker);
    /// @notice The breaker left closed too recently. Both in seconds.
    error EmergencyTooYoung(bytes32 breaker, uint256 openFor, uint256 minOpen);
    /// @notice A breaker that stays open until a person closes it gives no powers.
    error LatchRefused();
    /// @notice A breaker that is open already, half-open included, is not for a person to trip.
    error AlreadyOpen(bytes32 breaker);
    /// @notice A person's trip lasts a second at least and `maxTrip` at most. Unix seconds.
    error UntilOutOfRange(uint40 until, uint256 min, uint256 max);
    /// @notice The wait before a power can be used, in seconds, is out of range.
    error MinOpenOutOfRange(uint32 minOpen, uint32 min, uint32 max);
    /// @notice The longest trip by a person, in seconds, is out of range.
    error MaxTripOutOfRange(uint32 maxTrip, uint32 min, uint32 max);

    // ─── Parameters ───

    /// Longer than a vote on what to do takes. A wait that outlasts every outage gives no power, and a trip beyond it
    /// does not expire in practice.
    uint32 private constant _LONGEST = 30 days;

    /// @notice Seconds that a breaker must have been open before powers can be used.
    uint32 public immutable minOpen;

    /// @notice Seconds that a trip by a person lasts at most.
    uint32 public immutable maxTrip;

    /// @param minOpen_ Seconds before powers can be used; 1 second to 30 days.
    /// @param maxTrip_ Seconds that a trip by a person lasts at most; 1 second to 30 days.
    constructor(uint32 minOpen_, uint32 maxTrip_) {
        if (minOpen_ == 0 || minOpen_ > _LONGEST) revert MinOpenOutOfRange(minOpen_, 1, _LONGEST);
        if (maxTrip_ == 0 || maxTrip_ > _LONGEST) revert MaxTripOutOfRange(maxTrip_, 1, _LONGEST);
        (minOpen, maxTrip) = (minOpen_, maxTrip_);
    }

    // ─── For hosts ───

    /// @notice The function exists only in an emergency of this breaker. Who may call it is another modifier's to say.
    modifier onlyInEmergency(Breaker storage breaker) {
        _mustBeEmergency(breaker);
        _;
    }

    /// @notice Trips a closed breaker until a time that is not far away, with cause `Forced`.
    /// @param  until Unix seconds; from the next second to `maxTrip` seconds from now.
    function _tripUntil(Breaker storage breaker, uint40 until) internal {
        // forge-lint: disable-next-line(block-timestamp) -- deadlines are in seconds; proposers move it by seconds
        if (until <= block.timestamp || until > block.timestamp + maxTrip) {
            revert UntilOutOfRange(until, block.timestamp + 1, block.timestamp + maxTrip);
        }
        if (!breaker.isClosed()) revert AlreadyOpen(breaker.id());
        _mustEnd(breaker);
        breaker.trip(until, Outcome.Forced);
    }

    /// @notice Refuses a configuration with `LATCH`: for `build` and `configure`, so that it does not show in an
    ///         emergency only.
    function _withoutLatch(Config memory config) internal pure returns (Config memory) {
        if (config.flags & CircuitBreaker.LATCH != 0) revert LatchRefused();
        return config;
    }

    // ─── Internal ───

    function _mustBeEmergency(Breaker storage breaker) private view {
        if (breaker.isClosed()) revert NoEmergency(breaker.id());
        _mustEnd(breaker);
        uint256 since = breaker.lastFailureAt;
        // A clock that runs backwards counts as no time passed.
        // forge-lint: disable-next-line(block-timestamp) -- minOpen is in seconds; proposers move it by seconds
        uint256 openFor = block.timestamp > since ? block.timestamp - since : 0;
        if (openFor < minOpen) revert EmergencyTooYoung(breaker.id(), openFor, minOpen);
    }

    /// Open for ever is also what a breaker stays that was latched before `LATCH` was taken from its configuration.
    function _mustEnd(Breaker storage breaker) private view {
        if (breaker.flags & CircuitBreaker.LATCH != 0 || breaker.retryAt == CircuitBreaker.NEVER) {
            revert LatchRefused();
        }
    }
}
