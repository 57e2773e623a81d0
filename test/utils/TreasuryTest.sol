// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {COOLDOWN, Defaults, START} from "./Defaults.sol";
import {PolicyTest} from "./PolicyTest.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice What the treasuries have in common, whoever decides on roles.
interface ITreasury is ICircuitBreaker {
    function evacuate() external;
    function trip(uint40 until) external;
    function reset() external;
    function configure(Config calldata config) external;
    function speak() external returns (string memory);
}

/// @title  TreasuryTest
/// @notice A treasury with ether in it, three people with different rights, and the emergencies that they meet.
abstract contract TreasuryTest is PolicyTest {
    uint40 internal constant MIN_OPEN = 1 hours;
    uint40 internal constant MAX_TRIP = 1 days;
    uint256 internal constant FUNDS = 10 ether;

    address internal owner = makeAddr("owner");
    address internal tripper = makeAddr("tripper");
    address internal rescuer = makeAddr("rescuer");
    address payable internal refuge = payable(makeAddr("refuge"));

    Moody internal primary;
    Moody internal secondary;
    ITreasury internal treasury;

    function setUp() public virtual override {
        super.setUp();
        primary = new Moody("I am the primary");
        secondary = new Moody("I am the secondary");
    }

    function _use(address treasury_) internal {
        treasury = ITreasury(treasury_);
        vm.deal(treasury_, FUNDS);
        _use(treasury_, treasury.breakers()[0]);
        (, breaker) = treasury.breakerState(id);
    }

    function _config(uint8 flags) internal pure returns (Config memory config) {
        config = Defaults.config();
        config.flags = flags;
    }

    /// @dev The primary fails until the breaker opens.
    function _openByFailures() internal {
        primary.toggleMood();
        for (uint256 i; i < breaker.failureThreshold; ++i) {
            assertEq(treasury.speak(), "I am the secondary", "answer");
        }
        _becomesOpen(breaker.failureThreshold, START + COOLDOWN);
        _assertStored();
    }

    function _openByTripper() internal {
        vm.prank(tripper);
        treasury.trip(START + MAX_TRIP);
        _becomesOpen(0, START + MAX_TRIP);
        _assertOpened(Outcome.Forced);
    }

    /// @dev Good probes until it closes, by anyone.
    function _closeByProbes() internal {
        vm.warp(breaker.retryAt);
        for (uint256 i; i < breaker.successThreshold; ++i) {
            assertEq(uint8(treasury.probe(id)), uint8(Outcome.Ok), "outcome");
        }
        _becomesClosed();
        breaker.probedAt = uint8(block.timestamp);
        _assertStored();
    }

    function _evacuates() internal {
        vm.prank(rescuer);
        treasury.evacuate();
        assertEq(refuge.balance, FUNDS, "evacuated");
        assertEq(address(treasury).balance, 0, "left");
    }

    function _refuses(address caller, bytes memory reason) internal {
        vm.expectRevert(reason);
        vm.prank(caller);
        treasury.evacuate();
        assertEq(address(treasury).balance, FUNDS, "left");
    }
}
