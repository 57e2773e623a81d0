// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {SlowHuman} from "../mocks/weird/SlowHuman.sol";
import {BreakerAssertions} from "../utils/BreakerAssertions.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {Config, Status} from "contracts/CircuitBreaker.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice Nobody keeps a breaker open: neither by calling while it is, nor by starving the probe that would close it.
abstract contract WhileOpenTest is BreakerAssertions {
    string internal constant PRIMARY = "I am the primary";
    string internal constant SECONDARY = "I am the secondary";
    uint256 private constant WORK = 60_000;

    IHuman internal primary;
    IHuman internal secondary;

    /// @dev The kind of host under test. Its functions are Resilient's.
    function _deploy() internal virtual returns (address);

    function setUp() public {
        vm.warp(START);
        primary = new SlowHuman(PRIMARY, WORK);
        secondary = new Stoic(SECONDARY);
        watched = _deploy();
        breaker = Resilient(watched).breaker();
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = START + COOLDOWN;
        breaker.lastFailureAt = START;
        _store();
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        vm.warp(START + COOLDOWN - 1);
        vm.expectCall(address(primary), abi.encodeCall(IHuman.speak, ()), 0);
        _;
    }

    function test_WhenAThousandCallsComeIn_Row12() external givenItIsOpen {
        for (uint256 i; i < 500; ++i) {
            assertEq(Resilient(watched).safeAsk(), SECONDARY);
            _assertUntouched();
            assertEq(uint8(Resilient(watched).probe(id)), uint8(Outcome.NotTried));
            _assertUntouched();
        }
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        vm.warp(START + COOLDOWN);
        _;
    }

    function test_WhenAHealthyPrimaryIsStarved_Row12() external givenItIsHalf_open {
        _neverReopens(abi.encodeCall(Resilient.safeAsk, ()));
    }

    function test_WhenAProbeOfAHealthyPrimaryIsStarved_Row12() external givenItIsHalf_open {
        _neverReopens(abi.encodeCall(Resilient.probe, (id)));
    }

    /// With more and more gas, until it is enough.
    function _neverReopens(bytes memory call) private {
        uint256 gas_ = 21_000;
        while (true) {
            (bool ok, bytes memory data) = watched.call{gas: gas_}(call);
            if (ok) break;
            assertTrue(data.length == 0 || bytes4(data) == GuardedCall.InsufficientGas.selector, "error");
            _assertStored();
            gas_ += 101;
        }
        _becomesClosed();
        _assertStored();
    }

    function _assertReads(uint256 sloads) internal pure override {
        assertLe(sloads, 2, "number of SLOADs");
    }
}

/// @notice The example.
contract ResilientWhileOpenTest is WhileOpenTest {
    function _deploy() internal override returns (address) {
        return address(new Resilient(primary, secondary, THRESHOLD, COOLDOWN));
    }
}

/// @notice A decorated host.
contract DecoratedWhileOpenTest is WhileOpenTest {
    function _deploy() internal override returns (address) {
        Config memory config = Config(THRESHOLD, COOLDOWN, 1, COOLDOWN, 0, 0);
        Limits memory limits = Limits({gas: 100_000, reserve: 150_000, maxReturn: 0, minReturn: 0});
        return address(new DecoratedHost(ITeller(address(primary)), ITeller(address(secondary)), config, limits));
    }
}
