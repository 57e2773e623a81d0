// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Test} from "forge-std/Test.sol";
import {Vm} from "forge-std/Vm.sol";
import {Params, ParamsReader} from "script/Params.sol";

/// The reader behind an external call, so that its errors can be expected.
contract Reader is ParamsReader {
    function path() external view returns (string memory) {
        return _paramsPath();
    }

    function read(string memory file) external view returns (Params memory) {
        return _readParams(file);
    }

    function parse(string memory json) external view returns (Params memory) {
        return _parseParams(json);
    }
}

contract ParamsTest is Test {
    string private constant SALT = "0x00000000000000000000000000000000000000000000000000000000000000ff";

    Reader private reader;

    function setUp() public {
        reader = new Reader();
    }

    function test_EveryFileInParamsIsUsable() public view {
        Vm.DirEntry[] memory files = vm.readDir("script/params");
        for (uint256 i = 0; i < files.length; i++) {
            assertGt(reader.read(files[i].path).failureThreshold, 0, files[i].path);
        }
        assertGt(files.length, 0);
    }

    function test_ChainIdNamesTheFile() public {
        vm.chainId(31_337);
        assertEq(reader.path(), "script/params/anvil.json");
        vm.chainId(11_155_111);
        assertEq(reader.path(), "script/params/sepolia.json");
        vm.chainId(1);
        assertEq(reader.path(), "script/params/mainnet.json");
    }

    function test_RevertWhen_ChainHasNoName() public {
        vm.chainId(4242);
        vm.expectRevert(abi.encodeWithSelector(ParamsReader.UnknownNetwork.selector, 4242));
        reader.path();
    }

    function test_RevertWhen_ThereIsNoFile() public {
        vm.expectRevert(abi.encodeWithSelector(ParamsReader.NoParams.selector, "script/params/nowhere.json"));
        reader.read("script/params/nowhere.json");
    }

    function test_ReadsEveryValue() public view {
        Params memory params = reader.parse(_json(SALT, "\"Hi\"", "65535", "4294967295"));
        assertEq(params.salt, bytes32(uint256(0xff)));
        assertEq(params.moodyGreeting, "Hi");
        assertEq(params.stoicGreeting, "Ho");
        assertEq(params.failureThreshold, type(uint16).max);
        assertEq(params.cooldown, type(uint32).max);
    }

    function test_RevertWhen_AValueCannotBeUsed() public {
        string memory threshold = "a whole number from 1 to 65535";
        string memory cooldown = "a whole number from 1 to 4294967295";
        _rejects(_json(SALT, "\"Hi\"", "0", "60"), "failure_threshold", "0", threshold);
        _rejects(_json(SALT, "\"Hi\"", "65536", "60"), "failure_threshold", "65536", threshold);
        _rejects(_json(SALT, "\"Hi\"", "-1", "60"), "failure_threshold", "-1", threshold);
        _rejects(_json(SALT, "\"Hi\"", "2.5", "60"), "failure_threshold", "2.5", threshold);
        _rejects(_json(SALT, "\"Hi\"", "3", "0"), "cooldown", "0", cooldown);
        _rejects(_json(SALT, "\"Hi\"", "3", "4294967296"), "cooldown", "4294967296", cooldown);
        _rejects(_json(SALT, "\"Hi\"", "3", "\"a minute\""), "cooldown", "a minute", cooldown);
        _rejects(_json(SALT, "\"Hi\"", "3", "[60]"), "cooldown", "a list or an object", cooldown);
        _rejects(_json("0x01", "\"Hi\"", "3", "60"), "salt", "0x01", "32 bytes in hex");
        _rejects(_json(SALT, "{}", "3", "60"), "moody_greeting", "a list or an object", "a string");
    }

    function test_RevertWhen_AKeyIsMissing() public {
        vm.expectRevert(abi.encodeWithSelector(ParamsReader.MissingParam.selector, "stoic_greeting"));
        reader.parse(string.concat("{\"salt\": \"", SALT, "\", \"moody_greeting\": \"Hi\", \"cooldown\": 60}"));
    }

    function test_RevertWhen_AKeyIsUnknown() public {
        vm.expectRevert(abi.encodeWithSelector(ParamsReader.UnknownParam.selector, "success_threshold"));
        reader.parse("{\"cooldown\": 60, \"success_threshold\": 2}");
    }

    function test_RevertWhen_TheFileIsNotAnObject() public {
        vm.expectRevert(ParamsReader.NotAnObject.selector);
        reader.parse("[]");
        vm.expectRevert(ParamsReader.NotAnObject.selector);
        reader.parse("{\"cooldown\": ");
    }

    function _rejects(string memory json, string memory key, string memory value, string memory expected) private {
        vm.expectRevert(abi.encodeWithSelector(ParamsReader.BadParam.selector, key, value, expected));
        reader.parse(json);
    }

    function _json(string memory salt, string memory moody, string memory threshold, string memory cooldown)
        private
        pure
        returns (string memory json)
    {
        json = string.concat("{\"salt\": \"", salt, "\", \"moody_greeting\": ", moody, ", \"stoic_greeting\": \"Ho\"");
        json = string.concat(json, ", \"failure_threshold\": ", threshold, ", \"cooldown\": ", cooldown, "}");
    }
}
