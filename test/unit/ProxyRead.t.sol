// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Reader} from "../mocks/Reader.sol";
import {Shop} from "../mocks/Shop.sol";
import {BurnsGas} from "../mocks/weird/BurnsGas.sol";
import {HugeAnswer} from "../mocks/weird/HugeAnswer.sol";
import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {START} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";

/// @notice Reads through the proxy: they respect the breaker, and that is all.
contract ProxyReadTest is ProxyTest {
    Reader private reader = new Reader();
    bytes private stock = abi.encodeCall(Shop.stock, ());

    function _assertReader(string memory name) private view {
        assertEq(reader.readThrough(shop), name, "read");
        _assertRead(stock, true, abi.encode(name));
    }

    // ─── given a contract that reads through it while closed ───

    modifier givenAContractThatReadsThroughItWhileClosed() {
        Limits memory limits = _limits();
        limits.minReturn = MIN_RETURN;
        _use(_new(address(primary), address(backup), RECORD_CALLS, limits));
        _storeOneFailure();
        _;
        _assertUntouched();
    }

    function test_WhenThePrimaryAnswers_Row19() external givenAContractThatReadsThroughItWhileClosed {
        _assertReader("primary");
    }

    function test_WhenThePrimaryFails_Row19() external givenAContractThatReadsThroughItWhileClosed {
        primary.close(true);
        _assertReader("backup");
    }

    function test_WhenThePrimaryAnswersTooMuch() external givenAContractThatReadsThroughItWhileClosed {
        _becomes(address(new HugeAnswer(MAX_RETURN + 1)));
        _assertReader("backup");
        _becomes(address(new HugeAnswer(MAX_RETURN)));
        assertEq(bytes(reader.readThrough(shop)).length, MAX_RETURN - 64, "length of the longest answer");
    }

    function test_WhenThePrimaryAnswersTooLittle() external givenAContractThatReadsThroughItWhileClosed {
        vm.etch(address(primary), address(new RawAnswer("")).code);
        _assertReader("backup");
    }

    function test_WhenThePrimaryBurnsItsBudget() external givenAContractThatReadsThroughItWhileClosed {
        _becomes(address(new BurnsGas()));
        _assertReader("backup");
    }

    /// An account without code answers with nothing, which some functions may.
    function test_WhenThePrimaryIsGone() external givenAContractThatReadsThroughItWhileClosed {
        _use(_new(address(primary), address(backup), RECORD_CALLS));
        _storeOneFailure();
        vm.etch(address(primary), "");
        _assertReader("backup");
    }

    function test_WhenBothFail() external givenAContractThatReadsThroughItWhileClosed {
        primary.close(true);
        backup.close(true);
        _assertRead(stock, false, _closedError("backup"));
    }

    function test_RevertWhen_ItCallsAFunctionWithEffects() external givenAContractThatReadsThroughItWhileClosed {
        _assertRead(abi.encodeCall(Shop.ring, ()), false, "");
    }

    // ─── given a contract that reads through it while open ───

    modifier givenAContractThatReadsThroughItWhileOpen() {
        _storeOpen({retryAt: START + 1});
        vm.expectCall(address(primary), "", 0);
        _;
        _assertUntouched();
    }

    function test_WhenThePrimaryWouldAnswer_Row19() external givenAContractThatReadsThroughItWhileOpen {
        _assertReader("backup");
    }

    function test_WhenTheBackupFails() external givenAContractThatReadsThroughItWhileOpen {
        backup.close(true);
        _assertRead(stock, false, _closedError("backup"));
    }

    // ─── given a contract that reads through it while half-open ───

    modifier givenAContractThatReadsThroughItWhileHalf_open() {
        _storeOpen({retryAt: START});
        _;
        _assertUntouched();
    }

    function test_WhenThePrimaryHasRecovered_Row19() external givenAContractThatReadsThroughItWhileHalf_open {
        _assertReader("primary");
    }

    function test_WhenThePrimaryStillFails_Row19() external givenAContractThatReadsThroughItWhileHalf_open {
        primary.close(true);
        _assertReader("backup");
    }

    /// The primary's code is that of somebody else from now on.
    function _becomes(address weird) private {
        vm.etch(address(primary), weird.code);
    }
}
