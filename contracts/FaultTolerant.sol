// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker} from "./CircuitBreaker.sol";
import {GuardedCall, PackedLimits} from "./GuardedCall.sol";
import {Outcome} from "./Outcome.sol";
import {ASK, EXPECT, FREE, LOCK, RUN} from "./TransientLock.sol";
import {ICircuitBreaker} from "./interfaces/ICircuitBreaker.sol";

/// @title  FaultTolerant
/// @notice The decorator: a function whose body is the unguarded call, and nothing else, survives what that call does.
/// @dev    *How.* The outer frame calls the same function once more, on itself, with exactly the budget. So whatever
///         goes wrong in the body (a revert, no code, an answer that cannot be decoded, no gas left) is one failed
///         call. It is recorded; its effects and its value have come back with it. Then the backup is called, and its
///         bytes are returned untouched. The arguments of the modifiers are evaluated in both frames: immutables only.
///
///         *Warning: other modifiers.* The outer frame returns in assembly. So what a modifier before this one has
///         after its `_` never runs, and what it has before runs twice, the second time with the host as
///         `msg.sender`. Only checks that use `_caller()` belong there. `nonReentrant` before it bricks the host; it
///         goes after it. A check in the body is an outcome that anyone can cause.
///
///         *Warning: calls.* A host never calls its own decorated functions, and they do not nest: `Reentered`; a
///         decorated view that it calls is its bare body. A primary that is itself guarded needs a budget above its
///         own `needed`. A primary that sends value back to its caller is not supported.
///
///         *Warning: long answers.* The outer frame copies the answer after the budget was spent on it. So where the
///         primary chooses how long it is, `reserve` is at least a seventh of `gas`: a caller who sends no more than
///         what is needed would otherwise run out of gas there, with nothing recorded.
// slither-disable-start incorrect-return,return-leave -- its frames end in assembly, see *How*, and nothing may follow
// slither-disable-start msg-value-in-nonpayable -- whether a decorated function is payable is for the host to say
abstract contract FaultTolerant is ICircuitBreaker {
    using CircuitBreaker for Breaker;
    using GuardedCall for PackedLimits;

    /// What a decorated function answers when the host asks whether it is one.
    uint256 private constant _DECORATED = uint256(keccak256("fusebox.decorated"));

    /// Enough for a dispatcher, the decoding of arguments and the checks before the decorator; a body that was reached
    /// by mistake stops here.
    uint256 private constant _ASK_GAS = 50_000;

    /// What must be left to ask: a 64th is kept, and something is spent on the way.
    uint256 private constant _ASK_NEEDED = 52_000;

    // The lock during an attempt, high bits to low:
    //
    // | 255      224 | 223 168 | 167  8 | 7   0 |
    // | its selector | unused  | caller | phase |
    //
    // Nobody but the outer frame can have written the caller here; behind the calldata, a body that passes on bytes of
    // its caller's choice could be made to say anyone. The selector is there since a primary can have the host call
    // itself, if the host has a batch or the like: only the frame that was called as the attempt is the attempt.
    uint256 private constant _PHASE = type(uint8).max;
    uint256 private constant _CALLER_AT = 8;
    uint256 private constant _SELECTOR = 0xffffffff00000000000000000000000000000000000000000000000000000000;

    // ─── Decorators ───

    /// @notice The backup implements the decorated function itself: same name, same parameters.
    modifier faultTolerant(Breaker storage breaker, address backup, PackedLimits limits) {
        if (msg.sender == address(this)) {
            _enter();
        } else {
            (uint256 data, uint256 size) = _attempt(breaker, limits);
            _answer(backup, data, size);
        }
        _;
    }

    /// @notice The backup is called differently.
    modifier faultTolerantWith(Breaker storage breaker, address backup, bytes memory backupCall, PackedLimits limits) {
        if (msg.sender == address(this)) {
            _enter();
        } else {
            _attempt(breaker, limits);
            uint256 data;
            assembly ("memory-safe") {
                data := add(backupCall, 32)
            }
            _answer(backup, data, backupCall.length);
        }
        _;
    }

    /// @notice For views: the breaker is respected, nothing is recorded and nothing is locked.
    /// @dev    In the body `_caller()` is the host.
    modifier faultTolerantView(Breaker storage breaker, address backup, PackedLimits limits) {
        if (_isOuterView()) _read(breaker, backup, limits);
        _;
    }

    // ─── For hosts ───

    /// @notice Who called the decorated function: what `msg.sender` would be without the decorator. In a probe it is
    ///         the host, never the prober.
    function _caller() internal view returns (address sender) {
        if (msg.sender != address(this)) return msg.sender;
        uint256 held = _held();
        // forge-lint: disable-next-line(unsafe-typecast) -- the other bits are not the caller's
        if (bytes4(bytes32(held)) == msg.sig) sender = address(uint160(held >> _CALLER_AT));
        // Nobody called a probe, or what else the host calls on itself.
        if (sender == address(0)) sender = address(this);
    }

    /// @notice Where policies plug in: what becomes of an outcome.
    /// @dev    The lock is held. It must not revert: that would take the host down with its primary. If it calls
    ///         somebody, then statically: after a failed attempt a body could be entered once more, unrecorded.
    /// @param  errorSelector The first four bytes of the revert data; zero where there are fewer.
    function _record(Breaker storage breaker, Outcome outcome, bytes4 errorSelector) internal virtual {
        errorSelector;
        if (outcome == Outcome.Ok) breaker.success();
        else breaker.fail(outcome, 1);
    }

    /// @notice Runs the body of a decorated function alone, and records what came of it. While open it calls nothing.
    /// @param  data The call, with its selector; fixed by the host, so that nobody chooses an input that fails.
    function _probe(Breaker storage breaker, bytes memory data, PackedLimits limits)
        internal
        returns (Outcome outcome)
    {
        if (breaker.isOpen()) return Outcome.NotTried;
        if (_held() != FREE) revert Reentered();
        assembly ("memory-safe") {
            tstore(LOCK, ASK)
        }
        // Too little gas for the question must not look like a function that is not decorated.
        if (gasleft() < _ASK_NEEDED) revert GuardedCall.InsufficientGas(_ASK_NEEDED, gasleft());
        if (!_isDecorated(data)) revert NotDecorated();

        assembly ("memory-safe") {
            tstore(LOCK, EXPECT)
        }
        uint256 input;
        assembly ("memory-safe") {
            input := add(data, 32)
        }
        // After the question, which is not paid for by the budget.
        limits.mustFit(0);
        uint256 before = gasleft();
        if (_callSelf(limits, 0, input, data.length)) _record(breaker, Outcome.Ok, 0);
        else outcome = _recordFailure(breaker, before, limits);
        assembly ("memory-safe") {
            tstore(LOCK, FREE)
        }
    }

    // ─── Frames ───

    /// The host's own call enters here once, and goes on to the body.
    function _enter() private {
        uint256 held;
        assembly ("memory-safe") {
            held := tload(LOCK)
        }
        if (held & _PHASE != EXPECT) {
            if (held == ASK) _sayDecorated();
            revert Reentered();
        }
        assembly ("memory-safe") {
            // All but the phase stays.
            tstore(LOCK, add(held, sub(RUN, EXPECT)))
        }
    }

    function _isOuterView() private view returns (bool) {
        if (msg.sender != address(this)) return true;
        if (_held() == ASK) _sayDecorated();
        return false;
    }

    function _sayDecorated() private pure {
        uint256 answer = _DECORATED;
        assembly ("memory-safe") {
            mstore(0, answer)
            return(0, 32)
        }
    }

    function _isDecorated(bytes memory data) private view returns (bool yes) {
        uint256 expected = _DECORATED;
        assembly ("memory-safe") {
            mstore(0, 0)
            let ok := staticcall(_ASK_GAS, address(), add(data, 32), mload(data), 0, 32)
            yes := and(ok, and(eq(returndatasize(), 32), eq(mload(0), expected)))
        }
    }

    /// The outer frame up to the backup. Returns the call as it came, where the primary did not answer; otherwise it
    /// does not return.
    function _attempt(Breaker storage breaker, PackedLimits limits) private returns (uint256 data, uint256 size) {
        assembly ("memory-safe") {
            data := mload(0x40)
            size := calldatasize()
            calldatacopy(data, 0, size)
            mstore(0x40, add(data, and(add(size, 31), not(31))))
        }
        uint256 word = breaker.load();
        if (CircuitBreaker.isOpenAt(word, block.timestamp)) return (data, size);

        // First, since a re-entrant call has too little gas as well.
        uint256 held;
        assembly ("memory-safe") {
            held := tload(LOCK)
        }
        if (held != FREE) revert Reentered();
        assembly ("memory-safe") {
            tstore(LOCK, or(and(calldataload(0), _SELECTOR), or(shl(_CALLER_AT, caller()), EXPECT)))
        }
        limits.mustFit(msg.value);
        uint256 before = gasleft();
        if (_callSelf(limits, msg.value, data, size)) {
            // Kept before the record, which may call somebody and lose it.
            uint256 answer;
            uint256 length;
            assembly ("memory-safe") {
                answer := mload(0x40)
                length := returndatasize()
                returndatacopy(answer, 0, length)
                mstore(0x40, add(answer, and(add(length, 31), not(31))))
            }
            if (!CircuitBreaker.isProbeOnly(word)) _record(breaker, Outcome.Ok, 0);
            assembly ("memory-safe") {
                tstore(LOCK, FREE)
                return(answer, length)
            }
        }
        // The attempt did not spend what the value cost. `mustFit` saw that there was more.
        if (msg.value != 0) before -= GuardedCall.VALUE_COST - GuardedCall.STIPEND;
        if (!CircuitBreaker.isProbeOnly(word)) _recordFailure(breaker, before, limits);
        assembly ("memory-safe") {
            tstore(LOCK, FREE)
        }
    }

    /// The attempt itself. Its return data is left where it is.
    function _callSelf(PackedLimits limits, uint256 value, uint256 data, uint256 size) private returns (bool ok) {
        uint256 budget = limits.gasOf();
        if (value != 0) budget -= GuardedCall.STIPEND;
        assembly ("memory-safe") {
            ok := call(budget, address(), value, data, size, 0, 0)
        }
    }

    function _recordFailure(Breaker storage breaker, uint256 before, PackedLimits limits)
        private
        returns (Outcome outcome)
    {
        outcome = GuardedCall.blame(before, limits.gasOf());
        bytes4 selector;
        assembly ("memory-safe") {
            // Shorter data is no selector.
            if gt(returndatasize(), 3) {
                mstore(0, 0)
                returndatacopy(0, 0, 4)
                selector := mload(0)
            }
        }
        _record(breaker, outcome, selector);
    }

    /// The backup's answer, whatever it is. Does not return.
    function _answer(address backup, uint256 data, uint256 size) private {
        bool ok;
        assembly ("memory-safe") {
            ok := call(gas(), backup, callvalue(), data, size, 0, 0)
        }
        _return(ok, backup);
    }

    function _read(Breaker storage breaker, address backup, PackedLimits limits) private view {
        uint256 data;
        uint256 size;
        assembly ("memory-safe") {
            data := mload(0x40)
            size := calldatasize()
            calldatacopy(data, 0, size)
            mstore(0x40, add(data, and(add(size, 31), not(31))))
        }
        if (!breaker.isOpen()) {
            limits.mustFit(0);
            uint256 budget = limits.gasOf();
            assembly ("memory-safe") {
                if staticcall(budget, address(), data, size, 0, 0) {
                    let answer := mload(0x40)
                    returndatacopy(answer, 0, returndatasize())
                    return(answer, returndatasize())
                }
            }
        }
        bool ok;
        assembly ("memory-safe") {
            ok := staticcall(gas(), backup, data, size, 0, 0)
        }
        _return(ok, backup);
    }

    /// Ends the outer frame with what the backup said. A backup without code says nothing and succeeds.
    function _return(bool ok, address backup) private view {
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        if (size == 0) {
            if (ok && backup.code.length == 0) revert NoBackup(backup);
        }
        assembly ("memory-safe") {
            let answer := mload(0x40)
            returndatacopy(answer, 0, size)
            switch ok
            case 0 { revert(answer, size) }
            default { return(answer, size) }
        }
    }

    /// The lock, whole.
    function _held() private view returns (uint256 held) {
        assembly ("memory-safe") {
            held := tload(LOCK)
        }
    }
}
// slither-disable-end msg-value-in-nonpayable
// slither-disable-end incorrect-return,return-leave
