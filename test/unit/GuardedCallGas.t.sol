// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Delegated} from "../mocks/weird/Delegated.sol";
import {GasMeter} from "../mocks/weird/GasMeter.sol";
import {GuardHarness} from "../utils/GuardHarness.sol";
import {StarvedTest} from "../utils/StarvedTest.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice A target is given exactly its budget, or it is not called: around the edge, gas by gas.
/// forge-config: default.evm_version = "prague"
contract GuardedCallGasTest is StarvedTest {
    /// What is tried on both sides of the edge, gas by gas.
    uint256 private constant AROUND = 80;
    /// Beyond that, in strides.
    uint256 private constant FAR = 20_000;
    uint256 private constant STRIDE = 97;

    GuardHarness private guard = new GuardHarness();
    address private meter = makeAddr("meter");
    address private account = makeAddr("account");

    address private target;
    Limits private limits;
    bool private isCold;
    uint256 private value;

    function setUp() public {
        vm.etch(meter, GasMeter.CODE);
        vm.etch(account, Delegated.code(meter));
        vm.deal(address(guard), 1 ether);
        target = meter;
    }

    // ─── given that the EVM keeps more than the reserve ───

    modifier givenThatTheEVMKeepsMoreThanTheReserve() {
        limits = Limits({gas: 1_000_000, reserve: 0, maxReturn: 32, minReturn: 32});
        _;
    }

    function test_WhenAColdTargetIsRead() external givenThatTheEVMKeepsMoreThanTheReserve {
        isCold = true;
        _isGivenItsBudgetOrNothing(_read());
    }

    function test_WhenAWarmTargetIsRead() external givenThatTheEVMKeepsMoreThanTheReserve {
        _isGivenItsBudgetOrNothing(_read());
    }

    function test_WhenAColdTargetIsCalled() external givenThatTheEVMKeepsMoreThanTheReserve {
        isCold = true;
        _isGivenItsBudgetOrNothing(_call());
    }

    function test_WhenAWarmTargetIsCalled() external givenThatTheEVMKeepsMoreThanTheReserve {
        _isGivenItsBudgetOrNothing(_call());
    }

    function test_WhenAColdTargetIsCalledWithValue() external givenThatTheEVMKeepsMoreThanTheReserve {
        (isCold, value) = (true, 1);
        _isGivenItsBudgetOrNothing(_call());
    }

    function test_WhenAWarmTargetIsCalledWithValue() external givenThatTheEVMKeepsMoreThanTheReserve {
        value = 1;
        _isGivenItsBudgetOrNothing(_call());
    }

    // ─── given a reserve above what the EVM keeps ───

    modifier givenAReserveAboveWhatTheEVMKeeps() {
        limits = Limits({gas: 1_000_000, reserve: 100_000, maxReturn: 32, minReturn: 32});
        _;
    }

    function test_WhenAColdTargetIsReadWithIt() external givenAReserveAboveWhatTheEVMKeeps {
        isCold = true;
        _isGivenItsBudgetOrNothing(_read());
    }

    function test_WhenAColdTargetIsCalledWithItAndValue() external givenAReserveAboveWhatTheEVMKeeps {
        (isCold, value) = (true, 1);
        _isGivenItsBudgetOrNothing(_call());
    }

    // ─── given an account that has delegated ───

    /// The EVM takes the access of the contract it delegates to from what is left for the call.
    modifier givenAnAccountThatHasDelegated() {
        limits = Limits({gas: 1_000_000, reserve: 0, maxReturn: 32, minReturn: 32});
        target = account;
        _;
    }

    function test_WhenTheColdAccountIsRead_Row03() external givenAnAccountThatHasDelegated {
        isCold = true;
        _isGivenItsBudgetOrNothing(_read());
    }

    function test_WhenTheWarmAccountIsRead_Row03() external givenAnAccountThatHasDelegated {
        _isGivenItsBudgetOrNothing(_read());
    }

    function test_WhenTheColdAccountIsCalledWithValue_Row03() external givenAnAccountThatHasDelegated {
        (isCold, value) = (true, 1);
        _isGivenItsBudgetOrNothing(_call());
    }

    function test_WhenTheWarmAccountIsCalledWithValue_Row03() external givenAnAccountThatHasDelegated {
        value = 1;
        _isGivenItsBudgetOrNothing(_call());
    }

    // ─── given the smallest budget there is ───

    /// With a value, all of it is the stipend. The reserve is for the harness to answer with.
    modifier givenTheSmallestBudgetThereIs() {
        limits = Limits({gas: 2300, reserve: 20_000, maxReturn: 32, minReturn: 32});
        isCold = true;
        _;
    }

    function test_WhenTheTargetIsRead() external givenTheSmallestBudgetThereIs {
        _isGivenItsBudgetOrNothing(_read());
    }

    function test_WhenTheTargetIsCalledWithValue() external givenTheSmallestBudgetThereIs {
        value = 1;
        _isGivenItsBudgetOrNothing(_call());
    }

    // ─── given the largest budget there is ───

    modifier givenTheLargestBudgetThereIs() {
        limits = Limits({gas: 16_416_635, reserve: 0, maxReturn: 32, minReturn: 32});
        _;
    }

    /// 21,000 are gone before the first instruction, and some for the input.
    function test_WhenTheTargetIsReadWithAllTheGasOfATransaction() external givenTheLargestBudgetThereIs {
        uint256 edge = _isGivenItsBudgetOrNothing(_read());
        assertLe(edge, 16_777_216 - 21_000 - 10_000);
    }

    // ─── Helpers ───

    function _read() private view returns (bytes memory) {
        return abi.encodeCall(guard.tryStaticCall, (target, "", guard.pack(limits)));
    }

    function _call() private view returns (bytes memory) {
        return abi.encodeCall(guard.tryCall, (target, value, "", guard.pack(limits)));
    }

    /// @return edge The least gas for which the target is called.
    function _isGivenItsBudgetOrNothing(bytes memory input) private returns (uint256 edge) {
        uint256 wanted = guard.needed(guard.pack(limits)) + (value == 0 ? 0 : 9000);
        (uint256 low, uint256 high) = (wanted / 2, wanted * 2);
        uint256 cold = vm.snapshotState();
        assertFalse(_isCalled(cold, input, low, wanted), "at the lower end");
        assertTrue(_isCalled(cold, input, high, wanted), "at the upper end");
        while (high - low > 1) {
            uint256 middle = (low + high) / 2;
            if (_isCalled(cold, input, middle, wanted)) high = middle;
            else low = middle;
        }
        edge = high;
        for (uint256 gas_ = edge - AROUND; gas_ < edge; ++gas_) {
            assertFalse(_isCalled(cold, input, gas_, wanted), "called below the edge");
        }
        for (uint256 gas_ = edge; gas_ < edge + AROUND; ++gas_) {
            assertTrue(_isCalled(cold, input, gas_, wanted), "not called above the edge");
        }
        for (uint256 gas_ = edge; gas_ < edge + FAR; gas_ += STRIDE) {
            assertTrue(_isCalled(cold, input, gas_, wanted), "not called far above the edge");
        }
    }

    /// Whether the target was called with this gas. If so it was given its budget, else the reason is named.
    function _isCalled(uint256 cold, bytes memory input, uint256 gas_, uint256 wanted) private returns (bool ok) {
        // Accounts are as they were when the snapshot was taken: never accessed.
        if (isCold) assertTrue(vm.revertToState(cold), "snapshot");
        bytes memory data;
        (ok, data) = address(guard).call{gas: gas_}(input);
        if (ok) {
            (Outcome outcome, bytes memory answer) = abi.decode(data, (Outcome, bytes));
            assertEq(uint8(outcome), uint8(Outcome.Ok), "outcome");
            assertEq(abi.decode(answer, (uint256)) + GasMeter.OWN_COST, limits.gas, "given");
            return true;
        }
        _assertStarved(data, wanted);
    }
}
