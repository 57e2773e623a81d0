// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BothRoles} from "../mocks/BothRoles.sol";
import {RoleTreasury} from "../mocks/RoleTreasury.sol";
import {Defaults, LATCH, START} from "../utils/Defaults.sol";
import {TreasuryTest} from "../utils/TreasuryTest.sol";
import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {EmergencyPowers} from "contracts/EmergencyPowers.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice EmergencyPowers together with OpenZeppelin's AccessControl.
contract RoleTreasuryTest is TreasuryTest {
    bytes32 private constant ADMIN = 0;
    bytes32 private constant TRIPPER = keccak256("TRIPPER");
    bytes32 private constant RESCUER = keccak256("RESCUER");

    function setUp() public override {
        super.setUp();
        RoleTreasury roles = new RoleTreasury(primary, secondary, refuge, Defaults.config(), owner);
        vm.startPrank(owner);
        roles.grantRole(TRIPPER, tripper);
        roles.grantRole(RESCUER, rescuer);
        vm.stopPrank();
        _use(address(roles));
    }

    // ─── given a treasury is deployed ───

    modifier givenATreasuryIsDeployed() {
        _;
    }

    function test_RevertWhen_ItsBreakerWouldLatch() external givenATreasuryIsDeployed {
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        new RoleTreasury(primary, secondary, refuge, _config(LATCH), owner);
    }

    function test_RevertWhen_ItsOwnerWantsItToLatch() external givenATreasuryIsDeployed {
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        vm.prank(owner);
        treasury.configure(_config(LATCH));
        _assertUntouched();
    }

    function test_WhenItIsAskedWhatItIs() external view givenATreasuryIsDeployed {
        RoleTreasury roles = RoleTreasury(payable(watched));
        assertTrue(roles.supportsInterface(type(ICircuitBreaker).interfaceId), "breaker");
        assertTrue(roles.supportsInterface(type(IAccessControl).interfaceId), "access control");
        assertFalse(roles.supportsInterface(0xffffffff), "nothing");
    }

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _;
        _assertUntouched();
    }

    function test_RevertWhen_TheRescuerEvacuates() external givenItIsClosed {
        _refuses(rescuer, abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function test_RevertWhen_AnyoneButATripperTrips() external givenItIsClosed {
        address[3] memory callers = [owner, rescuer, address(this)];
        for (uint256 i; i < callers.length; ++i) {
            vm.expectRevert(_unauthorized(callers[i], TRIPPER));
            vm.prank(callers[i]);
            treasury.trip(START + 1);
        }
    }

    function test_RevertWhen_AnyoneButTheOwnerResetsOrConfigures() external givenItIsClosed {
        address[3] memory callers = [tripper, rescuer, address(this)];
        for (uint256 i; i < callers.length; ++i) {
            vm.expectRevert(_unauthorized(callers[i], ADMIN));
            vm.prank(callers[i]);
            treasury.reset();
            vm.expectRevert(_unauthorized(callers[i], ADMIN));
            vm.prank(callers[i]);
            treasury.configure(_config(0));
        }
    }

    // ─── given the primary has failed ───

    modifier givenThePrimaryHasFailed() {
        _openByFailures();
        _;
    }

    function test_RevertWhen_TheRescuerEvacuatesASecondTooEarly() external givenThePrimaryHasFailed {
        skip(MIN_OPEN - 1);
        _refuses(
            rescuer, abi.encodeWithSelector(EmergencyPowers.EmergencyTooYoung.selector, id, MIN_OPEN - 1, MIN_OPEN)
        );
    }

    function test_WhenTheRescuerEvacuatesInTime_Row23() external givenThePrimaryHasFailed {
        skip(MIN_OPEN);
        _evacuates();
        _assertStored();
    }

    function test_RevertWhen_AnyoneButARescuerEvacuatesInTime() external givenThePrimaryHasFailed {
        skip(MIN_OPEN);
        address[3] memory callers = [owner, tripper, address(this)];
        for (uint256 i; i < callers.length; ++i) {
            _refuses(callers[i], _unauthorized(callers[i], RESCUER));
        }
    }

    function test_RevertWhen_ThePrimaryHasRecoveredByThen_Row23() external givenThePrimaryHasFailed {
        primary.toggleMood();
        _closeByProbes();
        vm.warp(START + MIN_OPEN);
        _refuses(rescuer, abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function test_RevertWhen_TheOwnerHasResetItByThen_Row23() external givenThePrimaryHasFailed {
        vm.prank(owner);
        treasury.reset();
        vm.warp(START + MIN_OPEN);
        _refuses(rescuer, abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function test_RevertWhen_TheRefugeTakesNothing() external givenThePrimaryHasFailed {
        vm.etch(refuge, hex"fe"); // INVALID
        skip(MIN_OPEN);
        _refuses(rescuer, abi.encodeWithSelector(RoleTreasury.NotSent.selector));
    }

    // ─── given the tripper has tripped it ───

    modifier givenTheTripperHasTrippedIt() {
        _openByTripper();
        _;
    }

    function test_RevertWhen_TheTripperTripsAgainWhileOpen() external givenTheTripperHasTrippedIt {
        skip(MAX_TRIP - 1);
        _cannotTripAgain();
    }

    function test_RevertWhen_TheTripperTripsAgainWhileHalf_open() external givenTheTripperHasTrippedIt {
        skip(MAX_TRIP);
        _cannotTripAgain();
    }

    function test_WhenTheRescuerEvacuatesAfterTheWait() external givenTheTripperHasTrippedIt {
        skip(MIN_OPEN);
        _evacuates();
        _assertUntouched();
    }

    function test_RevertWhen_SomebodyWithBothRolesDoesBothAtOnce_Row23() external givenTheTripperHasTrippedIt {
        _closeByProbes();
        _watch();
        BothRoles both = new BothRoles();
        vm.startPrank(owner);
        RoleTreasury(payable(watched)).grantRole(TRIPPER, address(both));
        RoleTreasury(payable(watched)).grantRole(RESCUER, address(both));
        vm.stopPrank();
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.EmergencyTooYoung.selector, id, 0, MIN_OPEN));
        both.tripAndEvacuate(treasury);
        _assertStored();
    }

    function test_WhenThePrimaryWasWellAndAnyoneProbesAfterTheDeadline() external givenTheTripperHasTrippedIt {
        _closeByProbes();
        _refuses(rescuer, abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function _cannotTripAgain() private {
        vm.expectRevert(abi.encodeWithSelector(EmergencyPowers.AlreadyOpen.selector, id));
        vm.prank(tripper);
        treasury.trip(uint40(block.timestamp + 1));
        _assertUntouched();
    }

    function _unauthorized(address caller, bytes32 role) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, caller, role);
    }
}
