// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {COOLDOWN, LATCH, PROBE_ONLY, START} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {CircuitBreaker, Config} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice What the owner can do, and nobody else.
contract ProxyOwnerTest is ProxyTest {
    // ─── given somebody else ───

    modifier givenSomebodyElse() {
        _storeOneFailure();
        vm.expectRevert(abi.encodeWithSelector(FaultTolerantProxy.NotOwner.selector, address(this)));
        _;
        _assertUntouched();
    }

    function test_RevertWhen_TheyTrip() external givenSomebodyElse {
        proxy.trip(0);
    }

    function test_RevertWhen_TheyReset() external givenSomebodyElse {
        proxy.reset();
    }

    function test_RevertWhen_TheyConfigure() external givenSomebodyElse {
        proxy.configure(_config(0));
    }

    // ─── given the owner ───

    modifier givenTheOwner() {
        _storeOneFailure();
        vm.startPrank(OWNER);
        _;
    }

    function test_WhenTheyTripWithoutADeadline() external givenTheOwner {
        proxy.trip(0);
        _becomesOpen(1, START + COOLDOWN);
        _assertOpened(Outcome.Forced);
        assertEq(shop.stock(), "backup");
    }

    function test_WhenTheyTripUntilADeadline() external givenTheOwner {
        proxy.trip(START + 7);
        _becomesOpen(1, START + 7);
        _assertOpened(Outcome.Forced);
    }

    function test_WhenTheyResetIt() external givenTheOwner {
        _storeOpen({retryAt: START + 1});
        proxy.reset();
        _becomesClosed();
        _assertClosed();
        assertEq(shop.stock(), "primary");
    }

    function test_WhenTheyConfigureIt() external givenTheOwner {
        Config memory config = _config(LATCH);
        config.failureThreshold = 1;
        proxy.configure(config);
        // Clamped below the new threshold, so that nothing trips by it.
        breaker.failureCount = 0;
        breaker.failureThreshold = 1;
        breaker.flags = LATCH | PROBE_ONLY;
        config.flags = LATCH | PROBE_ONLY;
        _assertConfigured(config);

        primary.close(true);
        _watch();
        assertEq(_sells(), "backup");
        _assertUntouched();
    }

    function test_WhenTheyConfigureItToRecordCalls() external givenTheOwner {
        proxy.configure(_config(0));
        _watch();
        Config memory config = _config(RECORD_CALLS);
        proxy.configure(config);
        config.flags = 0;
        _assertConfigured(config);

        primary.close(true);
        _watch();
        assertEq(_sells(), "backup");
        _becomesCounted(2);
        _assertWritten();
    }

    function test_RevertWhen_TheyConfigureWhatCannotBe() external givenTheOwner {
        vm.expectRevert(CircuitBreaker.CooldownZero.selector);
        proxy.configure(Config(1, 0, 1, 1, 0, 0));
        vm.expectRevert(abi.encodeWithSelector(CircuitBreaker.UnknownFlags.selector, RECORD_CALLS));
        proxy.configure(_config(RECORD_CALLS | PROBE_ONLY));
        _assertStored();
    }

    // ─── given that nobody owns it ───

    modifier givenThatNobodyOwnsIt() {
        _use(new FaultTolerantProxy(address(primary), address(backup), address(0), _config(0), _limits(), ""));
        _;
    }

    function test_RevertWhen_AnybodyTrips() external givenThatNobodyOwnsIt {
        vm.expectRevert(abi.encodeWithSelector(FaultTolerantProxy.NotOwner.selector, address(this)));
        proxy.trip(0);
        _assertUntouched();
    }

    function _sells() private returns (string memory name) {
        (, name) = shop.buy(0);
    }
}
