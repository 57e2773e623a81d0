// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ManagedMarket} from "../src/ManagedMarket.sol";
import {ModifiedMarket} from "../src/ModifiedMarket.sol";
import {Oracle} from "../src/Oracle.sol";
import {RoleMarket} from "../src/RoleMarket.sol";
import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";
import {IAccessManaged} from "@openzeppelin/contracts/access/manager/IAccessManaged.sol";
import {Test} from "forge-std/Test.sol";
import {State} from "fusebox/CircuitBreaker.sol";
import {EmergencyPowers} from "fusebox/EmergencyPowers.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {ICircuitBreaker} from "fusebox/interfaces/ICircuitBreaker.sol";

abstract contract PowersTest is Test {
    Oracle internal primary = new Oracle(2000);
    Oracle internal backup = new Oracle(1990);
    address internal stranger = makeAddr("stranger");

    function _state(ICircuitBreaker host) internal view returns (State state) {
        (state,) = host.breakerState(host.breakers()[0]);
    }
}

contract RolesTest is PowersTest {
    address private _tripper = makeAddr("tripper");
    address private _rescuer = makeAddr("rescuer");
    address payable private _refuge = payable(makeAddr("refuge"));
    RoleMarket private _market = new RoleMarket(primary, backup, _refuge, address(this));

    function setUp() external {
        _market.grantRole(_market.TRIPPER(), _tripper);
        _market.grantRole(_market.RESCUER(), _rescuer);
        vm.deal(address(_market), 1 ether);
    }

    function test_AStrangerMayDoNothing() external {
        bytes32 role = _market.TRIPPER();
        vm.expectRevert(
            abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, stranger, role)
        );
        vm.prank(stranger);
        _market.trip(uint40(block.timestamp + 1 hours));
    }

    function test_AStrangerMayNotProbe() external {
        bytes32 id = _market.breakers()[0];
        bytes32 role = _market.PROBER();
        vm.expectRevert(
            abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, stranger, role)
        );
        vm.prank(stranger);
        _market.probe(id);
        _market.grantRole(role, stranger);
        vm.prank(stranger);
        assertTrue(_market.probe(id) == Outcome.Ok);
    }

    /// A trip of 300 seconds: two hours later the breaker is half-open, and the power is there.
    function test_ThePowerOutlastsTheTrip() external {
        vm.prank(_tripper);
        _market.trip(uint40(block.timestamp + 300));
        skip(2 hours);
        assertTrue(_state(_market) == State.HalfOpen);
        vm.prank(_rescuer);
        _market.evacuate();
        assertEq(_refuge.balance, 1 ether);
    }

    /// With nobody to probe it is there a year later as well.
    function test_OnlyProbesOrAResetEndIt() external {
        vm.prank(_tripper);
        _market.trip(uint40(block.timestamp + 300));
        skip(365 days);
        vm.prank(_rescuer);
        _market.evacuate();

        bytes32 id = _market.breakers()[0];
        _market.grantRole(_market.PROBER(), address(this));
        for (uint256 i = 0; i < 2; ++i) {
            assertTrue(_market.probe(id) == Outcome.Ok);
            skip(12);
        }
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
        vm.prank(_rescuer);
        _market.evacuate();
    }

    function test_ATripNeedsADeadline() external {
        uint256 time = block.timestamp;
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.UntilOutOfRange.selector, 0, time + 1, time + 1 days));
        vm.prank(_tripper);
        _market.trip(0);
    }

    function test_ThePowerComesAfterAnHourAndEnds() external {
        vm.prank(_tripper);
        _market.trip(uint40(block.timestamp + 2 hours));
        bytes32 id = _market.breakers()[0];

        skip(1 hours - 1);
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.EmergencyTooYoung.selector, id, 1 hours - 1, 1 hours));
        vm.prank(_rescuer);
        _market.evacuate();

        skip(1);
        vm.prank(_rescuer);
        _market.evacuate();
        assertEq(_refuge.balance, 1 ether);

        _market.reset();
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
        vm.prank(_rescuer);
        _market.evacuate();
    }
}

contract ManagedTest is PowersTest {
    function test_TheManagerSaysWho() external {
        AccessManager manager = new AccessManager(address(this));
        ManagedMarket market = new ManagedMarket(primary, backup, address(manager));

        bytes4[] memory functions = new bytes4[](1);
        functions[0] = ManagedMarket.trip.selector;
        manager.setTargetFunctionRole(address(market), functions, 1);
        manager.grantRole(1, stranger, 0);

        vm.startPrank(stranger);
        market.trip(0);
        assertTrue(_state(market) == State.Open);
        vm.expectRevert(abi.encodeWithSelector(IAccessManaged.AccessManagedUnauthorized.selector, stranger));
        market.reset();
        vm.stopPrank();
        market.reset();
        assertTrue(_state(market) == State.Closed);
    }
}

contract OrderOfModifiersTest is PowersTest {
    function test_AStrangerIsRefusedAndNothingIsCounted() external {
        ModifiedMarket market = new ModifiedMarket(primary, backup);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, stranger));
        vm.prank(stranger);
        market.update();

        assertEq(market.update(), 2000);
        primary.setDown(true);
        assertEq(market.update(), 1990);
        assertEq(market.update(), 1990, "and the lock is free");
    }
}
