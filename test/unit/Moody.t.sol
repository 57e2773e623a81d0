// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Moody} from "contracts/examples/Moody.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The primary of the example: it fails on demand, and recovers.
contract MoodyTest is Test {
    Moody private moody;

    modifier givenItWasJustMade() {
        moody = new Moody("Hello");
        _;
    }

    function test_WhenItIsAsked() external givenItWasJustMade {
        assertEq(moody.speak(), "Hello");
        assertEq(moody.greeting(), "Hello");
        assertFalse(moody.isMoody());
    }

    function test_WhenAStrangerTogglesItsMood() external givenItWasJustMade {
        vm.prank(makeAddr("stranger"));
        moody.toggleMood();
        assertTrue(moody.isMoody());
    }

    modifier givenItIsInAMood() {
        moody = new Moody("Hello");
        moody.toggleMood();
        _;
    }

    function test_RevertWhen_ItIsAskedInVain() external givenItIsInAMood {
        vm.expectRevert(Moody.InAMood.selector);
        moody.speak();
    }

    function test_WhenItsMoodIsToggledAgain() external givenItIsInAMood {
        moody.toggleMood();
        assertFalse(moody.isMoody());
        assertEq(moody.speak(), "Hello");
    }
}
