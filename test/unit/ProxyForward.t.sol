// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {START} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice Every call goes through with its value, and every byte comes back; nothing stays in between.
contract ProxyForwardTest is ProxyTest {
    uint256 private constant VALUE = 1 ether;
    bytes private buy = abi.encodeCall(Shop.buy, (VALUE));

    function setUp() public override {
        super.setUp();
        vm.deal(address(this), 10 ether);
    }

    /// Nothing is ever left in the proxy, and nothing is paid twice.
    function _assertMoney(uint256 ofPrimary, uint256 ofBackup) private view {
        assertEq(address(primary).balance, ofPrimary, "money of the primary");
        assertEq(address(backup).balance, ofBackup, "money of the backup");
        assertEq(address(proxy).balance, 0, "money of the proxy");
        assertEq(address(this).balance, 10 ether - ofPrimary - ofBackup, "money of the caller");
    }

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _storeOneFailure();
        _;
    }

    function test_WhenAFunctionWithValueIsCalled_Row17() external givenItIsClosed {
        _assertCall(VALUE, buy, true, _answer(1, "primary"));
        breaker.failureCount = 0;
        _assertWritten();
        _assertMoney(VALUE, 0);
        assertEq(primary.lastCaller(), address(proxy), "caller");
    }

    function test_WhenAFunctionThatReturnsNothingIsCalled() external givenItIsClosed {
        _assertCall(0, abi.encodeCall(Shop.ring, ()), true, "");
        breaker.failureCount = 0;
        _assertWritten();
        assertEq(primary.sold(), 1, "effect");
    }

    function test_WhenValueComesWithoutACall_Row17() external givenItIsClosed {
        _assertCall(VALUE, "", true, "");
        breaker.failureCount = 0;
        _assertWritten();
        _assertMoney(VALUE, 0);
        assertEq(primary.received(), VALUE, "received");
    }

    function test_WhenThePrimaryFails_Row17() external givenItIsClosed {
        primary.close(true);
        _assertCall(VALUE, buy, true, _answer(1, "backup"));
        _becomesCounted(2);
        _assertWritten();
        _assertMoney(0, VALUE);
        assertEq(primary.sold(), 0, "effect");
    }

    function test_WhenThePrimaryFailsAndValueComesWithoutACall_Row17() external givenItIsClosed {
        primary.close(true);
        _assertCall(VALUE, "", true, "");
        _becomesCounted(2);
        _assertWritten();
        _assertMoney(0, VALUE);
    }

    function test_WhenBothFail_Row17() external givenItIsClosed {
        primary.close(true);
        backup.close(true);
        _assertCall(VALUE, buy, false, _closedError("backup"));
        _assertStored();
        _assertMoney(0, 0);
    }

    function test_WhenNoFunctionOfThemIsCalled_Row19() external givenItIsClosed {
        _assertCall(0, hex"12345678", false, "");
        _assertCall(0, hex"123456", false, "");
        _assertCall(VALUE, hex"12345678", false, "");
        _assertStored();
        _assertMoney(0, 0);
    }

    function test_When200KBAreSent_Row19() external givenItIsClosed {
        _storeNoFailure();
        _assertCall(0, abi.encodeCall(Shop.measure, (new bytes(200_000))), true, abi.encode(200_000));
        _assertUntouched();
        assertEq(primary.sold(), 1, "effect");
    }

    function test_When200KBAreSentWithValueAndThePrimaryFails_Row19() external givenItIsClosed {
        primary.close(true);
        _assertCall(VALUE, abi.encodeCall(Shop.measure, (new bytes(200_000))), true, abi.encode(200_000));
        _becomesCounted(2);
        _assertWritten();
        _assertMoney(0, VALUE);
    }

    function test_WhenAMulticallReusesTheValue_Row19() external givenItIsClosed {
        _storeNoFailure();
        (bytes memory multicall, bytes memory answers) = _multicall("primary");
        _assertCall(VALUE, multicall, true, answers);
        _assertUntouched();
        _assertMoney(VALUE, 0);
    }

    function test_WhenAMulticallReusesTheValueAndThePrimaryFails_Row19() external givenItIsClosed {
        primary.close(true);
        (bytes memory multicall, bytes memory answers) = _multicall("backup");
        _assertCall(VALUE, multicall, true, answers);
        _becomesCounted(2);
        _assertWritten();
        _assertMoney(0, VALUE);
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        vm.expectCall(address(primary), "", 0);
        _;
    }

    function test_WhenAFunctionWithValueIsCalledWhileOpen_Row17() external givenItIsOpen {
        _assertCall(VALUE, buy, true, _answer(1, "backup"));
        _assertUntouched();
        _assertMoney(0, VALUE);
    }

    function test_WhenValueComesWithoutACallWhileOpen_Row17() external givenItIsOpen {
        _assertCall(VALUE, "", true, "");
        _assertUntouched();
        _assertMoney(0, VALUE);
    }

    function test_WhenTheBackupFails() external givenItIsOpen {
        backup.close(true);
        _assertCall(VALUE, buy, false, _closedError("backup"));
        _assertUntouched();
        _assertMoney(0, 0);
    }

    function test_WhenTheBackupIsGone_Row17() external givenItIsOpen {
        vm.etch(address(backup), "");
        bytes memory gone = abi.encodeWithSelector(ICircuitBreaker.NoBackup.selector, backup);
        _assertCall(VALUE, buy, false, gone);
        _assertCall(0, buy, false, gone);
        _assertRead(buy, false, gone);
        _assertUntouched();
        _assertMoney(0, 0);
    }

    // ─── given a backup that is gone ───

    modifier givenABackupThatIsGone() {
        vm.etch(address(backup), "");
        _storeOneFailure();
        _;
    }

    function test_WhenThePrimaryFailsWithoutABackup_Row17() external givenABackupThatIsGone {
        primary.close(true);
        bytes memory gone = abi.encodeWithSelector(ICircuitBreaker.NoBackup.selector, backup);
        _assertCall(VALUE, buy, false, gone);
        _assertRead(abi.encodeCall(Shop.stock, ()), false, gone);
        _assertStored();
        _assertMoney(0, 0);
    }

    /// Both calls in it see the whole value, of which there is only one.
    function _multicall(string memory name) private view returns (bytes memory multicall, bytes memory answers) {
        bytes[] memory calls = new bytes[](2);
        (calls[0], calls[1]) = (buy, buy);
        bytes[] memory each = new bytes[](2);
        (each[0], each[1]) = (_answer(1, name), _answer(2, name));
        return (abi.encodeCall(Shop.multicall, (calls)), abi.encode(each));
    }
}
