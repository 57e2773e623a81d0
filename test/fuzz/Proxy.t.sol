// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {RawRevert} from "../mocks/weird/RawRevert.sol";
import {START} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice Whatever is asked and whatever is answered, the bytes are those of the bare call.
contract ProxyFuzzTest is ProxyTest {
    uint256 private constant MAX = 1024;

    function testFuzz_AnswerOfThePrimary_Row17(bytes memory data, bytes memory answer, uint96 value) external {
        (data, answer) = (_bounded(data), _bounded(answer));
        address primary_ = address(new RawAnswer(answer));
        _between(primary_, address(new RawAnswer("backup")));
        _storeOneFailure();
        vm.deal(address(this), value);
        vm.expectCall(primary_, value, data);
        _assertCall(value, data, true, answer);
        breaker.failureCount = 0;
        _assertWritten();
        _assertRead(data, true, answer);
        assertEq(primary_.balance, value, "money of the primary");
    }

    function testFuzz_AnswerOfTheBackup_Row17(bytes memory data, bytes memory error_, bytes memory answer, uint96 value)
        external
    {
        (data, error_, answer) = (_bounded(data), _bounded(error_), _bounded(answer));
        address backup_ = address(new RawAnswer(answer));
        _between(address(new RawRevert(error_)), backup_);
        _storeOneFailure();
        vm.deal(address(this), value);
        vm.expectCall(backup_, value, data);
        _assertCall(value, data, true, answer);
        _becomesCounted(2);
        _assertWritten();
        _assertRead(data, true, answer);
        assertEq(backup_.balance, value, "money of the backup");
    }

    function testFuzz_RevertOfTheBackup_Row17(bytes memory data, bytes memory error_, uint96 value, bool isOpen)
        external
    {
        (data, error_) = (_bounded(data), _bounded(error_));
        _between(address(new RawRevert("primary")), address(new RawRevert(error_)));
        if (isOpen) _storeOpen({retryAt: START + 1});
        vm.deal(address(this), value);
        _assertCall(value, data, false, error_);
        _assertRead(data, false, error_);
        _assertStored();
        assertEq(address(this).balance, value, "money of the caller");
    }

    function _between(address primary_, address backup_) private {
        Limits memory limits = Limits({gas: 1_000_000, reserve: RESERVE, maxReturn: uint32(MAX), minReturn: 0});
        _use(_new(primary_, backup_, RECORD_CALLS, limits));
    }

    /// At most MAX bytes, and none of the proxy's own functions.
    function _bounded(bytes memory data) private pure returns (bytes memory) {
        if (data.length > MAX) {
            assembly ("memory-safe") {
                mstore(data, MAX)
            }
        }
        bytes4 selector = bytes4(data);
        vm.assume(
            data.length < 4
                || (selector != ICircuitBreaker.probe.selector
                    && selector != ICircuitBreaker.breakers.selector
                    && selector != ICircuitBreaker.breakerState.selector
                    && selector != FaultTolerantProxy.primary.selector
                    && selector != FaultTolerantProxy.backup.selector
                    && selector != FaultTolerantProxy.owner.selector
                    && selector != FaultTolerantProxy.supportsInterface.selector
                    && selector != FaultTolerantProxy.trip.selector
                    && selector != FaultTolerantProxy.reset.selector
                    && selector != FaultTolerantProxy.configure.selector)
        );
        return data;
    }
}
