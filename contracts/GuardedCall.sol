// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Outcome} from "./Outcome.sol";

/// @notice What a guarded call may use and return, in the form to read and write. `GuardedCall.pack` checks it.
/// @param  gas       The budget: exactly what the target is given. Measure it cold, and add a margin.
/// @param  reserve   Gas that must be left beside the budget, for what the host does after the call: recording, an
///                   event, the backup, and copying `maxReturn` bytes.
/// @param  maxReturn The longest answer that is accepted, in bytes; no more is ever copied.
/// @param  minReturn The shortest answer that is accepted, in bytes; 32 for a number, 64 for a string.
struct Limits {
    uint32 gas;
    uint32 reserve;
    uint32 maxReturn;
    uint32 minReturn;
}

/// @notice Checked `Limits` in one word, which fits an immutable:
///
///         | 127   96  | 95     64 | 63   32 | 31 0 |
///         | minReturn | maxReturn | reserve | gas  |
type PackedLimits is uint128;

/// @title  GuardedCall
/// @notice Calls a contract so that it can be blamed for what comes of it, and only then.
/// @dev    *Why not `try`.* A `try` reverts where the target has no code and where its answer cannot be decoded, and it
///         copies whatever it is given. Worse, whoever sends the transaction chooses the gas: a healthy target that is
///         starved fails like a broken one. No check after the call can tell the two apart once the gas ran out one
///         call deeper, and `eth_estimateGas` converges by itself on the amount at which the target starves. So the
///         target is called with *exactly its budget* or not at all: too little gas reverts with `InsufficientGas`,
///         before the call, and everything else is an outcome.
///
///         *Assumptions.* The budget was measured with all accounts and slots cold, and is enough for a healthy target.
///         The target may be hostile: it can burn its budget, and no more.
library GuardedCall {
    // ─── Errors ───

    /// @notice The transaction has too little gas for the budget, so the target cannot be blamed. Send more.
    /// @param  needed    What must be left at this point.
    /// @param  available What was left.
    error InsufficientGas(uint256 needed, uint256 available);
    /// @notice The host does not have the value to send.
    error InsufficientBalance(uint256 needed, uint256 available);
    /// @notice A budget below the stipend that comes with a value cannot be given exactly.
    error GasBudgetTooSmall(uint32 gas, uint32 min);
    /// @notice Budget and reserve do not fit a transaction, which EIP-7825 limits to 16,777,216 gas.
    /// @param  needed What a transaction would need, all in all.
    /// @param  max    What it can have.
    error GasBudgetTooLarge(uint256 needed, uint256 max);
    /// @notice No answer can be as long as the shortest and as short as the longest one.
    error MinReturnAboveMaxReturn(uint32 minReturn, uint32 maxReturn);

    // ─── Constants ───

    /// @notice The gas that the EVM adds to a call with value.
    uint32 internal constant STIPEND = 2300;

    /// @notice What a value costs the caller, of which the stipend is not the caller's to keep.
    uint256 internal constant VALUE_COST = 9000;

    /// @notice The largest gas limit of a transaction (EIP-7825).
    uint256 internal constant MAX_TRANSACTION_GAS = 16_777_216;

    /// What a host spends before the call at most: intrinsic gas, calldata, its own checks.
    uint256 private constant _AROUND = 100_000;

    /// The access cost of a cold delegate, 2,600, which the EVM takes silently from the budget of a call to an EIP-7702
    /// account, and what lies between the check and the call.
    uint256 private constant _MARGIN = 3000;

    // ─── Limits ───

    /// @notice Checks limits and packs them, for a constructor to keep in an immutable.
    function pack(Limits memory limits) internal pure returns (PackedLimits) {
        if (limits.gas < STIPEND) revert GasBudgetTooSmall(limits.gas, STIPEND);
        uint256 total = uint256(limits.gas) * 64 / 63 + limits.reserve + _AROUND;
        if (total > MAX_TRANSACTION_GAS) revert GasBudgetTooLarge(total, MAX_TRANSACTION_GAS);
        if (limits.minReturn > limits.maxReturn) {
            revert MinReturnAboveMaxReturn(limits.minReturn, limits.maxReturn);
        }
        return PackedLimits.wrap(
            uint128(limits.gas) | uint128(limits.reserve) << 32 | uint128(limits.maxReturn) << 64
                | uint128(limits.minReturn) << 96
        );
    }

    /// @notice Gas that must be left for a call with these limits to be made.
    function needed(PackedLimits limits) internal pure returns (uint256) {
        unchecked {
            // 32-bit numbers.
            uint256 budget = PackedLimits.unwrap(limits) & type(uint32).max;
            uint256 beside = PackedLimits.unwrap(limits) >> 32 & type(uint32).max;
            // The EVM keeps 1/64 of what is left from a call; rounded up.
            uint256 kept = (budget + 62) / 63;
            return budget + (beside > kept ? beside : kept) + _MARGIN;
        }
    }

    function gasOf(PackedLimits limits) internal pure returns (uint256) {
        return PackedLimits.unwrap(limits) & type(uint32).max;
    }

    function reserveOf(PackedLimits limits) internal pure returns (uint256) {
        return PackedLimits.unwrap(limits) >> 32 & type(uint32).max;
    }

    function maxReturnOf(PackedLimits limits) internal pure returns (uint256) {
        return PackedLimits.unwrap(limits) >> 64 & type(uint32).max;
    }

    function minReturnOf(PackedLimits limits) internal pure returns (uint256) {
        return PackedLimits.unwrap(limits) >> 96;
    }

    // ─── Calling ───

    /// @notice Calls with effects. Reverts with `InsufficientGas` or `InsufficientBalance`; all else is an outcome.
    /// @dev    Warning: `ReturnTooLarge` and `BadReturn` follow a call that succeeded, whose effects stand and whose
    ///         value is gone. Who cannot accept that calls inside a frame of its own, and reverts that frame.
    /// @return outcome What came of it.
    /// @return answer  The answer, or the revert data cut off at `maxReturn`; empty where nothing is to be read.
    function tryCall(address target, uint256 value, bytes memory data, PackedLimits limits)
        internal
        returns (Outcome outcome, bytes memory answer)
    {
        if (target.code.length == 0) return (Outcome.NoCode, answer);
        if (value != 0 && value > address(this).balance) {
            revert InsufficientBalance(value, address(this).balance);
        }
        mustFit(limits, value);
        uint256 budget = gasOf(limits);
        // The stipend makes it whole again.
        uint256 given = value == 0 ? budget : budget - STIPEND;
        uint256 before = gasleft();
        bool ok;
        assembly ("memory-safe") {
            ok := call(given, target, value, add(data, 32), mload(data), 0, 0)
        }
        // The target did not spend what the value cost. `mustFit` saw that there was more.
        if (value != 0) before -= VALUE_COST - STIPEND;
        return _judge(ok, before, limits);
    }

    /// @notice The same for a read: the target can change nothing.
    function tryStaticCall(address target, bytes memory data, PackedLimits limits)
        internal
        view
        returns (Outcome outcome, bytes memory answer)
    {
        if (target.code.length == 0) return (Outcome.NoCode, answer);
        if (gasleft() < needed(limits)) revert InsufficientGas(needed(limits), gasleft());
        uint256 budget = gasOf(limits);
        uint256 before = gasleft();
        bool ok;
        assembly ("memory-safe") {
            ok := staticcall(budget, target, add(data, 32), mload(data), 0, 0)
        }
        return _judge(ok, before, limits);
    }

    /// @notice Reverts unless a call can be given exactly its budget, and its value.
    function mustFit(PackedLimits limits, uint256 value) internal view {
        uint256 wanted = needed(limits);
        if (value != 0) wanted += VALUE_COST;
        if (gasleft() < wanted) revert InsufficientGas(wanted, gasleft());
    }

    /// What came of a call, told from its success, its return data and the gas it left.
    function _judge(bool ok, uint256 before, PackedLimits limits)
        private
        view
        returns (Outcome outcome, bytes memory answer)
    {
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        uint256 max = PackedLimits.unwrap(limits) >> 64 & type(uint32).max;
        if (!ok) {
            outcome = blame(before, gasOf(limits));
            if (size > max) size = max;
        } else if (size > max) {
            return (Outcome.ReturnTooLarge, answer);
        } else if (size < PackedLimits.unwrap(limits) >> 96) {
            return (Outcome.BadReturn, answer);
        }
        assembly ("memory-safe") {
            answer := mload(0x40)
            mstore(answer, size)
            returndatacopy(add(answer, 32), 0, size)
            mstore(0x40, add(answer, and(add(size, 63), not(31))))
        }
    }

    /// @notice What a call that just failed is to be blamed for.
    /// @param  before What `gasleft()` was before the call.
    /// @param  budget What it was given.
    function blame(uint256 before, uint256 budget) internal view returns (Outcome) {
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        // An exceptional halt has no data and leaves nothing. A bare `revert()` has none either, and leaves gas.
        if (size != 0) return Outcome.Reverted;
        unchecked {
            // gasleft only falls.
            return before - gasleft() > budget - budget / 16 ? Outcome.BudgetSpent : Outcome.Reverted;
        }
    }

    // ─── Reading an answer ───

    /// @notice A number, or `ok` false where the answer is shorter.
    function decodeUint256(bytes memory answer) internal pure returns (bool ok, uint256 value) {
        if (answer.length < 32) return (false, 0);
        assembly ("memory-safe") {
            value := mload(add(answer, 32))
        }
        return (true, value);
    }

    /// @notice A signed number, or `ok` false where the answer is shorter.
    function decodeInt256(bytes memory answer) internal pure returns (bool ok, int256 value) {
        uint256 word;
        (ok, word) = decodeUint256(answer);
        // forge-lint: disable-next-line(unsafe-typecast) -- the same 256 bits, read as two's complement
        value = int256(word);
    }

    /// @notice A truth value, or `ok` false where the answer is shorter or neither 0 nor 1.
    function decodeBool(bytes memory answer) internal pure returns (bool ok, bool value) {
        uint256 word;
        (ok, word) = decodeUint256(answer);
        if (word > 1) return (false, false);
        value = word == 1;
    }

    /// @notice An address, or `ok` false where the answer is shorter or has more than 160 bits.
    function decodeAddress(bytes memory answer) internal pure returns (bool ok, address value) {
        uint256 word;
        (ok, word) = decodeUint256(answer);
        if (word > type(uint160).max) return (false, address(0));
        // forge-lint: disable-next-line(unsafe-typecast) -- at most 160 bits, see above
        value = address(uint160(word));
    }

    /// @notice A string, or `ok` false where offset or length do not lie in the answer.
    /// @dev    The string points into the answer; it is not copied.
    function decodeString(bytes memory answer) internal pure returns (bool ok, string memory value) {
        uint256 size = answer.length;
        if (size < 64) return (false, value);
        uint256 offset;
        assembly ("memory-safe") {
            offset := mload(add(answer, 32))
        }
        unchecked {
            // size ≥ 64; an offset of at most size − 32 leaves room for the length.
            size -= 32;
            if (offset > size) return (false, value);
            assembly ("memory-safe") {
                value := add(add(answer, 32), offset)
            }
            if (bytes(value).length > size - offset) return (false, "");
        }
        ok = true;
    }
}
