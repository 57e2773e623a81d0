// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Params, ParamsReader} from "./Params.sol";
import {Planned} from "./Planned.sol";
import {Entry, Record} from "./Record.sol";
import {Rehearsal} from "./Rehearsal.sol";
import {Breaker, Config, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy} from "contracts/FaultTolerantProxy.sol";
import {FeedConfig, ResilientFeed} from "contracts/ResilientFeed.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {AggregatorV3Interface} from "contracts/interfaces/AggregatorV3Interface.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {Script} from "forge-std/Script.sol";
import {console} from "forge-std/console.sol";

/// @title  CheckDeployment
/// @notice Compares a chain with deployments/<chainid>.json and with the parameters of script/params/<network>.json:
///
///         forge script script/CheckDeployment.s.sol --rpc-url URL
///
///         It sends nothing, and forge exits 1 at the first difference.
/// @dev    Of every contract in the file: there is code, and the recorded breakers are among those it lists. Of those
///         that the parameters ask for also what they were constructed with, the breaker's configuration, code and
///         address. A breaker's state is not compared: that it opens is what it is for.
///
///         What is expected is a copy that is constructed here and now from the parameters. Since the address follows
///         from all of them, it finds what no other comparison can; it comes last, since it can't say what differs.
contract CheckDeployment is ParamsReader, Record, Rehearsal, Script {
    /// @notice There is no deployment file for this chain: script/Deploy.s.sol writes it in a broadcast.
    error NoRecord(string path);
    /// @notice The file does not have this contract, which the parameters ask for: deploy it.
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
        for (uint256 i = 0; i < params.contracts.length; i++) {
            Planned memory planned = params.contracts[i];
            if (!_has(json, planned.name)) revert NotRecorded(planned.name);
            _checkPlanned(params.file, planned, _read(json, planned.name));
        }
    }

    // ─── Any contract ───

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

    // ─── What the parameters ask for ───

    function _checkPlanned(string memory file, Planned memory planned, Entry memory entry) private {
        string memory name = planned.name;
        _same(name, "artifact", entry.artifact, planned.artifact);
        address expected = _expected(file, planned);
        _checkSettings(planned, entry.addr, expected);
        _same(name, "breakers in the file", entry.labels.length, planned.hasBreaker ? 1 : 0);
        if (planned.hasBreaker) {
            _same(name, "breaker label", entry.labels[0], "primary");
            _samePolicy(name, _breaker(name, entry.addr, entry.slots[0]), _breaker(name, expected, entry.slots[0]));
        }
        _same(name, "code hash", vm.toString(entry.addr.codehash), vm.toString(expected.codehash));
        _same(name, "address", entry.addr, planned.addr);
    }

    /// A copy of it, constructed here and now.
    function _expected(string memory file, Planned memory planned) private returns (address copy) {
        if (!_equal(planned.artifact, "ResilientFeed")) return _construct(file, planned);
        // A feed can be constructed only while there is a price. Whether there is one now is not what is checked.
        (FeedConfig memory feeds,) = abi.decode(planned.args, (FeedConfig, Config));
        bytes memory call = abi.encodeCall(AggregatorV3Interface.latestRoundData, ());
        vm.mockCall(address(feeds.primary), call, abi.encode(1, 1, block.timestamp, block.timestamp, 1));
        vm.mockCall(address(feeds.backup), call, abi.encode(0, 0, 0, 0, 0));
        copy = _construct(file, planned);
        vm.clearMockedCalls();
    }

    function _breaker(string memory name, address host, bytes32 slot) private view returns (Breaker memory) {
        try ICircuitBreaker(host).breakerState(slot) returns (State, Breaker memory stored) {
            return stored;
        } catch {
            // It lists this breaker, so it is empty.
            revert Differs(name, "breaker primary", "not configured", "configured");
        }
    }

    /// What it was constructed with and can be asked for. Before the code, which holds it: that would only say that
    /// something differs.
    function _checkSettings(Planned memory planned, address found, address expected) private view {
        string memory artifact = planned.artifact;
        string memory name = planned.name;
        if (_equal(artifact, "Moody") || _equal(artifact, "Stoic")) {
            // Both have the same getter.
            _same(name, "greeting", Moody(found).greeting(), Moody(expected).greeting());
        } else if (_equal(artifact, "Resilient")) {
            _same(name, "primary", address(Resilient(found).primary()), address(Resilient(expected).primary()));
            _same(name, "secondary", address(Resilient(found).secondary()), address(Resilient(expected).secondary()));
        } else if (_equal(artifact, "FaultTolerantProxy")) {
            _checkProxy(name, FaultTolerantProxy(payable(found)), FaultTolerantProxy(payable(expected)));
        } else {
            _checkFeed(name, ResilientFeed(found), ResilientFeed(expected));
        }
    }

    function _checkProxy(string memory name, FaultTolerantProxy found, FaultTolerantProxy expected) private view {
        _same(name, "primary", found.primary(), expected.primary());
        _same(name, "backup", found.backup(), expected.backup());
        _same(name, "owner", found.owner(), expected.owner());
    }

    function _checkFeed(string memory name, ResilientFeed found, ResilientFeed expected) private view {
        _same(name, "primary", address(found.primary()), address(expected.primary()));
        _same(name, "backup", address(found.backup()), address(expected.backup()));
        _same(name, "primary_heartbeat", found.primaryHeartbeat(), expected.primaryHeartbeat());
        _same(name, "backup_heartbeat", found.backupHeartbeat(), expected.backupHeartbeat());
        _same(name, "max_deviation_bps", found.maxDeviationBps(), expected.maxDeviationBps());
        _same(name, "description", found.description(), expected.description());
        _same(name, "decimals of the primary", found.decimals(), expected.decimals());
    }

    function _samePolicy(string memory name, Breaker memory found, Breaker memory expected) private pure {
        _same(name, "failure_threshold", found.failureThreshold, expected.failureThreshold);
        _same(name, "cooldown", found.cooldown, expected.cooldown);
        _same(name, "success_threshold", found.successThreshold, expected.successThreshold);
        _same(name, "max_cooldown", found.maxCooldown, expected.maxCooldown);
        _same(name, "window", found.window, expected.window);
        _same(name, "flags", found.flags, expected.flags);
    }

    // ─── Comparing ───

    function _same(string memory name, string memory what, address found, address expected) private pure {
        _same(name, what, vm.toString(found), vm.toString(expected));
    }

    function _same(string memory name, string memory what, uint256 found, uint256 expected) private pure {
        _same(name, what, vm.toString(found), vm.toString(expected));
    }

    function _same(string memory name, string memory what, string memory found, string memory expected) private pure {
        if (!_equal(found, expected)) revert Differs(name, what, found, expected);
    }

    function _contains(bytes32[] memory list, bytes32 item) private pure returns (bool) {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == item) return true;
        }
        return false;
    }
}
