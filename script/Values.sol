// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {JsonFile} from "./JsonFile.sol";

/// @notice An object in a parameter file.
/// @param  file The file's path.
/// @param  json All of its content.
/// @param  key  Where the object is, such as `contracts.proxy.limits`; "" for the file itself.
struct Object {
    string file;
    string json;
    string key;
}

/// @title  Values
/// @notice Reads typed values out of a parameter file. Whatever cannot be used is an error that says which file, which
///         key, and what belongs there.
/// @dev    A cheatcode's own error says what it met but not at which key. Hence a try around each.
abstract contract Values is JsonFile {
    /// @notice What is at this key is not a JSON object; at "", the whole of the file is not one.
    error NotAnObject(string file, string key);
    /// @notice This key is missing: add it.
    error MissingParam(string file, string key, string expected);
    /// @notice Nothing reads this key: a typo, or a setting that the contract does not have. `known` can be used.
    error UnknownParam(string file, string key, string known);
    /// @notice The value of this key can't be used.
    error BadParam(string file, string key, string value, string expected);

    // ─── Objects ───

    /// The object at a key, which may have these keys and no others.
    function _object(Object memory parent, string memory key, string memory known)
        internal
        view
        returns (Object memory object)
    {
        _mustHave(parent, key, "an object");
        object = Object(parent.file, parent.json, _path(parent, key));
        _checkKeys(object, known);
    }

    /// Unknown before missing, which only reading finds: of `cooldwon`, the typo is what the reader has to find.
    /// @param known Words as in "gas, reserve".
    function _checkKeys(Object memory object, string memory known) internal pure {
        string[] memory words = vm.split(known, ", ");
        string[] memory given = _keys(object);
        for (uint256 i = 0; i < given.length; i++) {
            bool isKnown = false;
            for (uint256 j = 0; j < words.length; j++) {
                if (_equal(given[i], words[j])) isKnown = true;
            }
            if (!isKnown) revert UnknownParam(object.file, _path(object, given[i]), known);
        }
    }

    function _keys(Object memory object) internal pure returns (string[] memory) {
        try vm.parseJsonKeys(object.json, _query(object.key)) returns (string[] memory keys) {
            return keys;
        } catch {
            revert NotAnObject(object.file, object.key);
        }
    }

    // ─── Values ───

    function _string(Object memory object, string memory key, string memory expected)
        internal
        view
        returns (string memory)
    {
        _mustHave(object, key, expected);
        try vm.parseJsonString(object.json, _query(_path(object, key))) returns (string memory value) {
            return value;
        } catch {
            _reject(object, key, expected);
        }
    }

    function _bytes(Object memory object, string memory key) internal view returns (bytes memory) {
        string memory expected = "bytes in hex, as cast calldata prints them";
        _mustHave(object, key, expected);
        try vm.parseJsonBytes(object.json, _query(_path(object, key))) returns (bytes memory value) {
            return value;
        } catch {
            _reject(object, key, expected);
        }
    }

    function _bytes32(Object memory object, string memory key) internal view returns (bytes32) {
        string memory expected = "32 bytes in hex";
        _mustHave(object, key, expected);
        try vm.parseJsonBytes32(object.json, _query(_path(object, key))) returns (bytes32 value) {
            return value;
        } catch {
            _reject(object, key, expected);
        }
    }

    function _uint(Object memory object, string memory key, uint256 min, uint256 max) internal view returns (uint256) {
        string memory expected = string.concat("a whole number from ", vm.toString(min), " to ", vm.toString(max));
        _mustHave(object, key, expected);
        try vm.parseJsonUint(object.json, _query(_path(object, key))) returns (uint256 value) {
            // The cheatcode also takes "0x3c" and "1 ether", which nobody writes on purpose here.
            bool isPlain = _equal(_shown(object, key), vm.toString(value));
            if (value < min || value > max || !isPlain) _reject(object, key, expected);
            return value;
        } catch {
            _reject(object, key, expected);
        }
    }

    // The bounds of these are their types.

    function _uint32(Object memory object, string memory key, uint32 min) internal view returns (uint32) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint32(_uint(object, key, min, type(uint32).max));
    }

    function _uint16(Object memory object, string memory key, uint16 min) internal view returns (uint16) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint16(_uint(object, key, min, type(uint16).max));
    }

    function _uint8(Object memory object, string memory key, uint8 min) internal view returns (uint8) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint8(_uint(object, key, min, type(uint8).max));
    }

    function _address(Object memory object, string memory key, string memory expected) internal view returns (address) {
        string memory shown = _string(object, key, expected);
        try vm.parseJsonAddress(object.json, _query(_path(object, key))) returns (address value) {
            // In mixed case it is a checksum, which the cheatcode does not look at.
            bool isWhole = _equal(shown, vm.toString(value)) || _equal(shown, vm.toLowercase(vm.toString(value)));
            if (!isWhole) _reject(object, key, string.concat("an address with its checksum: ", vm.toString(value)));
            if (value == address(0)) _reject(object, key, expected);
            return value;
        } catch {
            _reject(object, key, expected);
        }
    }

    function _strings(Object memory object, string memory key, string memory expected)
        internal
        view
        returns (string[] memory)
    {
        _mustHave(object, key, expected);
        try vm.parseJsonStringArray(object.json, _query(_path(object, key))) returns (string[] memory values) {
            return values;
        } catch {
            _reject(object, key, expected);
        }
    }

    // ─── Saying what is wrong ───

    function _reject(Object memory object, string memory key, string memory expected) internal pure {
        revert BadParam(object.file, _path(object, key), _shown(object, key), expected);
    }

    function _mustHave(Object memory object, string memory key, string memory expected) private view {
        string memory path = _path(object, key);
        if (!vm.keyExistsJson(object.json, _query(path))) revert MissingParam(object.file, path, expected);
    }

    function _shown(Object memory object, string memory key) private pure returns (string memory) {
        try vm.parseJsonString(object.json, _query(_path(object, key))) returns (string memory value) {
            return value;
        } catch {
            return "a list or an object";
        }
    }

    // ─── Keys ───

    function _path(Object memory object, string memory key) internal pure returns (string memory) {
        return bytes(object.key).length == 0 ? key : string.concat(object.key, ".", key);
    }

    function _query(string memory path) private pure returns (string memory) {
        return bytes(path).length == 0 ? "$" : string.concat("$.", path);
    }

    function _equal(string memory a, string memory b) internal pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }
}
