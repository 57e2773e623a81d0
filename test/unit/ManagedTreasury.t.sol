// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ManagedTreasury} from "../mocks/ManagedTreasury.sol";
import {Defaults, LATCH, START} from "../utils/Defaults.sol";
import {ITreasury, TreasuryTest} from "../utils/TreasuryTest.sol";
import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";
import {IAccessManaged} from "@openzeppelin/contracts/access/manager/IAccessManaged.sol";
import {IAccessManager} from "@openzeppelin/contracts/access/manager/IAccessManager.sol";
import {EmergencyPowers} from "contracts/EmergencyPowers.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice EmergencyPowers together with OpenZeppelin's AccessManager.
contract ManagedTreasuryTest is TreasuryTest {
    uint64 private constant TRIPPERS = 1;
    uint64 private constant RESCUERS = 2;
    bytes private constant EVACUATE = abi.encodeCall(ITreasury.evacuate, ());

    AccessManager private manager;

    function setUp() public override {
        super.setUp();
        manager = new AccessManager(owner);
        _use(address(new ManagedTreasury(primary, secondary, refuge, Defaults.config(), address(manager))));
        vm.startPrank(owner);
        manager.grantRole(TRIPPERS, tripper, 0);
        manager.grantRole(RESCUERS, rescuer, 0);
        manager.setTargetFunctionRole(watched, _only(ITreasury.trip.selector), TRIPPERS);
        manager.setTargetFunctionRole(watched, _only(ITreasury.evacuate.selector), RESCUERS);
        vm.stopPrank();
        _watch();
    }

    // ─── given a treasury is deployed ───

    modifier givenATreasuryIsDeployed() {
        _;
    }

    function test_RevertWhen_ItsBreakerWouldLatch() external givenATreasuryIsDeployed {
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        new ManagedTreasury(primary, secondary, refuge, _config(LATCH), address(manager));
    }

    function test_RevertWhen_TheAdminWantsItToLatch() external givenATreasuryIsDeployed {
        vm.expectRevert(EmergencyPowers.LatchRefused.selector);
        vm.prank(owner);
        treasury.configure(_config(LATCH));
        _assertUntouched();
    }

    function test_WhenItIsAskedWhatItIs() external view givenATreasuryIsDeployed {
        ManagedTreasury managed = ManagedTreasury(payable(watched));
        assertTrue(managed.supportsInterface(type(ICircuitBreaker).interfaceId), "breaker");
        assertTrue(managed.supportsInterface(0x01ffc9a7), "ERC-165");
        assertFalse(managed.supportsInterface(0xffffffff), "nothing");
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
            vm.expectRevert(_unauthorized(callers[i]));
            vm.prank(callers[i]);
            treasury.trip(START + 1);
        }
    }

    function test_RevertWhen_AnyoneButTheAdminResetsOrConfigures() external givenItIsClosed {
        address[3] memory callers = [tripper, rescuer, address(this)];
        for (uint256 i; i < callers.length; ++i) {
            vm.expectRevert(_unauthorized(callers[i]));
            vm.prank(callers[i]);
            treasury.reset();
            vm.expectRevert(_unauthorized(callers[i]));
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
            _refuses(callers[i], _unauthorized(callers[i]));
        }
    }

    function test_RevertWhen_TheAdminHasResetItByThen_Row23() external givenThePrimaryHasFailed {
        vm.prank(owner);
        treasury.reset();
        vm.warp(START + MIN_OPEN);
        _refuses(rescuer, abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function test_RevertWhen_TheRefugeTakesNothing() external givenThePrimaryHasFailed {
        vm.etch(refuge, hex"fe"); // INVALID
        skip(MIN_OPEN);
        _refuses(rescuer, abi.encodeWithSelector(ManagedTreasury.NotSent.selector));
    }

    // ─── given the rescuer must announce what is to be done ───

    modifier givenTheRescuerMustAnnounceWhatIsToBeDone() {
        vm.startPrank(owner);
        manager.revokeRole(RESCUERS, rescuer);
        manager.grantRole(RESCUERS, rescuer, 1 hours);
        vm.stopPrank();
        _watch();
        _openByTripper();
        _;
    }

    function test_RevertWhen_ItWasNotAnnounced() external givenTheRescuerMustAnnounceWhatIsToBeDone {
        skip(MIN_OPEN);
        bytes32 operation = manager.hashOperation(rescuer, watched, EVACUATE);
        _refuses(rescuer, abi.encodeWithSelector(IAccessManager.AccessManagerNotScheduled.selector, operation));
    }

    function test_WhenItWasAnnouncedAndTheDelayIsOver() external givenTheRescuerMustAnnounceWhatIsToBeDone {
        _announce();
        skip(MIN_OPEN);
        _evacuates();
    }

    /// What was announced in one emergency is no power outside of it.
    function test_RevertWhen_ItClosedDuringTheDelay() external givenTheRescuerMustAnnounceWhatIsToBeDone {
        _announce();
        _closeByProbes();
        _refuses(rescuer, abi.encodeWithSelector(EmergencyPowers.NoEmergency.selector, id));
    }

    function _announce() private {
        vm.prank(rescuer);
        manager.schedule(watched, EVACUATE, START + 1 hours);
    }

    function _unauthorized(address caller) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IAccessManaged.AccessManagedUnauthorized.selector, caller);
    }

    function _only(bytes4 selector) private pure returns (bytes4[] memory selectors) {
        selectors = new bytes4[](1);
        selectors[0] = selector;
    }
}
