// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {BurnsGas} from "../mocks/weird/BurnsGas.sol";
import {HugeAnswer} from "../mocks/weird/HugeAnswer.sol";
import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {FaultTolerantProxy} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";

/// @notice Probing a proxy. The backup is never asked, so it cannot stand in the way of a record.
contract ProxyProbeTest is ProxyTest {
    function setUp() public override {
        super.setUp();
        Limits memory limits = _limits();
        limits.minReturn = MIN_RETURN;
        _use(_new(address(primary), address(backup), 0, limits));
        _storeOneFailure();
        vm.expectCall(address(backup), abi.encodeCall(Shop.stock, ()), 0);
    }

    // ─── given an unknown breaker ───

    modifier givenAnUnknownBreaker() {
        vm.expectCall(address(primary), "", 0);
        _;
        _assertUntouched();
    }

    function test_RevertWhen_ThatIsProbed() external givenAnUnknownBreaker {
        bytes32 unknown = bytes32(uint256(1));
        bytes memory unknownBreaker = abi.encodeWithSelector(ICircuitBreaker.UnknownBreaker.selector, unknown);
        vm.expectRevert(unknownBreaker);
        proxy.probe(unknown);
        vm.expectRevert(unknownBreaker);
        proxy.breakerState(unknown);
    }

    // ─── given it records probes only ───

    modifier givenItRecordsProbesOnly() {
        _;
    }

    function test_WhenThePrimaryIsWell() external givenItRecordsProbesOnly {
        _assertProbe(Outcome.Ok);
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenThePrimaryFailsUpToTheThreshold() external givenItRecordsProbesOnly {
        primary.close(true);
        _failsUpToTheThreshold();
    }

    function test_WhenBothFailUpToTheThreshold_Row10() external givenItRecordsProbesOnly {
        primary.close(true);
        backup.close(true);
        _failsUpToTheThreshold();
    }

    function test_WhenThePrimaryIsGone() external givenItRecordsProbesOnly {
        vm.etch(address(primary), "");
        _counts(Outcome.NoCode);
    }

    function test_WhenThePrimaryBurnsItsBudget() external givenItRecordsProbesOnly {
        vm.etch(address(primary), address(new BurnsGas()).code);
        _counts(Outcome.BudgetSpent);
    }

    function test_WhenThePrimaryAnswersTooMuch() external givenItRecordsProbesOnly {
        vm.etch(address(primary), address(new HugeAnswer(MAX_RETURN + 1)).code);
        _counts(Outcome.ReturnTooLarge);
    }

    function test_WhenThePrimaryAnswersTooLittle() external givenItRecordsProbesOnly {
        _use(_with(new RawAnswer(new bytes(MIN_RETURN - 1)), ""));
        _store();
        _assertProbe(Outcome.BadReturn);
        _becomesCounted(1);
        _assertWritten();
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        vm.expectCall(address(primary), "", 0);
        _;
        _assertUntouched();
    }

    function test_WhenItIsProbedTooEarly() external givenItIsOpen {
        _assertProbe(Outcome.NotTried);
    }

    function test_WhenItIsProbedWithLittleGas() external givenItIsOpen {
        assertEq(uint8(proxy.probe{gas: 10_000}(id)), uint8(Outcome.NotTried), "outcome");
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        _storeOpen({retryAt: START});
        _;
    }

    function test_WhenThePrimaryHasRecovered() external givenItIsHalf_open {
        _assertProbe(Outcome.Ok);
        _becomesClosed();
        _assertClosed();
    }

    function test_WhenThePrimaryStillFails() external givenItIsHalf_open {
        primary.close(true);
        _watch();
        _assertProbe(Outcome.Reverted);
        breaker.reopenCount = 1;
        breaker.retryAt = START + COOLDOWN;
        _assertOpened(Outcome.Reverted);
    }

    /// A prober cannot starve the primary: it is told the truth, or that there was not enough gas.
    function test_WhenItIsProbedWithAnyGas_Row12() external givenItIsHalf_open {
        uint256 refused;
        uint256 closed;
        for (uint256 gas = 5000; gas < 700_000; gas += 487) {
            uint256 state = vm.snapshotState();
            (bool ok, bytes memory answer) = address(proxy).call{gas: gas}(abi.encodeCall(proxy.probe, (id)));
            if (ok) {
                ++closed;
                assertEq(abi.decode(answer, (uint8)), uint8(Outcome.Ok), "outcome");
            } else {
                ++refused;
                assertTrue(_isInsufficientGas(answer) || gas < 20_000, "InsufficientGas");
                _assertStored();
            }
            vm.revertToState(state);
        }
        assertGt(refused, 500, "number of refusals");
        assertGt(closed, 100, "number of answers");
    }

    // ─── given a probe of a function that the proxy has too ───

    modifier givenAProbeOfAFunctionThatTheProxyHasToo() {
        Limits memory limits = _limits();
        bytes memory probeCalldata = abi.encodeCall(Shop.owner, ());
        _use(new FaultTolerantProxy(address(primary), address(backup), OWNER, _config(0), limits, probeCalldata));
        _;
    }

    function test_WhenItIsProbedWell() external givenAProbeOfAFunctionThatTheProxyHasToo {
        vm.expectCall(address(primary), abi.encodeCall(Shop.owner, ()), 1);
        _assertProbe(Outcome.Ok);
        _assertUntouched();
    }

    // ─── given a probe without calldata ───

    modifier givenAProbeWithoutCalldata() {
        _use(new FaultTolerantProxy(address(primary), address(backup), OWNER, _config(0), _limits(), ""));
        _;
    }

    function test_WhenItIsProbedWithout() external givenAProbeWithoutCalldata {
        _assertProbe(Outcome.Ok);
        _assertUntouched();
        primary.close(true);
        _watch();
        _assertProbe(Outcome.Reverted);
        _becomesCounted(1);
        _assertWritten();
    }

    // ─── given a probe of many bytes ───

    modifier givenAProbeOfManyBytes() {
        _;
    }

    function test_WhenItIsProbedAtLength() external givenAProbeOfManyBytes {
        bytes memory text = new bytes(1000);
        for (uint256 i; i < text.length; ++i) {
            text[i] = bytes1(uint8(i));
        }
        bytes memory probeCalldata = abi.encodeCall(Shop.measure, (text));
        _use(new FaultTolerantProxy(address(primary), address(backup), OWNER, _config(0), _limits(), probeCalldata));
        vm.expectCall(address(primary), probeCalldata, 1);
        _assertProbe(Outcome.Ok);
        _assertUntouched();
        assertEq(primary.sold(), 1, "effect");
    }

    function _failsUpToTheThreshold() private {
        for (uint16 count = 2; count < THRESHOLD; ++count) {
            _counts(Outcome.Reverted);
        }
        _assertProbe(Outcome.Reverted);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    function _counts(Outcome outcome) private {
        _watch();
        _assertProbe(outcome);
        _becomesCounted(breaker.failureCount + 1);
        _assertWritten();
    }

    function _with(RawAnswer weird, bytes memory probeCalldata) private returns (FaultTolerantProxy) {
        Limits memory limits = _limits();
        limits.minReturn = MIN_RETURN;
        return new FaultTolerantProxy(address(weird), address(backup), OWNER, _config(0), limits, probeCalldata);
    }
}
