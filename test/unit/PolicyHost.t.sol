// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Careful, Careless} from "../mocks/Careless.sol";
import {Flags} from "../mocks/Flags.sol";
import {PolicyHost} from "../mocks/PolicyHost.sol";
import {COOLDOWN, Defaults, ONCE_PER_BLOCK, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {PolicyTest} from "../utils/PolicyTest.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FailureRing} from "contracts/policies/FailureRate.sol";

/// @notice All policies together, behind the decorator, as a user would write them.
contract PolicyHostTest is PolicyTest {
    Careless private primary;
    Flags private flags;
    PolicyHost private host;

    function setUp() public override {
        super.setUp();
        primary = new Careless();
        flags = new Flags();
        _use(0);
    }

    function _use(uint8 flagBits) private {
        Config memory config = Defaults.config();
        config.flags = flagBits;
        host = new PolicyHost(primary, new Careful(), flags, config);
        _use(address(host), host.breakers()[0]);
        (, breaker) = host.breakerState(id);
    }

    // ─── given it is closed ───

    modifier givenItIsClosed() {
        _store();
        _;
    }

    function test_WhenACallerSendsBadInputAgainAndAgain() external givenItIsClosed {
        for (uint256 i; i < 20; ++i) {
            _acts(Careless.How.WithBadInput, "backup");
            _assertUntouched();
        }
        _remembers(0, 0);
    }

    function test_WhenEveryOtherCallFails() external givenItIsClosed {
        _acts(Careless.How.Well, "primary");
        _acts(Careless.How.WithoutData, "backup");
        _acts(Careless.How.Well, "primary");
        _remembers(3, 1);
        _watch();
        _acts(Careless.How.WithoutData, "backup");
        _becomesOpen(TRIP_AT_ONCE, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
        _remembers(0, 0);
        _acts(Careless.How.Well, "backup");
    }

    function test_WhenAnErrorThatTripsAtOnceComes() external givenItIsClosed {
        _acts(Careless.How.Broken, "backup");
        _becomesOpen(TRIP_AT_ONCE, START + COOLDOWN);
        _assertOpened(Outcome.Reverted);
    }

    function test_WhenThePrimaryBurnsItsGas() external givenItIsClosed {
        _acts(Careless.How.BurningGas, "backup");
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertWritten();
        _remembers(1, 1);
    }

    function test_WhenTheFlagIsCarriedOverDuringACallThatSucceeds() external givenItIsClosed {
        flags.setFlag(address(primary), true);
        _watch();
        _acts(Careless.How.CarryingTheFlag, "primary");
        _becomesOpen(0, START + COOLDOWN);
        _assertOpened(Outcome.Flagged);
        _remembers(0, 0);
    }

    function test_RevertWhen_ACallerSendsTooLittleGas() external givenItIsClosed {
        vm.expectPartialRevert(GuardedCall.InsufficientGas.selector);
        host.act{gas: 240_000}(Careless.How.Well);
        _assertUntouched();
        _remembers(0, 0);
    }

    // ─── given it is closed and one failure a block counts ───

    modifier givenItIsClosedAndOneFailureABlockCounts() {
        _use(ONCE_PER_BLOCK);
        _store();
        _;
    }

    function test_WhenOneTransactionFailsItAgainAndAgain_Row11() external givenItIsClosedAndOneFailureABlockCounts {
        for (uint256 i; i < 10; ++i) {
            _acts(Careless.How.WithoutData, "backup");
        }
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        _assertStored();
        _remembers(1, 1);
    }

    // ─── given it is half-open ───

    modifier givenItIsHalf_open() {
        breaker = Defaults.halfOpen();
        _store();
        _;
    }

    function test_WhenItIsProbedWhileTheFlagIsRaised() external givenItIsHalf_open {
        flags.setFlag(address(primary), true);
        _watch();
        vm.expectCall(address(primary), abi.encodeCall(Careless.act, (Careless.How.Well)), 0);
        _probes(Outcome.NotTried);
        breaker.retryAt = START + COOLDOWN;
        _assertOpened(Outcome.Flagged);
    }

    function test_WhenItIsProbedWhileTheFlagIsUnknown() external givenItIsHalf_open {
        vm.etch(address(flags), "");
        _probes(Outcome.Ok);
        breaker.successCount = 1;
        breaker.probedAt = 0;
        _assertWritten();
    }

    function test_WhenGoodProbesAreEnough() external givenItIsHalf_open {
        _probes(Outcome.Ok);
        _watch();
        _probes(Outcome.Ok);
        _becomesClosed();
        breaker.probedAt = 0;
        _assertClosed();
        _remembers(0, 0);
    }

    function _acts(Careless.How how, string memory answer) private {
        assertEq(host.act(how), answer, "answer");
    }

    function _probes(Outcome expected) private {
        assertEq(uint8(host.probe(id)), uint8(expected), "outcome");
    }

    function _remembers(uint8 calls, uint8 failures) private view {
        FailureRing memory ring = host.ring();
        assertEq(ring.calls, calls, "calls");
        assertEq(ring.failures, failures, "failures");
    }
}
