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
///         It sends nothing, and forge exits 1 at the first contract that differs.
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
    /// @notice The chain is not as the file or the parameters say. Deploy again where the parameters are right, else
    ///         correct them.
    /// @param  name        The contract, by its name in the file; "" for the file as a whole.
    /// @param  differences Each as "WHAT: FOUND, EXPECTED", both with where they are from:
    ///                     "cooldown: 60 on the chain, 61 in script/params/anvil.json".
    error Differs(string name, string[] differences);

    // Where values are from, as differences say it.
    string private _inRecord;
    string private _inParams;
    /// Those of the contract that is being checked.
    string[] private _differences;

    /// @notice What the command line runs.
    function run() external {
        string memory path = _recordPath();
        if (!vm.exists(path)) revert NoRecord(path);
        string memory json = vm.readFile(path);
        _mustBeJson(path, json);
        check(json, _readParams(_paramsPath()));
        console.log("as recorded:", path);
    }

    /// @notice Reverts where the chain, a deployment file's content, and the parameters differ.
    function check(string memory json, Params memory params) public {
        _inRecord = string.concat(" in ", _recordPath());
        _inParams = string.concat(" in ", params.file);
        uint256 chainId = vm.parseJsonUint(json, "$.chainId");
        if (chainId != block.chainid) {
            _differs("chainId", _onChain(vm.toString(block.chainid)), _recorded(vm.toString(chainId)));
        }
        _raise("");
        string[] memory names = vm.parseJsonKeys(json, "$.contracts");
        for (uint256 i = 0; i < names.length; i++) {
            _checkEntry(_read(json, names[i]));
            _raise(names[i]);
        }
        for (uint256 i = 0; i < params.contracts.length; i++) {
            Planned memory planned = params.contracts[i];
            if (!_has(json, planned.name)) revert NotRecorded(planned.name);
            _checkPlanned(params.file, planned, _read(json, planned.name));
            _raise(planned.name);
        }
    }

    // ─── Any contract ───

    function _checkEntry(Entry memory entry) private {
        if (entry.addr.code.length == 0) {
            string memory expected = _recorded(vm.toString(entry.addr));
            expected = string.concat(expected, ": was it sent? Run script/Deploy.s.sol again");
            return _differs("code", _onChain("none"), expected);
        }
        if (entry.slots.length == 0) return;
        try ICircuitBreaker(entry.addr).breakers() returns (bytes32[] memory listed) {
            for (uint256 i = 0; i < entry.slots.length; i++) {
                if (_contains(listed, entry.slots[i])) continue;
                string memory what = string.concat("breaker ", entry.labels[i]);
                _differs(what, _onChain("not listed"), _recorded(vm.toString(entry.slots[i])));
            }
        } catch {
            _differs("breakers()", _onChain("a revert"), _recorded("a list"));
        }
    }

    // ─── What the parameters ask for ───

    function _checkPlanned(string memory file, Planned memory planned, Entry memory entry) private {
        string memory name = planned.name;
        // What follows can only be asked of the right kind of contract.
        _sameRecorded("artifact", entry.artifact, planned.artifact);
        _raise(name);
        address expected = _expected(file, planned);
        _checkSettings(planned, entry.addr, expected);
        _sameRecorded("breakers", vm.toString(entry.labels.length), planned.hasBreaker ? "1" : "0");
        _raise(name);
        if (planned.hasBreaker) {
            _sameRecorded("breaker label", entry.labels[0], "primary");
            _samePolicy(_breaker(name, entry.addr, entry.slots[0]), _breaker(name, expected, entry.slots[0]));
        }
        // Whatever differs above makes these differ, too.
        _raise(name);
        _same("code hash", vm.toString(entry.addr.codehash), vm.toString(expected.codehash));
        _sameRecorded("address", vm.toString(entry.addr), vm.toString(planned.addr));
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

    function _breaker(string memory name, address host, bytes32 slot) private returns (Breaker memory stored) {
        try ICircuitBreaker(host).breakerState(slot) returns (State, Breaker memory read) {
            return read;
        } catch {
            // It lists this breaker, so it is empty.
            _differs("breaker primary", _onChain("not configured"), _planned("configured"));
            _raise(name);
        }
    }

    /// What it was constructed with and can be asked for. Before the code, which holds it: that would only say that
    /// something differs.
    function _checkSettings(Planned memory planned, address found, address expected) private {
        string memory artifact = planned.artifact;
        if (_equal(artifact, "Moody") || _equal(artifact, "Stoic")) {
            // Both have the same getter.
            _same("greeting", Moody(found).greeting(), Moody(expected).greeting());
        } else if (_equal(artifact, "Resilient")) {
            _same("primary", address(Resilient(found).primary()), address(Resilient(expected).primary()));
            _same("secondary", address(Resilient(found).secondary()), address(Resilient(expected).secondary()));
        } else if (_equal(artifact, "FaultTolerantProxy")) {
            _checkProxy(FaultTolerantProxy(payable(found)), FaultTolerantProxy(payable(expected)));
        } else {
            _checkFeed(ResilientFeed(found), ResilientFeed(expected));
        }
    }

    function _checkProxy(FaultTolerantProxy found, FaultTolerantProxy expected) private {
        _same("primary", found.primary(), expected.primary());
        _same("backup", found.backup(), expected.backup());
        _same("owner", found.owner(), expected.owner());
    }

    function _checkFeed(ResilientFeed found, ResilientFeed expected) private {
        _same("primary", address(found.primary()), address(expected.primary()));
        _same("backup", address(found.backup()), address(expected.backup()));
        _same("primary_heartbeat", found.primaryHeartbeat(), expected.primaryHeartbeat());
        _same("backup_heartbeat", found.backupHeartbeat(), expected.backupHeartbeat());
        _same("max_deviation_bps", found.maxDeviationBps(), expected.maxDeviationBps());
        _same("description", found.description(), expected.description());
        _same("decimals of the primary", found.decimals(), expected.decimals());
    }

    function _samePolicy(Breaker memory found, Breaker memory expected) private {
        _same("failure_threshold", found.failureThreshold, expected.failureThreshold);
        _same("cooldown", found.cooldown, expected.cooldown);
        _same("success_threshold", found.successThreshold, expected.successThreshold);
        _same("max_cooldown", found.maxCooldown, expected.maxCooldown);
        _same("window", found.window, expected.window);
        _same("flags", found.flags, expected.flags);
    }

    // ─── Comparing ───

    function _same(string memory what, address found, address expected) private {
        _same(what, vm.toString(found), vm.toString(expected));
    }

    function _same(string memory what, uint256 found, uint256 expected) private {
        _same(what, vm.toString(found), vm.toString(expected));
    }

    /// The chain against the parameters.
    function _same(string memory what, string memory found, string memory expected) private {
        if (!_equal(found, expected)) _differs(what, _onChain(found), _planned(expected));
    }

    /// The deployment file against the parameters.
    function _sameRecorded(string memory what, string memory found, string memory expected) private {
        if (!_equal(found, expected)) _differs(what, _recorded(found), _planned(expected));
    }

    function _differs(string memory what, string memory found, string memory expected) private {
        _differences.push(string.concat(what, ": ", found, ", ", expected));
    }

    /// Reverts where there are differences.
    function _raise(string memory name) private view {
        if (_differences.length != 0) revert Differs(name, _differences);
    }

    function _onChain(string memory value) private pure returns (string memory) {
        return string.concat(value, " on the chain");
    }

    function _recorded(string memory value) private view returns (string memory) {
        return string.concat(value, _inRecord);
    }

    function _planned(string memory value) private view returns (string memory) {
        return string.concat(value, _inParams);
    }

    function _contains(bytes32[] memory list, bytes32 item) private pure returns (bool) {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == item) return true;
        }
        return false;
    }
}
