// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {JsonFile} from "./JsonFile.sol";

/// @notice One contract of a deployment.
/// @param  artifact   The contract's name in `contracts/`.
/// @param  addr       Its address.
/// @param  firstBlock No event of it is in an older block: where to start reading. 0 = not known, read all.
/// @param  labels     Names of its breakers.
/// @param  slots      Their ids, in the same order.
struct Entry {
    string artifact;
    address addr;
    uint256 firstBlock;
    string[] labels;
    bytes32[] slots;
}

/// @title  Record
/// @notice deployments/<chainid>.json: what is deployed where, for people and for watchers.
/// @dev    { chainId, commit, contracts: { NAME: { artifact, address, block, breakers: { LABEL: slot } } } }
///
///         Several scripts may write to one file, so each replaces its own names and leaves the others.
abstract contract Record is JsonFile {
    function _recordPath() internal view returns (string memory) {
        return string.concat("deployments/", vm.toString(block.chainid), ".json");
    }

    // ─── Writing ───

    /// Starts the file where there is none.
    function _start(string memory path) internal {
        if (vm.exists(path)) return _mustBeJson(path, vm.readFile(path));
        vm.writeJson(
            string.concat("{\"chainId\":", vm.toString(block.chainid), ",\"commit\":\"\",\"contracts\":{}}"), path
        );
    }

    function _writeCommit(string memory path, string memory commit) internal {
        // In quotes, or a hash that happens to have digits only becomes a number.
        vm.writeJson(string.concat("\"", commit, "\""), path, "$.commit");
    }

    function _write(string memory path, string memory name, Entry memory entry) internal {
        string memory breakers = "";
        for (uint256 i = 0; i < entry.labels.length; i++) {
            string memory separator = i == 0 ? "" : ",";
            breakers =
                string.concat(breakers, separator, "\"", entry.labels[i], "\":\"", vm.toString(entry.slots[i]), "\"");
        }
        string memory json =
            string.concat("{\"artifact\":\"", entry.artifact, "\",\"address\":\"", vm.toString(entry.addr));
        json = string.concat(json, "\",\"block\":", vm.toString(entry.firstBlock), ",\"breakers\":{", breakers, "}}");
        // Dotted, so names have no dots, which `ParamsReader` sees to: with brackets, writeJson adds a key beside
        // `contracts`.
        vm.writeJson(json, path, string.concat("$.contracts.", name));
    }

    // ─── Reading ───

    function _has(string memory json, string memory name) internal view returns (bool) {
        return vm.keyExistsJson(json, _key(name));
    }

    function _read(string memory json, string memory name) internal pure returns (Entry memory entry) {
        string memory key = _key(name);
        entry.artifact = vm.parseJsonString(json, string.concat(key, ".artifact"));
        entry.addr = vm.parseJsonAddress(json, string.concat(key, ".address"));
        entry.firstBlock = vm.parseJsonUint(json, string.concat(key, ".block"));
        entry.labels = vm.parseJsonKeys(json, string.concat(key, ".breakers"));
        entry.slots = new bytes32[](entry.labels.length);
        for (uint256 i = 0; i < entry.labels.length; i++) {
            // As a number, since the keeper and people write 0x00 for the first slot.
            entry.slots[i] = bytes32(vm.parseJsonUint(json, string.concat(key, ".breakers['", entry.labels[i], "']")));
        }
    }

    function _key(string memory name) private pure returns (string memory) {
        return string.concat("$.contracts['", name, "']");
    }
}
