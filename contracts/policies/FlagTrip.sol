// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "../CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "../GuardedCall.sol";
import {Outcome} from "../Outcome.sol";
import {IFlags} from "../interfaces/IFlags.sol";

/// @title  FlagTrip
/// @notice Trips a breaker when somebody else has raised a flag over its primary.
/// @dev    *Design.* A host offers `_carryFlag` to anyone: what trips is the flag, whoever carries it over. Closed
///         and half-open breakers open for one cooldown, for ever with `LATCH`; an open one is left as it is, so that
///         no stranger moves its deadline. A flag that is still raised then opens it once more. Until somebody
///         carries it over, a half-open breaker may be probed and close: a host whose `probe` begins with
///         `_carryFlag` has no such gap.
///
///         *A lowered flag does nothing.* The breaker closes by good probes, or when its owner resets it. An owner
///         who resets it while the flag is raised will see it tripped again: the flag comes first.
///
///         *Unknown is not raised.* A flag contract without code, that reverts, runs out of its budget or answers
///         anything but one truth value trips nothing; it may at most burn its budget. Too little gas to tell reverts
///         with `InsufficientGas`.
///
///         *Trust assumptions.* Whoever may raise the flag takes the primary out of use for as long as it is raised
///         and one cooldown longer, no more. The read is a static call: it changes nothing, and needs no lock, since
///         an attempt during which the breaker opens is recorded in a breaker that is open.
abstract contract FlagTrip {
    using CircuitBreaker for Breaker;

    /// @notice There is no contract at the address that flags are to be read from, so it would be unknown for ever.
    error FlagsWithoutCode(address flags);

    /// What a trip takes after the read: two accesses of the slot and an event are below 10,000.
    uint32 private constant _RESERVE = 30_000;
    /// One truth value. Longer answers are not copied, and unknown.
    uint32 private constant _ANSWER = 32;

    /// @notice Where the flags are raised.
    IFlags public immutable flags;

    PackedLimits private immutable _flagLimits;

    /// @param flags_ Where the flags are raised.
    /// @param gas    What reading one takes at most, measured cold; as in `Limits`.
    constructor(IFlags flags_, uint32 gas) {
        if (address(flags_).code.length == 0) revert FlagsWithoutCode(address(flags_));
        flags = flags_;
        _flagLimits = GuardedCall.pack(Limits({gas: gas, reserve: _RESERVE, maxReturn: _ANSWER, minReturn: _ANSWER}));
    }

    /// @notice Trips the breaker with cause `Flagged` if it is not open and the flag of `subject` is raised.
    /// @param  subject Whom the flag is about: the primary, or what the flag contract calls it.
    /// @return carried Whether that opened the breaker.
    function _carryFlag(Breaker storage breaker, address subject) internal returns (bool carried) {
        if (breaker.isOpen()) return false;
        (, carried) = _readFlag(subject);
        if (carried) breaker.trip(0, Outcome.Flagged);
    }

    /// @notice Whether the flag of `subject` is raised, as far as that is known.
    /// @return known  Whether the flag could be read.
    /// @return raised Whether it is raised; never without being known.
    function _readFlag(address subject) internal view returns (bool known, bool raised) {
        bytes memory call = abi.encodeCall(IFlags.getFlag, (subject));
        (Outcome outcome, bytes memory answer) = GuardedCall.tryStaticCall(address(flags), call, _flagLimits);
        if (outcome == Outcome.Ok) (known, raised) = GuardedCall.decodeBool(answer);
    }
}
