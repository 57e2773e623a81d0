// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {BreakerAssertions} from "./BreakerAssertions.sol";
import {COOLDOWN, START, THRESHOLD} from "./Defaults.sol";
import {Config, Status} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {GuardedCall, Limits, PackedLimits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @title  ProxyTest
/// @notice A proxy before two shops that can both be closed, and the states that its breaker goes through.
/// @dev    Most tests have a proxy that records calls, since one that does not leaves nothing to see.
abstract contract ProxyTest is BreakerAssertions {
    uint32 internal constant BUDGET = 200_000;
    uint32 internal constant RESERVE = 300_000;
    uint32 internal constant MAX_RETURN = 4096;
    uint32 internal constant MIN_RETURN = 64;

    address internal constant OWNER = address(uint160(0x000100000000));

    Shop internal primary;
    Shop internal backup;
    FaultTolerantProxy internal proxy;

    /// @dev The proxy, called like what it stands for.
    Shop internal shop;

    function setUp() public virtual {
        vm.warp(START);
        primary = new Shop("primary");
        backup = new Shop("backup");
        _use(_new(address(primary), address(backup), RECORD_CALLS));
    }

    // ─── Proxies ───

    function _use(FaultTolerantProxy proxy_) internal {
        proxy = proxy_;
        shop = Shop(payable(address(proxy_)));
        watched = address(proxy_);
        id = bytes32(0); // the contract's first slot
        (, breaker) = proxy_.breakerState(id);
        _watch();
    }

    function _new(address primary_, address backup_, uint8 flags) internal returns (FaultTolerantProxy) {
        return _new(primary_, backup_, flags, _limits());
    }

    function _new(address primary_, address backup_, uint8 flags, Limits memory limits)
        internal
        returns (FaultTolerantProxy)
    {
        bytes memory probeCalldata = abi.encodeCall(Shop.stock, ());
        return new FaultTolerantProxy(primary_, backup_, OWNER, _config(flags), limits, probeCalldata);
    }

    function _config(uint8 flags) internal pure returns (Config memory) {
        return Config({
            failureThreshold: THRESHOLD,
            cooldown: COOLDOWN,
            successThreshold: 1,
            maxCooldown: COOLDOWN,
            window: 0,
            flags: flags
        });
    }

    /// @dev Some functions of a shop return nothing, so nothing is too short.
    function _limits() internal pure returns (Limits memory) {
        return Limits({gas: BUDGET, reserve: RESERVE, maxReturn: MAX_RETURN, minReturn: 0});
    }

    // ─── States ───

    function _storeOpen(uint40 retryAt) internal {
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = retryAt;
        breaker.lastFailureAt = START - COOLDOWN;
        _store();
    }

    /// @dev One failure is counted, so that a recorded success shows as well as a recorded failure.
    function _storeOneFailure() internal {
        breaker.failureCount = 1;
        breaker.lastFailureAt = START - 1;
        _store();
    }

    function _storeNoFailure() internal {
        breaker.failureCount = 0;
        _store();
    }

    function _becomesCounted(uint16 failureCount) internal {
        breaker.failureCount = failureCount;
        breaker.lastFailureAt = uint40(block.timestamp);
    }

    // ─── Assertions ───

    /// @dev A call that goes through to whoever answers: success and all bytes.
    function _assertCall(uint256 value, bytes memory data, bool success, bytes memory answer) internal {
        (bool ok, bytes memory got) = address(proxy).call{value: value}(data);
        assertEq(ok, success, "success");
        assertEq(got, answer, "bytes");
    }

    function _assertRead(bytes memory data, bool success, bytes memory answer) internal view {
        (bool ok, bytes memory got) = address(proxy).staticcall(data);
        assertEq(ok, success, "success");
        assertEq(got, answer, "bytes");
    }

    function _assertProbe(Outcome expected) internal {
        assertEq(uint8(proxy.probe(id)), uint8(expected), "outcome");
    }

    function _answer(uint256 sold, string memory name) internal pure returns (bytes memory) {
        return abi.encode(sold, name);
    }

    function _closedError(string memory name) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(Shop.IsClosed.selector, name);
    }

    function _isInsufficientGas(bytes memory data) internal pure returns (bool) {
        return data.length == 68 && bytes4(data) == GuardedCall.InsufficientGas.selector;
    }

    /// @dev Beside the breaker a proxy reads what it probes with. It writes nothing but the breaker.
    function _assertAccesses(uint256 sstores) internal override {
        (, bytes32[] memory writes) = vm.accesses(watched);
        assertEq(writes.length, sstores, "number of SSTOREs");
        for (uint256 i; i < writes.length; ++i) {
            assertEq(writes[i], id, "slot");
        }
    }

    function _assertReads(uint256) internal pure override {}
}
