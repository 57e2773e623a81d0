// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Stoic} from "contracts/examples/Stoic.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The secondary of the example: nothing makes it fail.
contract StoicTest is Test {
    function test_WhenItIsAskedByAnyone() external {
        Stoic stoic = new Stoic("Hello");
        vm.prank(makeAddr("anyone"));
        assertEq(stoic.speak(), "Hello");
        assertEq(stoic.greeting(), "Hello");
    }
}
