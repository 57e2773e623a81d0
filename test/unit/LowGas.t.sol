// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {GuardedHost} from "../mocks/GuardedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {Delegated} from "../mocks/weird/Delegated.sol";
import {Relay} from "../mocks/weird/Relay.sol";
import {SlowHuman} from "../mocks/weird/SlowHuman.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {Word} from "../utils/Word.sol";
import {Breaker, Config} from "contracts/CircuitBreaker.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Whoever sends the transaction chooses its gas. There is no choice by which a healthy primary is blamed.
/// @dev    Every call meets a host that was never accessed, with one failure on its record: a success clears it, a
///         failure doubles it.
/// forge-config: default.evm_version = "prague"
abstract contract LowGasTest is Test {
    string internal constant PRIMARY = "I am the primary";
    string internal constant SECONDARY = "I am the secondary";

    uint256 private constant LEAST = 21_000;
    uint256 private constant MOST = 3_000_000;
    uint256 private constant STEP = 50_000;
    /// Gas by gas on both sides of the edge, and in strides beyond: the margin, the reserve, and what the EVM keeps.
    uint256 private constant NEAR = 16;
    uint256 private constant BEYOND = 50_000;
    uint256 private constant STRIDE = 2497;

    uint256 private constant DEPTH = 8;

    struct Sweep {
        address host;
        bytes input;
        bytes answer;
        bytes32 before;
        bytes32 afterwards;
        uint256 untouched;
    }

    Stoic internal secondary;

    /// @dev By the number of contracts below it.
    address[DEPTH] private passing;
    address[DEPTH] private wrapping;
    address private account;

    /// @dev The kind of host under test. Its functions are Resilient's.
    function _deploy(address primary, uint32 budget) internal virtual returns (address);

    /// @dev What a healthy primary needs.
    function _work() internal pure virtual returns (uint256);

    /// Whatever is made here is cold in a test.
    function setUp() public {
        vm.warp(START);
        secondary = new Stoic(SECONDARY);
        SlowHuman human = new SlowHuman(PRIMARY, _work());
        (passing[0], wrapping[0]) = (address(human), address(human));
        for (uint256 i = 1; i < DEPTH; ++i) {
            passing[i] = address(new Relay({next: passing[i - 1], wraps: false}));
            wrapping[i] = address(new Relay({next: wrapping[i - 1], wraps: true}));
        }
        // An account speaks with its own storage, so the greeting is there.
        account = makeAddr("account");
        vm.etch(account, Delegated.code(address(human)));
        vm.store(account, bytes32(0), vm.load(address(human), bytes32(0)));
    }

    // ─── given a healthy primary that works by itself ───

    modifier givenAHealthyPrimaryThatWorksByItself() {
        _;
    }

    function test_WhenItIsAskedWithAnyGas_Row02() external givenAHealthyPrimaryThatWorksByItself {
        _asks(passing[0]);
    }

    function test_WhenItIsProbedWithAnyGas_Row02() external givenAHealthyPrimaryThatWorksByItself {
        _probes(passing[0]);
    }

    // ─── given a healthy primary that passes an error on ───

    modifier givenAHealthyPrimaryThatPassesAnErrorOn() {
        _;
    }

    function test_WhenItHasOneToThreeBelowIt_Row03() external givenAHealthyPrimaryThatPassesAnErrorOn {
        _asks(passing[1]);
        _probes(passing[2]);
        _asks(passing[3]);
    }

    function test_WhenItHasFourToSevenBelowIt_Row03() external givenAHealthyPrimaryThatPassesAnErrorOn {
        _probes(passing[4]);
        _asks(passing[5]);
        _probes(passing[6]);
        _asks(passing[7]);
    }

    // ─── given a healthy primary that wraps an error ───

    modifier givenAHealthyPrimaryThatWrapsAnError() {
        _;
    }

    function test_WhenItHasOneToThreeBelowWhichWrap_Row03() external givenAHealthyPrimaryThatWrapsAnError {
        _probes(wrapping[1]);
        _asks(wrapping[2]);
        _probes(wrapping[3]);
    }

    function test_WhenItHasFourToSevenBelowWhichWrap_Row03() external givenAHealthyPrimaryThatWrapsAnError {
        _asks(wrapping[4]);
        _probes(wrapping[5]);
        _asks(wrapping[6]);
        _probes(wrapping[7]);
    }

    // ─── given an account that has delegated to a healthy primary ───

    modifier givenAnAccountThatHasDelegatedToAHealthyPrimary() {
        _;
    }

    function test_WhenTheAccountIsAskedWithAnyGas_Row03() external givenAnAccountThatHasDelegatedToAHealthyPrimary {
        _asks(account);
    }

    function test_WhenTheAccountIsProbedWithAnyGas_Row03() external givenAnAccountThatHasDelegatedToAHealthyPrimary {
        _probes(account);
    }

    // ─── Sweeping ───

    function _asks(address primary) private {
        _sweep(primary, abi.encodeCall(Resilient.safeAsk, ()), abi.encode(PRIMARY));
    }

    function _probes(address primary) private {
        _sweep(primary, abi.encodeCall(Resilient.probe, (bytes32(0))), abi.encode(Outcome.Ok));
    }

    function _sweep(address primary, bytes memory input, bytes memory answer) private {
        uint32 budget = _tightestBudget(primary, input, answer);
        Sweep memory s = Sweep(_deploy(primary, budget), input, answer, 0, 0, 0);
        Breaker memory breaker = Resilient(s.host).breaker();
        s.afterwards = bytes32(Word.pack(breaker));
        breaker.failureCount = 1;
        s.before = bytes32(Word.pack(breaker));
        vm.store(s.host, 0, s.before);
        s.untouched = vm.snapshotState();

        uint256 low = LEAST;
        uint256 high;
        for (uint256 gas_ = LEAST; gas_ < MOST; gas_ += STEP) {
            if (!_answers(s, gas_)) low = gas_;
            else if (high == 0) high = gas_;
        }
        assertGt(high, low, "an answer with less gas than without one");
        while (high - low > 1) {
            uint256 middle = (low + high) / 2;
            if (_answers(s, middle)) high = middle;
            else low = middle;
        }
        for (uint256 gas_ = high - NEAR; gas_ < high + NEAR; ++gas_) {
            assertEq(_answers(s, gas_), gas_ >= high, "one edge");
        }
        for (uint256 gas_ = high - BEYOND; gas_ < high + BEYOND; gas_ += STRIDE) {
            assertEq(_answers(s, gas_), gas_ >= high, "one edge, far away");
        }
    }

    /// With one gas less the healthy primary could not answer even if it were given all of it. So a host that gives it
    /// one gas less than its budget shows.
    function _tightestBudget(address primary, bytes memory input, bytes memory answer) private returns (uint32) {
        uint256 cold = vm.snapshotState();
        uint256 low = _work();
        uint256 high = 2 * low;
        while (high - low > 1) {
            uint256 middle = (low + high) / 2;
            (bool ok, bytes memory data) = _deploy(primary, uint32(middle)).call(input);
            if (ok && keccak256(data) == keccak256(answer)) high = middle;
            else low = middle;
            assertTrue(vm.revertToState(cold));
        }
        return uint32(high);
    }

    /// Whether the primary answered with this gas. If it did not, nothing changed.
    function _answers(Sweep memory s, uint256 gas_) private returns (bool) {
        assertTrue(vm.revertToState(s.untouched));
        (bool ok, bytes memory data) = s.host.call{gas: gas_}(s.input);
        if (ok) {
            assertEq(data, s.answer, "answered by another");
            assertEq(vm.load(s.host, 0), s.afterwards, "word after an answer");
            return true;
        }
        assertEq(vm.load(s.host, 0), s.before, "word without an answer");
        // Some gas is needed to find out that there is too little.
        if (data.length > 0) assertEq(bytes4(data), GuardedCall.InsufficientGas.selector, "error");
        else assertLt(gas_, 80_000, "out of gas");
        return false;
    }

    function _config() internal pure returns (Config memory) {
        return Config(THRESHOLD, COOLDOWN, 1, COOLDOWN, 0, 0);
    }
}

