// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {CommonBase} from "forge-std/Base.sol";

/// @notice What makes up a deployment, as script/params/<network>.json gives it.
/// @param  salt             `salt`: 32 bytes in hex. The same salt and parameters give the same addresses on every
///                          chain; another salt gives a second deployment beside the first.
/// @param  moodyGreeting    `moody_greeting`: what the primary says.
/// @param  stoicGreeting    `stoic_greeting`: what the backup says.
/// @param  failureThreshold `failure_threshold`: consecutive failures that trip the breaker; 1 to 65,535.
/// @param  cooldown         `cooldown`: seconds from a trip to half-open; 1 to 4,294,967,295.
struct Params {
    bytes32 salt;
    string moodyGreeting;
    string stoicGreeting;
    uint16 failureThreshold;
    uint32 cooldown;
}

/// @title  ParamsReader
/// @notice Reads the parameters of the network that a script is connected to: script/params/<network>.json.
/// @dev    The network is named after the chain id, so that the parameters meant for a test chain can't reach mainnet
///         by a default. Where the id has no name here, or should not decide (a local fork of another chain), the
///         environment variable `FUSEBOX_NETWORK` names the file: `FUSEBOX_NETWORK=holesky` for
///         script/params/holesky.json.
abstract contract ParamsReader is CommonBase {
    /// @notice The chain's id has no name here: add the file, and set `FUSEBOX_NETWORK` to its name without `.json`.
    error UnknownNetwork(uint256 chainId);
    /// @notice There is no such file.
    error NoParams(string path);
    /// @notice The file is not a JSON object.
    error NotAnObject();
    /// @notice The file lacks this key.
    error MissingParam(string key);
    /// @notice The file has a key that nothing reads: a typo, or a policy that the contracts can't follow.
    error UnknownParam(string key);
    /// @notice The value of this key can't be used.
    error BadParam(string key, string value, string expected);

    string private constant _SALT = "salt";
    string private constant _MOODY_GREETING = "moody_greeting";
    string private constant _STOIC_GREETING = "stoic_greeting";
    string private constant _FAILURE_THRESHOLD = "failure_threshold";
    string private constant _COOLDOWN = "cooldown";

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

    function _readParams(string memory path) internal view returns (Params memory) {
        if (!vm.exists(path)) revert NoParams(path);
        return _parseParams(vm.readFile(path));
    }

    function _parseParams(string memory json) internal view returns (Params memory params) {
        _checkKeys(json);
        params.salt = _bytes32(json, _SALT);
        params.moodyGreeting = _string(json, _MOODY_GREETING);
        params.stoicGreeting = _string(json, _STOIC_GREETING);
        // Both fit: that is what the bound is for.
        // forge-lint: disable-next-line(unsafe-typecast)
        params.failureThreshold = uint16(_uint(json, _FAILURE_THRESHOLD, type(uint16).max));
        // forge-lint: disable-next-line(unsafe-typecast)
        params.cooldown = uint32(_uint(json, _COOLDOWN, type(uint32).max));
    }

    // ─── Values ───

    /// A cheatcode's own error says what it met but not at which key. Hence a try around each.

    function _bytes32(string memory json, string memory key) private pure returns (bytes32) {
        try vm.parseJsonBytes32(json, _path(key)) returns (bytes32 value) {
            return value;
        } catch {
            revert BadParam(key, _shown(json, key), "32 bytes in hex");
        }
    }

    function _string(string memory json, string memory key) private pure returns (string memory) {
        try vm.parseJsonString(json, _path(key)) returns (string memory value) {
            return value;
        } catch {
            revert BadParam(key, _shown(json, key), "a string");
        }
    }

    function _uint(string memory json, string memory key, uint256 max) private pure returns (uint256) {
        string memory expected = string.concat("a whole number from 1 to ", vm.toString(max));
        try vm.parseJsonUint(json, _path(key)) returns (uint256 value) {
            if (value == 0 || value > max) revert BadParam(key, vm.toString(value), expected);
            return value;
        } catch {
            revert BadParam(key, _shown(json, key), expected);
        }
    }

    function _shown(string memory json, string memory key) private pure returns (string memory) {
        try vm.parseJsonString(json, _path(key)) returns (string memory value) {
            return value;
        } catch {
            return "a list or an object";
        }
    }

    // ─── Keys ───

    function _checkKeys(string memory json) private view {
        string[5] memory known = [_SALT, _MOODY_GREETING, _STOIC_GREETING, _FAILURE_THRESHOLD, _COOLDOWN];
        string[] memory given = _keys(json);
        // Unknown before missing: of `cooldwon`, the typo is what the reader has to find.
        for (uint256 i = 0; i < given.length; i++) {
            bool isKnown = false;
            for (uint256 j = 0; j < known.length; j++) {
                if (_equal(given[i], known[j])) isKnown = true;
            }
            if (!isKnown) revert UnknownParam(given[i]);
        }
        for (uint256 j = 0; j < known.length; j++) {
            if (!vm.keyExistsJson(json, _path(known[j]))) revert MissingParam(known[j]);
        }
    }

    function _keys(string memory json) private pure returns (string[] memory) {
        try vm.parseJsonKeys(json, "$") returns (string[] memory keys) {
            return keys;
        } catch {
            revert NotAnObject();
        }
    }

    function _path(string memory key) private pure returns (string memory) {
        return string.concat("$.", key);
    }

    function _equal(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }
}
