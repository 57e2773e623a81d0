// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {COOLDOWN, ONCE_PER_BLOCK, START, THRESHOLD} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice What a call through the proxy does to its breaker.
contract ProxyRecordTest is ProxyTest {
    function _buys(string memory from) private {
        (, string memory name) = shop.buy(0);
        assertEq(name, from, "who sold it");
    }

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _storeOneFailure();
        _;
    }

    function test_WhenThePrimaryAnswers() external givenItIsClosed {
        _buys("primary");
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenThePrimaryAnswersAndThereIsNothingToForget() external givenItIsClosed {
        _storeNoFailure();
        _buys("primary");
        _assertUntouched();
    }

    function test_WhenThePrimaryFailsUpToTheThreshold() external givenItIsClosed {
        primary.close(true);
        for (uint16 count = 2; count < THRESHOLD; ++count) {
            _buys("backup");
            _becomesCounted(count);
            _assertWritten();
        }
        _buys("backup");
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    /// The record is undone with everything else.
    function test_WhenTheCallerIsRefusedByBoth() external givenItIsClosed {
        _assertCall(0, abi.encodeCall(Shop.buy, (1)), false, abi.encodeWithSelector(Shop.TooLittle.selector, 0));
        _assertStored();
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        vm.expectCall(address(primary), "", 0);
        _;
        _assertUntouched();
    }

    function test_WhenItIsCalledAThousandTimes_Row12() external givenItIsOpen {
        for (uint256 i; i < 1000; ++i) {
            _buys("backup");
        }
    }

    function test_WhenTheTimeOfItsPrimaryHasNotCome() external givenItIsOpen {
        vm.warp(START);
        _buys("backup");
        assertEq(shop.stock(), "backup", "read");
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        _storeOpen({retryAt: START});
        _;
    }

    function test_WhenThePrimaryHasRecovered() external givenItIsHalf_open {
        _buys("primary");
        _becomesClosed();
        _assertClosed();
    }

    function test_WhenThePrimaryStillFails() external givenItIsHalf_open {
        primary.close(true);
        _watch();
        _buys("backup");
        breaker.reopenCount = 1;
        breaker.retryAt = START + COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    // ─── given failures that count once a block ───

    modifier givenFailuresThatCountOnceABlock() {
        _use(_new(address(primary), address(backup), RECORD_CALLS | ONCE_PER_BLOCK));
        primary.close(true);
        _store();
        _;
    }

    function test_WhenManyCallsFailInOneBlock_Row11() external givenFailuresThatCountOnceABlock {
        _buys("backup");
        _becomesCounted(1);
        _assertWritten();
        for (uint256 i; i < THRESHOLD; ++i) {
            _buys("backup");
            _assertUntouched();
        }
    }

    function test_WhenACallFailsInEachBlock_Row11() external givenFailuresThatCountOnceABlock {
        for (uint16 count = 1; count < THRESHOLD; ++count) {
            _buys("backup");
            _becomesCounted(count);
            _assertWritten();
            skip(12);
        }
        _buys("backup");
        _becomesOpen(THRESHOLD, uint40(block.timestamp) + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    // ─── given it records probes only ───

    modifier givenItRecordsProbesOnly() {
        _use(_new(address(primary), address(backup), 0));
        _;
        _assertUntouched();
    }

    function test_WhenThePrimaryFailsAndIsNotRecorded() external givenItRecordsProbesOnly {
        primary.close(true);
        _storeOneFailure();
        _buys("backup");
    }

    function test_WhenThePrimaryAnswersAndIsNotRecorded() external givenItRecordsProbesOnly {
        _storeOneFailure();
        _buys("primary");
    }

    function test_WhenThePrimaryHasRecoveredWhileHalf_open() external givenItRecordsProbesOnly {
        _storeOpen({retryAt: START});
        _buys("primary");
    }

    function test_WhenThePrimaryStillFailsWhileHalf_open() external givenItRecordsProbesOnly {
        primary.close(true);
        _storeOpen({retryAt: START});
        _buys("backup");
    }
}
