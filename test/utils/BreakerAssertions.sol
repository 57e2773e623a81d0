// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Word} from "./Word.sol";
import {Breaker, CircuitBreaker, Config, Status} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";
import {Vm} from "forge-std/Vm.sol";

/// @title  BreakerAssertions
/// @notice States the whole word before and after a call, what was written, and what was emitted.
/// @dev    A test fills `breaker` and calls `_store`; it makes one call; it changes the fields of `breaker` that must
///         have changed and calls one of the assertions. After an assertion the next call can follow at once.
abstract contract BreakerAssertions is Test {
    /// @dev Whose storage the breaker is in, and where.
    address internal watched;
    bytes32 internal id;

    /// @dev First what is stored, then what is expected.
    Breaker internal breaker;

    /// @dev Puts `breaker` into its slot and starts to watch.
    function _store() internal {
        vm.store(watched, id, bytes32(Word.pack(breaker)));
        _assertStored();
        _watch();
    }

    function _watch() internal {
        vm.record();
        vm.recordLogs();
    }

    function _assertStored() internal view {
        assertEq(vm.load(watched, id), bytes32(Word.pack(breaker)), "word");
    }

    /// @dev Expects that it left closed just now, with nothing remembered of an earlier outage.
    function _becomesOpen(uint16 failureCount, uint40 retryAt) internal {
        breaker.status = Status.OPEN;
        breaker.failureCount = failureCount;
        breaker.retryAt = retryAt;
        breaker.reopenCount = 0;
        breaker.lastFailureAt = uint40(block.timestamp);
    }

    /// @dev Expects that it closed: `lastFailureAt` and `probedAt` stay.
    function _becomesClosed() internal {
        breaker.status = Status.CLOSED;
        breaker.failureCount = 0;
        breaker.retryAt = 0;
        breaker.successCount = 0;
        breaker.reopenCount = 0;
    }

    /// @dev No write, not even one of the same value, and nothing emitted.
    function _assertUntouched() internal {
        _assertAccesses(0);
        assertEq(vm.getRecordedLogs().length, 0, "number of logs");
        _assertStored();
        _watch();
    }

    /// @dev One write, nothing emitted.
    function _assertWritten() internal {
        _assertAccesses(1);
        assertEq(vm.getRecordedLogs().length, 0, "number of logs");
        _assertStored();
        _watch();
    }

    function _assertOpened(Outcome cause) internal {
        _assertTransition(CircuitBreaker.Opened.selector, abi.encode(breaker.retryAt, cause));
    }

    function _assertClosed() internal {
        _assertTransition(CircuitBreaker.Closed.selector, "");
    }

    function _assertConfigured(Config memory config) internal {
        _assertTransition(CircuitBreaker.Configured.selector, abi.encode(config));
    }

    /// @dev How many SLOADs a call may make.
    function _assertReads(uint256 sloads) internal view virtual;

    /// @dev One write, one log.
    function _assertTransition(bytes32 selector, bytes memory data) private {
        _assertAccesses(1);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1, "number of logs");
        assertEq(logs[0].emitter, watched, "emitter");
        assertEq(logs[0].topics.length, 2, "number of topics");
        assertEq(logs[0].topics[0], selector, "event");
        assertEq(logs[0].topics[1], id, "id in the event");
        assertEq(logs[0].data, data, "data of the event");
        _assertStored();
        _watch();
    }

    function _assertAccesses(uint256 sstores) internal virtual {
        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(watched);
        assertEq(writes.length, sstores, "number of SSTOREs");
        // Forge lists each written slot among the read ones, too.
        _assertReads(reads.length - sstores);
        for (uint256 i; i < reads.length; ++i) {
            assertEq(reads[i], id, "slot");
        }
    }
}
