// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Defence} from "./Defence.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice No defence at all.
contract PlainTry is Defence {
    constructor(IHuman primary) Defence(primary) {}

    function ask() external override {
        try _primary.speak() {}
        catch {
            ++failures;
        }
    }
}