/// @notice The example. Its budget is for a string out of storage, so this primary works less.
contract ResilientLowGasTest is LowGasTest {
    function _deploy(address primary, uint32) internal override returns (address) {
        return address(new Resilient(IHuman(primary), secondary, THRESHOLD, COOLDOWN));
    }

    function _work() internal pure override returns (uint256) {
        return 50_000;
    }
}

/// @notice A budget above what comes through eight calls, each of which keeps a 64th; as little reserve as there can
/// be.
contract GuardedLowGasTest is LowGasTest {
    function _deploy(address primary, uint32 budget) internal override returns (address) {
        Limits memory limits = Limits({gas: budget, reserve: 0, maxReturn: 4096, minReturn: 64});
        return address(new GuardedHost(IHuman(primary), secondary, _config(), limits));
    }

    function _work() internal pure override returns (uint256) {
        return 1_500_000;
    }
}

/// @notice The same for a decorated host.
contract DecoratedLowGasTest is LowGasTest {
    function _deploy(address primary, uint32 budget) internal override returns (address) {
        Limits memory limits = Limits({gas: budget, reserve: 0, maxReturn: 0, minReturn: 0});
        return address(new DecoratedHost(ITeller(primary), ITeller(address(secondary)), _config(), limits));
    }

    function _work() internal pure override returns (uint256) {
        return 1_500_000;
    }
}
