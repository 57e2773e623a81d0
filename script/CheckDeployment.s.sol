// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Params, ParamsReader} from "./Params.sol";
import {Entry, Record} from "./Record.sol";
import {Breaker} from "contracts/CircuitBreaker.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {Script} from "forge-std/Script.sol";
import {console} from "forge-std/console.sol";

/// @title  CheckDeployment
/// @notice Compares a chain with deployments/<chainid>.json and with the parameters of script/params/<network>.json:
///
///         forge script script/CheckDeployment.s.sol --rpc-url URL
///
///         It sends nothing, and forge exits 1 at the first difference.
/// @dev    Of every contract in the file: there is code, and the recorded breakers are among those it lists. Of the
///         three that script/Deploy.s.sol deploys also code, immutables, greetings and policy. A breaker's state is
///         not compared: that it opens is what it is for.
contract CheckDeployment is ParamsReader, Record, Script {
    /// @notice There is no deployment file for this chain.
    error NoRecord(string path);
    /// @notice The file does not have this contract.
    error NotRecorded(string name);
    /// @notice The chain is not as the file or the parameters say.
    /// @param  name     The contract, by its name in the file; "" for the file as a whole.
    /// @param  what     What of it differs.
    /// @param  found    What is there.
    /// @param  expected What the file or the parameters ask for.
    error Differs(string name, string what, string found, string expected);

    /// @notice What the command line runs.
    function run() external {
        string memory path = _recordPath();
        if (!vm.exists(path)) revert NoRecord(path);
        check(vm.readFile(path), _readParams(_paramsPath()));
        console.log("as recorded:", path);
    }

    /// @notice Reverts at the first difference between the chain, a deployment file's content, and the parameters.
    function check(string memory json, Params memory params) public {
        _same("", "chainId", block.chainid, vm.parseJsonUint(json, "$.chainId"));
        string[] memory names = vm.parseJsonKeys(json, "$.contracts");
        for (uint256 i = 0; i < names.length; i++) {
            _checkEntry(names[i], _read(json, names[i]));
        }

        address moody = _recorded(json, "moody", "Moody").addr;
        _sameCode("moody", moody, address(new Moody(params.moodyGreeting)));
        _same("moody", "greeting", Moody(moody).greeting(), params.moodyGreeting);

        address stoic = _recorded(json, "stoic", "Stoic").addr;
        _sameCode("stoic", stoic, address(new Stoic(params.stoicGreeting)));
        _same("stoic", "greeting", Stoic(stoic).greeting(), params.stoicGreeting);

        _checkResilient(_recorded(json, "resilient", "Resilient"), moody, stoic, params);
    }

    function _checkEntry(string memory name, Entry memory entry) private view {
        if (entry.addr.code.length == 0) revert Differs(name, "code", "none", vm.toString(entry.addr));
        if (entry.slots.length == 0) return;
        try ICircuitBreaker(entry.addr).breakers() returns (bytes32[] memory listed) {
            for (uint256 i = 0; i < entry.slots.length; i++) {
                if (!_contains(listed, entry.slots[i])) {
                    revert Differs(
                        name, string.concat("breaker ", entry.labels[i]), "not listed", vm.toString(entry.slots[i])
                    );
                }
            }
        } catch {
            revert Differs(name, "breakers()", "a revert", "a list");
        }
    }

    function _checkResilient(Entry memory entry, address moody, address stoic, Params memory params) private {
        string memory name = "resilient";
        Resilient resilient = Resilient(entry.addr);
        // Before the code, which holds both: it would only say that something differs.
        _same(name, "primary", address(resilient.primary()), moody);
        _same(name, "secondary", address(resilient.secondary()), stoic);
        Resilient expected = new Resilient(IHuman(moody), IHuman(stoic), params.failureThreshold, params.cooldown);
        _sameCode(name, entry.addr, address(expected));

        _same(name, "breakers in the file", entry.labels.length, 1);
        _same(name, "breaker label", entry.labels[0], "primary");
        Breaker memory found = resilient.breaker();
        Breaker memory policy = expected.breaker();
        _same(name, "failure_threshold", found.failureThreshold, policy.failureThreshold);
        _same(name, "cooldown", found.cooldown, policy.cooldown);
        _same(name, "success_threshold", found.successThreshold, policy.successThreshold);
        _same(name, "max_cooldown", found.maxCooldown, policy.maxCooldown);
        _same(name, "window", found.window, policy.window);
        _same(name, "flags", found.flags, policy.flags);
    }

    function _recorded(string memory json, string memory name, string memory artifact)
        private
        view
        returns (Entry memory entry)
    {
        if (!_has(json, name)) revert NotRecorded(name);
        entry = _read(json, name);
        _same(name, "artifact", entry.artifact, artifact);
    }

    // ─── Comparing ───

    /// Code of a contract deployed here and now, by the same constructor: the immutables are in it.
    function _sameCode(string memory name, address addr, address expected) private view {
        _same(name, "code hash", vm.toString(addr.codehash), vm.toString(expected.codehash));
    }

    function _same(string memory name, string memory what, address found, address expected) private pure {
        _same(name, what, vm.toString(found), vm.toString(expected));
    }

    function _same(string memory name, string memory what, uint256 found, uint256 expected) private pure {
        _same(name, what, vm.toString(found), vm.toString(expected));
    }

    function _same(string memory name, string memory what, string memory found, string memory expected) private pure {
        if (keccak256(bytes(found)) != keccak256(bytes(expected))) revert Differs(name, what, found, expected);
    }

    function _contains(bytes32[] memory list, bytes32 item) private pure returns (bool) {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == item) return true;
        }
        return false;
    }
}
