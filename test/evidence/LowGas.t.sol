// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Relay} from "../mocks/weird/Relay.sol";
import {SlowHuman} from "../mocks/weird/SlowHuman.sol";
import {BudgetShare} from "./defences/BudgetShare.sol";
import {Defence} from "./defences/Defence.sol";
import {ExactBudget} from "./defences/ExactBudget.sol";
import {NonEmptyError} from "./defences/NonEmptyError.sol";
import {PlainTry} from "./defences/PlainTry.sol";
import {SixtyFourth} from "./defences/SixtyFourth.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {Test, console} from "forge-std/Test.sol";

/// @notice How often a healthy primary is blamed because of the gas that its caller chose: a table, with
///         `forge test --match-path 'test/evidence/LowGas*' -vv`.
contract LowGasEvidence is Test {
    uint256 private constant WORK = 1_500_000;
    /// Enough through eight calls, each of which keeps a 64th.
    uint32 private constant BUDGET = 1_800_000;
    uint256 private constant LEAST = 100_000;
    uint256 private constant MOST = 3_000_000;
    uint256 private constant STEP = 50_000;

    uint256[5] private depths = [uint256(1), 2, 3, 5, 8];

    function test_WhereErrorsAreWrapped() external {
        _table("errors wrapped", true);
    }

    function test_WhereErrorsArePassedOn() external {
        _table("errors passed on", false);
    }

    function _table(string memory name, bool wraps) private {
        uint256 tried = (MOST - LEAST) / STEP + 1;
        console.log("A healthy primary of %d gas, %d gas limits from %d", WORK, tried, LEAST);
        console.log("to %d. False failures, %s:", MOST, name);
        console.log("");
        console.log("| depth | try/catch | left <= before/64 | error is empty | left < budget/63 | exact budget |");
        console.log("|---|---|---|---|---|---|");
        for (uint256 i; i < depths.length; ++i) {
            // Otherwise the test runs out of gas: a row is some 400 million.
            vm.resetGasMetering();
            IHuman primary = _primary(depths[i], wraps);
            uint256[5] memory falsely = [
                _count(new PlainTry(primary)),
                _count(new SixtyFourth(primary)),
                _count(new NonEmptyError(primary)),
                _count(new BudgetShare(primary, BUDGET)),
                _count(new ExactBudget(primary, BUDGET))
            ];
            string memory row = string.concat("| ", vm.toString(depths[i]));
            for (uint256 j; j < falsely.length; ++j) {
                row = string.concat(row, " | ", vm.toString(falsely[j]));
            }
            console.log(string.concat(row, " |"));
            assertGt(falsely[0], 0, "a try is never wrong: what is measured here?");
            assertEq(falsely[4], 0, "exact budget");
        }
    }

    /// With how many gas limits the transaction succeeds, and counts a failure.
    function _count(Defence defence) private returns (uint256) {
        for (uint256 gas_ = LEAST; gas_ <= MOST; gas_ += STEP) {
            (bool ok,) = address(defence).call{gas: gas_}(abi.encodeCall(Defence.ask, ()));
            // With the most gas it must work, or all of this is about a primary that is down.
            if (gas_ == MOST) assertTrue(ok, "not even with all gas");
        }
        return defence.failures();
    }

    function _primary(uint256 depth, bool wraps) private returns (IHuman) {
        address primary = address(new SlowHuman("I am the primary", WORK));
        for (uint256 i = 1; i < depth; ++i) {
            primary = address(new Relay(primary, wraps));
        }
        return IHuman(primary);
    }
}
