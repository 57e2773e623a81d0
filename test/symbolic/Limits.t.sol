// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";

/// @notice The arithmetic that decides whether a primary can be blamed: 32-bit numbers in one word, and how much gas
///         must be left so that the EVM gives the primary all of its budget.
contract LimitsProofs {
    using GuardedCall for PackedLimits;

    /// What lies between the check and the call, and a cold delegate: GuardedCall says how much it keeps for that.
    uint256 private constant MARGIN = 3000;

    function check_WhatIsPackedReadsBack(Limits memory limits) external view {
        try this.pack(limits) returns (PackedLimits packed) {
            assert(packed.gasOf() == limits.gas);
            assert(packed.reserveOf() == limits.reserve);
            assert(packed.maxReturnOf() == limits.maxReturn);
            assert(packed.minReturnOf() == limits.minReturn);
        } catch {}
    }

    function check_PackRefusesWhatCannotBeGiven(Limits memory limits) external view {
        bool canBeGiven = limits.gas >= 2300 && limits.minReturn <= limits.maxReturn
            && uint256(limits.gas) * 64 / 63 + limits.reserve + 100_000 <= 16_777_216;
        try this.pack(limits) {
            assert(canBeGiven);
        } catch {
            assert(!canBeGiven);
        }
    }

    /// With the gas that is asked for, the EVM, which keeps a 64th, gives the budget in full; the margin is spent then.
    /// With more as well: what is left less a 64th only grows with what is left.
    function check_TheBudgetIsGivenInFull(uint24 gas, uint24 reserve) external pure {
        uint256 left = _limits(gas, reserve).needed() - MARGIN;
        assert(left - left / 64 >= gas);
    }

    /// And when the primary has spent all of its budget, the reserve is there.
    function check_TheReserveIsLeft(uint24 gas, uint24 reserve) external pure {
        assert(_limits(gas, reserve).needed() - MARGIN - gas >= reserve);
    }

    /// No more than that is asked for: what is kept beside the budget is the larger of the reserve and the 64th,
    function check_TheLargerOfReserveAnd64thIsKept(uint24 gas, uint24 reserve) external pure {
        uint256 withheld = _limits(gas, 0).needed() - MARGIN - gas;
        uint256 kept = _limits(gas, reserve).needed() - MARGIN - gas;
        assert(kept == (reserve > withheld ? reserve : withheld));
    }

    /// and the 64th of what is left is the 63rd of the budget, rounded up. So it grows with the budget.
    function check_The64thIsRoundedUp(uint24 gas) external pure {
        uint256 withheld = _limits(gas, 0).needed() - MARGIN - gas;
        assert(withheld * 63 >= gas);
        assert(withheld * 63 < uint256(gas) + 63);
    }

    /// The lengths of an answer have no part in it.
    function check_LengthsNeedNoGas(uint24 gas, uint24 reserve, uint64 lengths) external pure {
        PackedLimits limits = PackedLimits.wrap(uint128(lengths) << 64 | uint128(reserve) << 32 | gas);
        assert(limits.needed() == _limits(gas, reserve).needed());
    }

    function pack(Limits memory limits) external pure returns (PackedLimits) {
        return GuardedCall.pack(limits);
    }

    function _limits(uint256 gas, uint256 reserve) private pure returns (PackedLimits) {
        return PackedLimits.wrap(uint128(reserve << 32 | gas));
    }
}
