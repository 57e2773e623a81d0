// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {StandingPlain, StandingTryCatch} from "./hosts/Standing.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Asked in a transaction: through `IHuman`, whose function is a view, it would be a static call.
interface IAsked {
    function speak() external returns (string memory);
}

/// @notice Gas of each path through the proxy, as whole transactions: run under isolation (`make gas`). Everybody asks
///         `speak()` of what stands before a human: the proxy, or a contract that has that function itself.
///         Figures go to snapshots/proxy.json; the bounds are asserted here.
contract ProxyGasTest is Test {
    uint16 private constant THRESHOLD = 3;
    uint32 private constant COOLDOWN = 100;

    Moody private moody;
    Stoic private stoic;
    address private plain;
    address private plainBackup;
    address private tryCatch;

    function setUp() public {
        vm.warp(1_700_000_000);
        moody = new Moody("Hello");
        stoic = new Stoic("Hello");
        plain = address(new StandingPlain(moody, stoic));
        plainBackup = address(new StandingPlain(stoic, moody));
        tryCatch = address(new StandingTryCatch(moody, stoic));
    }

    function test_RecordingCalls() public {
        (uint256 ok, uint256 backup, uint256 caught) = _measureBaselines();
        FaultTolerantProxy proxy = _proxy(RECORD_CALLS);
        uint256 gas = _measure(address(proxy), "proxy: closed, ok");
        assertLe(gas, ok + 4000, "closed, ok");

        moody.toggleMood();
        gas = _measure(address(proxy), "proxy: closed, first fail");
        assertLe(gas, caught + 7700, "closed, first fail");
        IAsked(address(proxy)).speak();
        uint256 trip = _measure(address(proxy), "proxy: trip");
        assertLe(trip, caught + 9850, "trip");
        gas = _measure(address(proxy), "proxy: open");
        assertLe(gas, backup + 1950, "open");

        skip(COOLDOWN);
        _measure(address(proxy), "proxy: half-open, fails");
        skip(COOLDOWN);
        _probe(proxy, "proxy: probe, fails", Outcome.Reverted);
        skip(COOLDOWN);
        moody.toggleMood();
        _measure(address(proxy), "proxy: half-open, ok");
        moody.toggleMood();
        IAsked(address(proxy)).speak();
        IAsked(address(proxy)).speak();
        gas = _measure(address(proxy), "proxy: later trip");
        assertApproxEqRel(gas, trip, 0.02e18, "later trip");
        moody.toggleMood();
        skip(COOLDOWN);
        _probe(proxy, "proxy: probe, ok", Outcome.Ok);
    }

    /// The default.
    function test_RecordingProbesOnly() public {
        (uint256 ok, uint256 backup, uint256 caught) = _measureBaselines();
        FaultTolerantProxy proxy = _proxy(0);
        assertLe(_measure(address(proxy), "proxy, probes only: closed, ok"), ok + 3800, "closed, ok");
        moody.toggleMood();
        uint256 gas = _measure(address(proxy), "proxy, probes only: closed, fails");
        assertLe(gas, caught + 3800, "closed, fails");

        _probe(proxy, "proxy, probes only: probe, first fail", Outcome.Reverted);
        proxy.probe(0);
        _probe(proxy, "proxy, probes only: probe, trip", Outcome.Reverted);
        assertLe(_measure(address(proxy), "proxy, probes only: open"), backup + 1950, "open");
        moody.toggleMood();
        skip(COOLDOWN);
        _probe(proxy, "proxy, probes only: probe, half-open, ok", Outcome.Ok);
        _probe(proxy, "proxy, probes only: probe, closed, ok", Outcome.Ok);
    }

    function _measureBaselines() private returns (uint256 ok, uint256 backup, uint256 caught) {
        ok = _measure(plain, "plain");
        backup = _measure(plainBackup, "plain backup");
        _measure(tryCatch, "try/catch: ok");
        moody.toggleMood();
        caught = _measure(tryCatch, "try/catch: fails");
        moody.toggleMood();
    }

    function _measure(address host, string memory path) private returns (uint256) {
        IAsked(host).speak();
        return vm.snapshotGasLastCall("proxy", path);
    }

    function _probe(FaultTolerantProxy proxy, string memory path, Outcome expected) private {
        Outcome outcome = proxy.probe(0);
        vm.snapshotGasLastCall("proxy", path);
        assertEq(uint8(outcome), uint8(expected), path);
    }

    function _proxy(uint8 flags) private returns (FaultTolerantProxy) {
        return new FaultTolerantProxy(
            address(moody),
            address(stoic),
            address(this),
            Config(THRESHOLD, COOLDOWN, 1, COOLDOWN, 0, flags),
            Limits({gas: 100_000, reserve: 150_000, maxReturn: 4096, minReturn: 64}),
            abi.encodeCall(IHuman.speak, ())
        );
    }
}
