// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Planned} from "./Planned.sol";
import {Object} from "./Values.sol";
import {Examples} from "./kinds/Examples.sol";
import {Feed} from "./kinds/Feed.sol";
import {Proxy} from "./kinds/Proxy.sol";
import {FaultTolerantProxy} from "contracts/FaultTolerantProxy.sol";
import {ResilientFeed} from "contracts/ResilientFeed.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";

/// @notice What script/params/<network>.json asks for.
/// @param  file      The file's path.
/// @param  salt      32 bytes. The same salt and parameters give the same addresses on every chain; another salt gives
///                   a second deployment beside the first.
/// @param  contracts What to deploy, each after those it refers to.
struct Params {
    string file;
    bytes32 salt;
    Planned[] contracts;
}

/// @title  ParamsReader
/// @notice Reads what is to be deployed on the network that a script is connected to: script/params/<network>.json,
///
///         { "salt": …, "contracts": { NAME: { "artifact": …, … } } }
///
///         deployments/README.md says which keys each artifact has. One contract refers to another by its name.
/// @dev    The network is named after the chain id, so that the parameters meant for a test chain can't reach mainnet
///         by a default. Where the id has no name here, or should not decide (a local fork of another chain, a second
///         file), the environment variable `FUSEBOX_NETWORK` names the file: `FUSEBOX_NETWORK=holesky` for
///         script/params/holesky.json.
abstract contract ParamsReader is Examples, Proxy, Feed {
    /// @notice The chain's id has no name here: add the file, and set `FUSEBOX_NETWORK` to its name without `.json`.
    error UnknownNetwork(uint256 chainId);
    /// @notice There is no such file: add it, or set `FUSEBOX_NETWORK` to the name of one that there is.
    error NoParams(string file);
    /// @notice Names are the keys of files and commands: a letter, then letters, digits, `-` and `_`.
    error BadName(string file, string name);
    /// @notice This contract and `other` are one and the same, since all their parameters are equal: remove one.
    error SameContract(string file, string name, string other);

    enum Mark {
        New,
        Visiting,
        Done
    }

    function _paramsPath() internal view returns (string memory) {
        string memory network = vm.envOr("FUSEBOX_NETWORK", string(""));
        if (bytes(network).length == 0) network = _network(block.chainid);
        return string.concat("script/params/", network, ".json");
    }

    function _network(uint256 chainId) private pure returns (string memory) {
        if (chainId == 1) return "mainnet";
        if (chainId == 11_155_111) return "sepolia";
        if (chainId == 31_337) return "anvil";
        revert UnknownNetwork(chainId);
    }

    function _readParams(string memory file) internal view returns (Params memory) {
        if (!vm.exists(file)) revert NoParams(file);
        return _parseParams(file, vm.readFile(file));
    }

    function _parseParams(string memory file, string memory json) internal view returns (Params memory params) {
        _mustBeJson(file, json);
        Object memory root = Object(file, json, "");
        _checkKeys(root, "salt, contracts");
        params.file = file;
        params.salt = _bytes32(root, "salt");
        string[] memory names = _ordered(root);
        params.contracts = new Planned[](names.length);
        for (uint256 i = 0; i < names.length; i++) {
            Planned memory planned = _plan(root, names[i], params.contracts);
            bytes32 initCodeHash = keccak256(bytes.concat(planned.creationCode, planned.args));
            planned.addr = vm.computeCreate2Address(params.salt, initCodeHash);
            for (uint256 j = 0; j < i; j++) {
                if (params.contracts[j].addr == planned.addr) {
                    revert SameContract(file, planned.name, params.contracts[j].name);
                }
            }
            params.contracts[i] = planned;
        }
    }

    // ─── One contract ───

    function _plan(Object memory root, string memory name, Planned[] memory before)
        private
        view
        returns (Planned memory planned)
    {
        Object memory object = Object(root.file, root.json, string.concat("contracts.", name));
        string memory known = "Moody, Stoic, Resilient, FaultTolerantProxy or ResilientFeed";
        string memory artifact = _string(object, "artifact", known);
        planned.name = name;
        planned.artifact = artifact;
        planned.hasBreaker = true;
        if (_equal(artifact, "Moody")) {
            planned.hasBreaker = false;
            planned.creationCode = type(Moody).creationCode;
            planned.args = _speakerArgs(object);
        } else if (_equal(artifact, "Stoic")) {
            planned.hasBreaker = false;
            planned.creationCode = type(Stoic).creationCode;
            planned.args = _speakerArgs(object);
        } else if (_equal(artifact, "Resilient")) {
            planned.creationCode = type(Resilient).creationCode;
            planned.args = _resilientArgs(object, before);
        } else if (_equal(artifact, "FaultTolerantProxy")) {
            planned.creationCode = type(FaultTolerantProxy).creationCode;
            planned.args = _proxyArgs(object, before);
        } else if (_equal(artifact, "ResilientFeed")) {
            planned.creationCode = type(ResilientFeed).creationCode;
            planned.args = _feedArgs(object, before);
        } else {
            _reject(object, "artifact", known);
        }
    }

    // ─── Their order ───

    /// All names, each after those it refers to, else as in the file.
    function _ordered(Object memory root) private view returns (string[] memory ordered) {
        if (!vm.keyExistsJson(root.json, "$.contracts")) {
            revert MissingParam(root.file, "contracts", "an object of what to deploy, by name");
        }
        string[] memory names = _keys(Object(root.file, root.json, "contracts"));
        if (names.length == 0) _reject(root, "contracts", "at least one contract to deploy, by name");
        for (uint256 i = 0; i < names.length; i++) {
            if (!_isName(names[i])) revert BadName(root.file, names[i]);
        }
        ordered = new string[](names.length);
        Mark[] memory marks = new Mark[](names.length);
        uint256 count = 0;
        for (uint256 i = 0; i < names.length; i++) {
            count = _visit(root, names, marks, i, ordered, count);
        }
    }

    /// Adds a name after those it refers to. Returns how many are in `ordered`.
    function _visit(
        Object memory root,
        string[] memory names,
        Mark[] memory marks,
        uint256 index,
        string[] memory ordered,
        uint256 count
    ) private view returns (uint256) {
        if (marks[index] == Mark.Done) return count;
        marks[index] = Mark.Visiting;
        Object memory object = Object(root.file, root.json, string.concat("contracts.", names[index]));
        string[] memory keys = _keys(object);
        for (uint256 i = 0; i < keys.length; i++) {
            if (!_isReference(keys[i])) continue;
            string memory target = _string(object, keys[i], _CONTRACT);
            for (uint256 j = 0; j < names.length; j++) {
                if (!_equal(names[j], target)) continue;
                if (marks[j] == Mark.Visiting) _reject(object, keys[i], "a contract that does not need this one");
                count = _visit(root, names, marks, j, ordered, count);
            }
        }
        marks[index] = Mark.Done;
        ordered[count] = names[index];
        return count + 1;
    }

    function _isReference(string memory key) private pure returns (bool) {
        return _equal(key, "primary") || _equal(key, "secondary") || _equal(key, "backup");
    }

    function _isName(string memory name) private pure returns (bool) {
        bytes memory letters = bytes(name);
        if (letters.length == 0) return false;
        for (uint256 i = 0; i < letters.length; i++) {
            bytes1 c = letters[i];
            bool isLetter = (c >= "a" && c <= "z") || (c >= "A" && c <= "Z");
            bool isOther = (c >= "0" && c <= "9") || c == "-" || c == "_";
            if (!isLetter && (i == 0 || !isOther)) return false;
        }
        return true;
    }
}
