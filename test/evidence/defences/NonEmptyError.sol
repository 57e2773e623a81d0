// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Defence} from "./Defence.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Running out of gas has no error data: so whoever has some failed for another reason.
contract NonEmptyError is Defence {
    constructor(IHuman primary) Defence(primary) {}

    function ask() external override {
        try _primary.speak() {}
        catch (bytes memory reason) {
            if (reason.length == 0) revert Starved();
            ++failures;
        }
    }
}
