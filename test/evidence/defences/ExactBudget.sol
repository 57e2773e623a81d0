// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Defence} from "./Defence.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Ours: exactly its budget, or no call.
contract ExactBudget is Defence {
    PackedLimits private immutable _LIMITS;

    constructor(IHuman primary, uint32 budget) Defence(primary) {
        _LIMITS = GuardedCall.pack(Limits({gas: budget, reserve: 0, maxReturn: 4096, minReturn: 64}));
    }

    function ask() external override {
        bytes memory call = abi.encodeCall(IHuman.speak, ());
        (Outcome outcome,) = GuardedCall.tryStaticCall(address(_primary), call, _LIMITS);
        if (outcome != Outcome.Ok) ++failures;
    }
}
