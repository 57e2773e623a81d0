// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerAssertions} from "./BreakerAssertions.sol";
import {COOLDOWN, START, THRESHOLD} from "./Defaults.sol";
import {Status} from "contracts/CircuitBreaker.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  ResilientTest
/// @notice Resilient with two humans who can both be down, and the states that its breaker goes through.
abstract contract ResilientTest is BreakerAssertions {
    string internal constant PRIMARY = "I am the primary";
    string internal constant SECONDARY = "I am the secondary";

    Moody internal primary;
    Moody internal secondary;
    Resilient internal resilient;

    function setUp() public virtual {
        vm.warp(START);
        primary = new Moody(PRIMARY);
        secondary = new Moody(SECONDARY);
        _use(new Resilient(primary, secondary, THRESHOLD, COOLDOWN));
    }

    function _use(Resilient resilient_) internal {
        resilient = resilient_;
        watched = address(resilient_);
        id = bytes32(0); // the contract's first slot
        breaker = resilient_.breaker();
        _watch();
    }

    function _storeOpen(uint40 retryAt) internal {
        breaker.status = Status.OPEN;
        breaker.failureCount = THRESHOLD;
        breaker.retryAt = retryAt;
        breaker.lastFailureAt = START - COOLDOWN;
        _store();
    }

    function _expectCalls(IHuman human, uint64 count) internal {
        vm.expectCall(address(human), abi.encodeCall(IHuman.speak, ()), count);
    }

    /// @dev One to decide whether to ask, one to record what came of it.
    function _assertReads(uint256 sloads) internal pure virtual override {
        assertLe(sloads, 2, "number of SLOADs");
    }
}
