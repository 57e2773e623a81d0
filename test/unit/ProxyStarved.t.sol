// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {BurnsGas} from "../mocks/weird/BurnsGas.sol";
import {Delegated} from "../mocks/weird/Delegated.sol";
import {GasMeter} from "../mocks/weird/GasMeter.sol";
import {Hungry} from "../mocks/weird/Hungry.sol";
import {Relay} from "../mocks/weird/Relay.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";

/// @notice Whoever sends the transaction chooses the gas. Too little of it is nobody's failure.
contract ProxyStarvedTest is ProxyTest {
    uint256 private constant WORK = 1_500_000;
    uint32 private constant HUNGRY_BUDGET = 1_600_000;
    /// Below this the outer frame cannot even say that it is too little.
    uint256 private constant SILENT = 12_000;

    bytes private stock = abi.encodeCall(Shop.stock, ());
    Hungry private hungry;

    // ─── given a healthy primary that needs much gas ───

    modifier givenAHealthyPrimaryThatNeedsMuchGas() {
        hungry = new Hungry(WORK, 32);
        _uses(address(hungry), HUNGRY_BUDGET);
        // A success would write as well as a failure.
        _storeOneFailure();
        vm.deal(address(this), 1 ether);
        vm.expectCall(address(backup), "", 0);
        _;
    }

    function test_WhenItIsCalledWithAnyGas_Row02() external givenAHealthyPrimaryThatNeedsMuchGas {
        _sweep(address(proxy), 0, stock);
    }

    function test_WhenItIsCalledWithValueAndAnyGas_Row02() external givenAHealthyPrimaryThatNeedsMuchGas {
        _sweep(address(proxy), 1, stock);
    }

    function test_WhenItIsReadWithAnyGas_Row02() external givenAHealthyPrimaryThatNeedsMuchGas {
        uint256 edge = _edge(address(proxy), 0, stock, true);
        for (uint256 gas = 5000; gas < 3_000_000; gas = _next(gas, edge)) {
            this.callAndJudge(address(proxy), gas, 0, stock, true);
        }
        _assertStored();
    }

    function test_WhenTheCalldataIsLongAndItIsCalledWithAnyGas() external givenAHealthyPrimaryThatNeedsMuchGas {
        _sweep(address(proxy), 0, bytes.concat(stock, new bytes(50_000)));
    }

    function test_WhenTheAnswerIsLongAndItIsCalledWithAnyGas() external givenAHealthyPrimaryThatNeedsMuchGas {
        hungry = new Hungry(WORK, 300_000);
        Limits memory limits = Limits({gas: 2_000_000, reserve: RESERVE, maxReturn: 300_000, minReturn: 0});
        _use(_new(address(hungry), address(backup), RECORD_CALLS, limits));
        _storeOneFailure();
        _sweep(address(proxy), 0, stock);
    }

    /// Errors are passed back before the proxy, and wrapped behind it.
    function test_WhenLevelsOfCallsLieBeforeAndBehindTheProxy_Row03() external givenAHealthyPrimaryThatNeedsMuchGas {
        address behind = address(hungry);
        for (uint256 i; i < 4; ++i) {
            behind = address(new Relay(behind, true));
        }
        _uses(behind, HUNGRY_BUDGET + 100_000);
        _storeOneFailure();
        address before = address(proxy);
        for (uint256 i; i < 4; ++i) {
            before = address(new Relay(before, false));
        }
        _sweep(before, 0, stock);
    }

    // ─── given a primary that measures its gas ───

    modifier givenAPrimaryThatMeasuresItsGas() {
        address meter = makeAddr("meter");
        vm.etch(meter, GasMeter.CODE);
        _uses(meter, BUDGET);
        vm.deal(address(this), 1 ether);
        _;
        _assertUntouched();
    }

    function test_WhenItIsCalledWithMuchGas() external givenAPrimaryThatMeasuresItsGas {
        _assertBudget(10_000_000, 0);
    }

    function test_WhenItIsCalledWithJustEnoughGas() external givenAPrimaryThatMeasuresItsGas {
        _assertBudget(_edge(address(proxy), 0, stock, false), 0);
    }

    function test_WhenItIsCalledWithValue() external givenAPrimaryThatMeasuresItsGas {
        _assertBudget(10_000_000, 1);
        _assertBudget(_edge(address(proxy), 1, stock, false), 1);
    }

    function test_WhenItIsRead() external givenAPrimaryThatMeasuresItsGas {
        _assertRead(stock, true, abi.encode(BUDGET - GasMeter.OWN_COST));
        (, bytes memory answer) = address(proxy).staticcall{gas: _edge(address(proxy), 0, stock, true)}(stock);
        assertEq(answer, abi.encode(BUDGET - GasMeter.OWN_COST), "budget");
    }

    /// The delegate is cold at first, which the EVM takes from the caller before it hands out the budget.
    function test_WhenItHasDelegated_Row03() external givenAPrimaryThatMeasuresItsGas {
        address account = makeAddr("account");
        vm.etch(account, Delegated.code(makeAddr("meter")));
        _uses(account, BUDGET);
        uint256 edge = _edge(address(proxy), 0, stock, false);
        uint256 answered;
        for (uint256 gas = edge - 100; gas < edge + 6000; gas += 17) {
            vm.cool(makeAddr("meter"));
            vm.cool(account);
            (bool ok, bytes memory answer) = address(proxy).call{gas: gas}(stock);
            if (ok) ++answered;
            if (ok) assertEq(answer, abi.encode(BUDGET - GasMeter.OWN_COST), "budget");
            else assertTrue(_isInsufficientGas(answer), "InsufficientGas");
        }
        assertGt(answered, 100, "number of answers");
    }

    // ─── given a primary that burns all it gets ───

    modifier givenAPrimaryThatBurnsAllItGets() {
        vm.deal(address(this), 1 ether);
        _;
    }

    /// What recording costs comes out of the reserve, and what a value costs on the way to the backup. What it costs on
    /// the way in does not.
    function test_WhenItIsCalledWithJustEnoughGasToBurn() external givenAPrimaryThatBurnsAllItGets {
        uint256 plain = _gasOfTheBackup(0);
        assertGt(plain, RESERVE * 63 / 64 - 10_000, "gas of the backup");
        assertGt(_gasOfTheBackup(1), plain - 9000, "gas of the backup with value");
    }

    // ─── given an error that names what is needed ───

    /// With everything cold, as at the start of a transaction.
    modifier givenAnErrorThatNamesWhatIsNeeded() {
        hungry = new Hungry(10_000, 32);
        vm.deal(address(this), 1 ether);
        _;
    }

    function test_WhenACallIsSentThatMuch() external givenAnErrorThatNamesWhatIsNeeded {
        _uses(address(hungry), BUDGET);
        _assertNeeded(0, stock, 10_000);
        _assertNeeded(1, stock, 10_000);
        // What copying the calldata costs is known well enough.
        _assertNeeded(0, bytes.concat(stock, new bytes(50_000)), 20_000);
        _assertNeeded(1, bytes.concat(stock, new bytes(50_000)), 20_000);
    }

    function test_WhenACallWithALongAnswerIsSentThatMuch() external givenAnErrorThatNamesWhatIsNeeded {
        hungry = new Hungry(10_000, 300_000);
        Limits memory limits = Limits({gas: 300_000, reserve: RESERVE, maxReturn: 300_000, minReturn: 0});
        _use(_new(address(hungry), address(backup), RECORD_CALLS, limits));
        _assertNeeded(0, stock, 10_000);
    }

    function test_WhenAProbeIsSentThatMuch() external givenAnErrorThatNamesWhatIsNeeded {
        bytes memory call = abi.encodeWithSignature("probe(bytes32)", bytes32(0));
        _uses(address(hungry), BUDGET);
        _assertNeeded(0, call, 15_000);
        bytes memory long = new bytes(1000);
        _use(new FaultTolerantProxy(address(hungry), address(backup), OWNER, _config(0), _limits(), long));
        _assertNeeded(0, call, 20_000);
    }

    // ─── Shared ───

    function _uses(address primary_, uint32 gas) private {
        Limits memory limits = Limits({gas: gas, reserve: RESERVE, maxReturn: MAX_RETURN, minReturn: 0});
        _use(_new(primary_, address(backup), RECORD_CALLS, limits));
    }

    /// Every 20,000 up to 3 million, and every value around the edge.
    function _sweep(address target, uint256 value, bytes memory data) private {
        uint256 edge = _edge(target, value, data, false);
        uint256 balance = address(this).balance;
        for (uint256 gas = 5000; gas < 3_000_000; gas = _next(gas, edge)) {
            bool ok = this.callAndJudge(target, gas, value, data, false);
            if (ok) {
                balance -= value;
                breaker.failureCount = 0;
            }
            _assertStored();
            assertEq(address(this).balance, balance, "money of the caller");
            if (ok) _storeOneFailure();
        }
    }

    function _next(uint256 gas, uint256 edge) private pure returns (uint256) {
        if (gas + 60 < edge) return gas + 20_000 < edge - 60 ? gas + 20_000 : edge - 60;
        return gas < edge + 60 ? gas + 1 : gas + 100_000;
    }

    /// A call of the test to itself, so that the memory for a long answer is free again after it.
    function callAndJudge(address target, uint256 gas, uint256 value, bytes calldata data, bool reads)
        external
        returns (bool ok)
    {
        bytes memory answer;
        if (reads) (ok, answer) = target.staticcall{gas: gas}(data);
        else (ok, answer) = target.call{gas: gas, value: value}(data);
        if (ok) assertEq(answer.length, hungry.SIZE(), "length of the answer");
        else if (gas > SILENT + 3 * data.length) assertTrue(_isInsufficientGas(answer), "InsufficientGas");
        else assertTrue(answer.length == 0 || _isInsufficientGas(answer), "InsufficientGas or nothing");
    }

    /// The least gas with which a call is answered.
    function _edge(address target, uint256 value, bytes memory data, bool reads) private returns (uint256 most) {
        uint256 state = vm.snapshotState();
        uint256 least = 1000;
        most = 6_000_000;
        while (most - least > 1) {
            uint256 gas = (least + most) / 2;
            if (this.isAnswered(target, gas, value, data, reads)) most = gas;
            else least = gas;
            vm.revertToState(state);
        }
        vm.revertToStateAndDelete(state);
        _watch();
    }

    function isAnswered(address target, uint256 gas, uint256 value, bytes calldata data, bool reads)
        external
        returns (bool ok)
    {
        if (reads) (ok,) = target.staticcall{gas: gas}(data);
        else (ok,) = target.call{gas: gas, value: value}(data);
    }

    /// What the backup has when the primary burnt its budget and the caller sent no more than needed.
    function _gasOfTheBackup(uint256 value) private returns (uint256 gas) {
        address meter = makeAddr("meter");
        vm.etch(meter, GasMeter.CODE);
        _use(_new(address(new BurnsGas()), meter, RECORD_CALLS));
        _storeOneFailure();
        uint256 edge = _edge(address(proxy), value, stock, false);
        (bool ok, bytes memory answer) = address(proxy).call{gas: edge, value: value}(stock);
        assertTrue(ok, "success");
        _becomesCounted(2);
        _assertWritten();
        return abi.decode(answer, (uint256));
    }

    function _assertBudget(uint256 gas, uint256 value) private {
        (bool ok, bytes memory answer) = address(proxy).call{gas: gas, value: value}(stock);
        assertTrue(ok, "success");
        assertEq(answer, abi.encode(BUDGET - GasMeter.OWN_COST), "budget");
    }

    /// What is needed at the check, and what is spent before it, are enough together; `less` than that is not.
    function _assertNeeded(uint256 value, bytes memory data, uint256 less) private {
        uint256 sent = RESERVE - 1000;
        _cool();
        (bool ok, bytes memory answer) = address(proxy).call{gas: sent, value: value}(data);
        assertTrue(!ok && _isInsufficientGas(answer), "InsufficientGas");
        uint256 needed;
        uint256 available;
        assembly ("memory-safe") {
            needed := mload(add(answer, 36))
            available := mload(add(answer, 68))
        }
        assertLt(available, sent, "available");
        needed += sent - available;

        _cool();
        assertFalse(this.isAnswered(address(proxy), needed - less, value, data, false), "answered with less");
        _cool();
        assertTrue(this.isAnswered(address(proxy), needed, value, data, false), "answered");
    }

    function _cool() private {
        vm.cool(address(proxy));
        vm.cool(address(hungry));
    }
}
