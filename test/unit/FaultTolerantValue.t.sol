// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {Teller} from "../mocks/Teller.sol";
import {BurnsGas} from "../mocks/weird/BurnsGas.sol";
import {RevertsLate} from "../mocks/weird/RevertsLate.sol";
import {TakesValue} from "../mocks/weird/TakesValue.sol";
import {DecoratedTest} from "../utils/DecoratedTest.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Money that is sent along: it arrives at one of the two, or it comes back.
contract FaultTolerantValueTest is DecoratedTest {
    uint256 private constant VALUE = 1 ether;
    /// What the body spends around the mock's work: a value costs it 9,000, and the stipend of 2,300 comes back.
    uint256 private constant BODY = 7000;
    uint256 private constant GIVE_OR_TAKE = 3000;

    address private thief = makeAddr("thief");

    function setUp() public override {
        super.setUp();
        vm.deal(address(this), VALUE);
    }

    // ─── given the primary takes deposits ───

    modifier givenThePrimaryTakesDeposits() {
        _;
        _assertUntouched();
    }

    function test_WhenAValueComesIn_Row17() external givenThePrimaryTakesDeposits {
        assertEq(_deposit(), VALUE);
        _isAt(address(primary));
    }

    function test_WhenNoValueComesIn() external givenThePrimaryTakesDeposits {
        assertEq(host.deposit(address(this)), 0);
        _isAt(address(this));
    }

    /// None of it is spent by mistake, here or when the primary fails.
    function test_WhenTheHostAlreadyHasMoney_Row17() external givenThePrimaryTakesDeposits {
        vm.deal(watched, 5 ether);
        assertEq(_deposit(), VALUE);
        assertEq(watched.balance, 5 ether);
        primary.toggleMood();
        vm.deal(address(this), VALUE);
        assertEq(_deposit(), VALUE);
        assertEq(watched.balance, 5 ether);
        assertEq(address(primary).balance, VALUE);
        assertEq(address(secondary).balance, VALUE);
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _store();
    }

    // ─── given the primary does not take deposits ───

    modifier givenThePrimaryDoesNotTakeDeposits() {
        _;
        assertEq(_deposit(), VALUE);
        _isAt(address(secondary));
        _assertFailed();
    }

    function test_WhenItIsInAMood_Row17() external givenThePrimaryDoesNotTakeDeposits {
        primary.toggleMood();
    }

    function test_WhenItBurnsItsGas_Row17() external givenThePrimaryDoesNotTakeDeposits {
        _usePrimary(address(new BurnsGas()));
    }

    function test_WhenItHasNoCode_Row17() external givenThePrimaryDoesNotTakeDeposits {
        _usePrimary(makeAddr("nobody"));
    }

    function test_WhenItTakesTheValueAndAnswersGarbage_Row17() external givenThePrimaryDoesNotTakeDeposits {
        _usePrimary(address(new TakesValue(payable(thief))));
    }

    /// What a value costs the host is not the primary's doing.
    function test_WhenItRevertsWithMoreThanA16thLeft() external givenThePrimaryDoesNotTakeDeposits {
        _opensWith(BUDGET - BUDGET / 16 - BODY - GIVE_OR_TAKE, Outcome.Reverted);
    }

    function test_WhenItRevertsWithLessThanA16thLeft() external givenThePrimaryDoesNotTakeDeposits {
        _opensWith(BUDGET - BUDGET / 16 - BODY + GIVE_OR_TAKE, Outcome.BudgetSpent);
    }

    // ─── given it is open ───

    modifier givenItIsOpen() {
        _storeOpen({retryAt: START + 1});
        _;
        _assertUntouched();
    }

    function test_WhenAValueComesInThen_Row17() external givenItIsOpen {
        assertEq(_deposit(), VALUE);
        _isAt(address(secondary));
    }

    // ─── given both refuse ───

    modifier givenBothRefuse() {
        primary.toggleMood();
        secondary.toggleMood();
        _;
        vm.expectRevert(Teller.InAMood.selector);
        _deposit();
        _isAt(address(this));
        _assertStored();
    }

    function test_RevertWhen_AValueComesInForNothing_Row17() external givenBothRefuse {}

    function test_RevertWhen_AValueComesInForNothingWhileOpen_Row17() external givenBothRefuse {
        _storeOpen({retryAt: START + 1});
    }

    // ─── given any gas ───

    modifier givenAnyGas() {
        _;
    }

    function test_WhenAValueComesInWithThat_Row02() external givenAnyGas {
        bytes32 word = vm.load(watched, id);
        uint256 untouched = vm.snapshotState();
        bool answered;
        for (uint256 gas_ = 21_000; gas_ < BUDGET + RESERVE + 50_000; gas_ += 293) {
            assertTrue(vm.revertToState(untouched));
            (bool ok, bytes memory data) =
                watched.call{gas: gas_, value: VALUE}(abi.encodeCall(host.deposit, (address(this))));
            assertEq(vm.load(watched, id), word, "word");
            _isAt(ok ? address(primary) : address(this));
            if (!ok) assertTrue(data.length == 0 || bytes4(data) == GuardedCall.InsufficientGas.selector, "error");
            assertTrue(ok || !answered, "one edge");
            answered = ok;
        }
        assertTrue(answered);
    }

    // ─── given a body that tells what gas it has ───

    modifier givenABodyThatTellsWhatGasItHas() {
        _use(new MeteredHost(primary, secondary, _config(), _limits()));
        _;
        _assertUntouched();
    }

    /// The stipend of a value is a part of the budget, not more and not less. What the dispatcher takes is below it.
    function test_WhenItIsCalledWithAndWithoutAValue() external givenABodyThatTellsWhatGasItHas {
        MeteredHost metered = MeteredHost(watched);
        uint256 without = metered.meter();
        _assertUntouched();
        assertEq(metered.meter{value: VALUE}(), without, "with a value");
        assertGt(without, BUDGET - 2300, "without a value");
        assertLt(without, BUDGET, "without a value");
    }

    // ─── given too little gas ───

    modifier givenTooLittleGas() {
        _;
        _assertUntouched();
    }

    /// A value costs 9,000.
    function test_RevertWhen_AValueComesInWithIt() external givenTooLittleGas {
        _needs(VALUE, abi.encodeCall(host.deposit, (address(this))), BUDGET + RESERVE + 3000 + 9000);
        _isAt(address(this));
    }

    function test_RevertWhen_NoValueComesInWithIt() external givenTooLittleGas {
        _needs(0, abi.encodeCall(host.deposit, (address(this))), BUDGET + RESERVE + 3000);
    }

    // ─── Helpers ───

    function _deposit() private returns (uint256) {
        return host.deposit{value: VALUE}(address(this));
    }

    function _isAt(address where) private view {
        assertEq(where.balance, VALUE, "balance");
        address[5] memory all = [address(this), address(primary), address(secondary), watched, thief];
        uint256 sum;
        for (uint256 i; i < all.length; ++i) {
            sum += all[i].balance;
        }
        assertEq(sum, VALUE, "sum");
    }

    function _usePrimary(address primary_) private {
        primary = Teller(primary_);
        _use(_deploy(ITeller(primary_), secondary));
    }

    /// The cause shows where the failure opens the breaker; then the test goes on with one that is closed.
    function _opensWith(uint256 work, Outcome cause) private {
        _usePrimary(address(new RevertsLate(work)));
        uint256 before = vm.snapshotState();
        breaker.failureCount = THRESHOLD - 1;
        _store();
        assertEq(_deposit(), VALUE);
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(cause);
        assertTrue(vm.revertToState(before));
        _watch();
    }
}

/// @notice A host that answers with the gas of the attempt.
contract MeteredHost is DecoratedHost {
    constructor(ITeller primary_, ITeller secondary_, Config memory config, Limits memory limits)
        DecoratedHost(primary_, secondary_, config, limits)
    {}

    function meter() external payable faultTolerant(_breaker, address(secondary), _limits) returns (uint256) {
        return gasleft();
    }
}
