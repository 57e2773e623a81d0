// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Planned} from "./Planned.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {CommonBase} from "forge-std/Base.sol";
import {console} from "forge-std/console.sol";

/// @title  Rehearsal
/// @notice Creates a contract where nobody is watching, to see whether it works.
/// @dev    The deterministic deployer says nothing when a constructor reverts. Created from here, the constructor's own
///         error is what forge shows. It is never broadcast.
abstract contract Rehearsal is CommonBase {
    /// @notice The primary does not answer within what the parameters allow, so the breaker would open and never close.
    ///         If the primary is down just now, wait. Else something is wrong in `contracts.NAME`.
    /// @param  outcome What came of a probe: the name of an `Outcome`.
    /// @param  look    Which keys it can come from, those of other artifacts aside.
    error ProbeFails(string file, string name, string outcome, string look);

    /// Whether a contract that is about to be deployed will work.
    function _rehearse(string memory file, Planned memory planned) internal {
        address copy = _construct(file, planned);
        if (!planned.hasBreaker) return;
        ICircuitBreaker host = ICircuitBreaker(copy);
        Outcome outcome = host.probe(host.breakers()[0]);
        if (outcome != Outcome.Ok) _probeFails(file, planned.name, outcome);
    }

    function _probeFails(string memory file, string memory name, Outcome outcome) private pure {
        if (outcome == Outcome.Reverted) {
            revert ProbeFails(file, name, "Reverted", "primary, probe_calldata");
        }
        if (outcome == Outcome.BudgetSpent) revert ProbeFails(file, name, "BudgetSpent", "gas");
        if (outcome == Outcome.NoCode) revert ProbeFails(file, name, "NoCode", "primary");
        if (outcome == Outcome.BadReturn) {
            revert ProbeFails(file, name, "BadReturn", "min_return, probe_calldata, primary");
        }
        if (outcome == Outcome.ReturnTooLarge) revert ProbeFails(file, name, "ReturnTooLarge", "max_return");
        if (outcome == Outcome.Rejected) revert ProbeFails(file, name, "Rejected", "primary_heartbeat, primary");
        // No probe ends otherwise; a new outcome is at least not taken for a good one.
        revert ProbeFails(file, name, vm.toString(uint256(outcome)), "primary");
    }

    /// A copy of a contract. Reverts as its constructor does, after a line that says whose it is.
    function _construct(string memory file, Planned memory planned) internal returns (address copy) {
        bytes memory initCode = bytes.concat(planned.creationCode, planned.args);
        bytes memory reason;
        assembly ("memory-safe") {
            copy := create(0, add(initCode, 32), mload(initCode))
            reason := mload(0x40)
            mstore(reason, returndatasize())
            returndatacopy(add(reason, 32), 0, returndatasize())
            mstore(0x40, add(reason, and(add(returndatasize(), 63), not(31))))
        }
        if (copy != address(0)) return copy;
        console.log("refused:    contracts.%s of %s: its constructor reverts with this error", planned.name, file);
        assembly ("memory-safe") {
            revert(add(reason, 32), mload(reason))
        }
    }
}
