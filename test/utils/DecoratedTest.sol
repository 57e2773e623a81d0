// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {Teller} from "../mocks/Teller.sol";
import {BreakerAssertions} from "./BreakerAssertions.sol";
import {COOLDOWN, START, THRESHOLD} from "./Defaults.sol";
import {StarvedTest} from "./StarvedTest.sol";
import {Config, Status} from "contracts/CircuitBreaker.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @title  DecoratedTest
/// @notice A decorated host with two tellers who can both be down.
abstract contract DecoratedTest is BreakerAssertions, StarvedTest {
    string internal constant PRIMARY = "I am the primary";
    string internal constant SECONDARY = "I am the secondary";
    uint32 internal constant BUDGET = 300_000;
    uint32 internal constant RESERVE = 150_000;

    Teller internal primary;
    Teller internal secondary;
    DecoratedHost internal host;

    function setUp() public virtual {
        vm.warp(START);
        primary = new Teller(PRIMARY);
        secondary = new Teller(SECONDARY);
        _use(_deploy(primary, secondary));
    }

    function _deploy(ITeller primary_, ITeller secondary_) internal virtual returns (DecoratedHost) {
        return new DecoratedHost(primary_, secondary_, _config(), _limits());
    }

    function _use(DecoratedHost host_) internal {
        host = host_;
        watched = address(host_);
        id = host_.breakers()[0];
        breaker = host_.breaker();
        _watch();
    }

    function _config() internal pure returns (Config memory) {
        return Config(THRESHOLD, COOLDOWN, 1, COOLDOWN, 0, 0);
    }

    function _limits() internal pure returns (Limits memory) {
        return Limits({gas: BUDGET, reserve: RESERVE, maxReturn: 0, minReturn: 0});
    }

    function _storeOpen(uint40 retryAt) internal {
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = retryAt;
        breaker.lastFailureAt = START - COOLDOWN;
        _store();
    }

    /// @dev One more failure, below the threshold.
    function _assertFailed() internal {
        ++breaker.failureCount;
        breaker.lastFailureAt = uint40(block.timestamp);
        _assertWritten();
    }

    /// @dev With gas for the budget, and none for what else there is.
    function _needs(uint256 value, bytes memory call, uint256 expected) internal {
        (bool ok, bytes memory data) = watched.call{gas: BUDGET, value: value}(call);
        assertFalse(ok, "with too little gas");
        assertLt(_assertStarved(data, expected), BUDGET, "available");
    }

    function _probes(Outcome expected) internal {
        assertEq(uint8(host.probe(id)), uint8(expected), "outcome");
    }

    /// @dev One to decide whether to try, one to record what came of it.
    function _assertReads(uint256 sloads) internal view virtual override {
        assertLe(sloads, 2, "number of SLOADs");
    }
}
