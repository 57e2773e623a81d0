// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Defence} from "./Defence.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice What is left after the call is what the EVM kept from it: so the call had used up all it was given.
contract SixtyFourth is Defence {
    constructor(IHuman primary) Defence(primary) {}

    function ask() external override {
        uint256 before = gasleft();
        try _primary.speak() {}
        catch {
            if (gasleft() <= before / 64) revert Starved();
            ++failures;
        }
    }
}
