// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Plans} from "./Plans.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {FeedConfig} from "contracts/ResilientFeed.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {Vm} from "forge-std/Vm.sol";
import {JsonFile} from "script/JsonFile.sol";
import {Params, ParamsReader} from "script/Params.sol";
import {Planned} from "script/Planned.sol";
import {Values} from "script/Values.sol";

contract ParamsTest is Plans {
    string private constant CONTRACT = "the address of a contract, or the name of another one in this file";

    function setUp() public {
        _setUpPlans();
    }

    // ─── Which file ───

    function test_EveryFileInParamsIsUsable() public view {
        Vm.DirEntry[] memory files = vm.readDir("script/params");
        for (uint256 i = 0; i < files.length; i++) {
            assertGt(reader.read(files[i].path).contracts.length, 0, files[i].path);
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

    // ─── What it says ───

    function test_EachContractComesAfterThoseItNeeds() public view {
        Params memory params = _parse(_all());
        assertEq(params.file, FILE);
        assertEq(params.salt, bytes32(uint256(7)));
        string[5] memory names = ["moody", "stoic", "proxy", "eth-usd", "resilient"];
        assertEq(params.contracts.length, names.length);
        for (uint256 i = 0; i < names.length; i++) {
            assertEq(params.contracts[i].name, names[i]);
            assertEq(params.contracts[i].hasBreaker, i >= 2);
        }
    }

    function test_ReadsAllOfATrio() public view {
        Planned[] memory plan = _parse(_all()).contracts;
        assertEq(plan[0].args, abi.encode("Hi"));
        assertEq(plan[1].args, abi.encode("Ho"));
        assertEq(plan[4].args, abi.encode(plan[0].addr, plan[1].addr, 4, 50));
    }

    function test_ReadsAllOfAProxy() public view {
        Planned[] memory plan = _parse(_all()).contracts;
        Config memory config = Config(2, 60, 3, 600, 7, 1);
        Limits memory limits = Limits(100_000, 150_000, 4096, 32);
        bytes memory call = abi.encodeCall(IHuman.speak, ());
        assertEq(plan[2].args, abi.encode(plan[0].addr, plan[1].addr, OWNER, config, limits, call));
    }

    function test_ReadsAllOfAFeed() public view {
        FeedConfig memory feeds = FeedConfig(primaryFeed, backupFeed, 3600, 86_400, 200, 60_000, "ETH / USD");
        assertEq(_parse(_all()).contracts[3].args, abi.encode(feeds, Config(5, 61, 2, 601, 0, 2)));
    }

    function test_AProxyMayHaveNoOwnerAndRecordCalls() public view {
        string memory json = _with(_all(), vm.toString(OWNER), "none");
        json = _with(json, "[\"latch\"]", "[\"once_per_block\", \"record_calls\"]");
        Planned memory proxy = _parse(json).contracts[2];
        (,, address owner, Config memory config,,) =
            abi.decode(proxy.args, (address, address, address, Config, Limits, bytes));
        assertEq(owner, address(0));
        assertEq(config.flags, 2 | RECORD_CALLS);
    }

    function test_TheLargestNumbersAreRead() public view {
        string memory json = _with(_all(), "\"failure_threshold\": 4", "\"failure_threshold\": 65535");
        json = _with(json, "\"cooldown\": 50", "\"cooldown\": 4294967295");
        Planned[] memory plan = _parse(json).contracts;
        assertEq(plan[4].args, abi.encode(plan[0].addr, plan[1].addr, type(uint16).max, type(uint32).max));
    }

    // ─── What it must not say ───

    function test_RevertWhen_AValueCannotBeUsed() public {
        string memory threshold = "a whole number from 1 to 65535";
        string memory seconds_ = "a whole number from 1 to 4294967295";
        string memory key = "contracts.resilient.failure_threshold";
        _rejects("\"failure_threshold\": 4", "\"failure_threshold\": 0", key, "0", threshold);
        _rejects("\"failure_threshold\": 4", "\"failure_threshold\": 65536", key, "65536", threshold);
        _rejects("\"failure_threshold\": 4", "\"failure_threshold\": -1", key, "-1", threshold);
        _rejects("\"failure_threshold\": 4", "\"failure_threshold\": 2.5", key, "2.5", threshold);
        _rejects("\"failure_threshold\": 4", "\"failure_threshold\": \"0x4\"", key, "0x4", threshold);
        key = "contracts.resilient.cooldown";
        _rejects("\"cooldown\": 50", "\"cooldown\": 0", key, "0", seconds_);
        _rejects("\"cooldown\": 50", "\"cooldown\": 4294967296", key, "4294967296", seconds_);
        _rejects("\"cooldown\": 50", "\"cooldown\": \"a minute\"", key, "a minute", seconds_);
        _rejects("\"cooldown\": 50", "\"cooldown\": [50]", key, "a list or an object", seconds_);
        _rejects("\"Hi\"", "{}", "contracts.moody.greeting", "a list or an object", "a string");
        _rejects(
            "\"0x0000000000000000000000000000000000000000000000000000000000000007\"",
            "\"0x07\"",
            "salt",
            "0x07",
            "32 bytes in hex"
        );
        _rejects(
            "\"Stoic\"",
            "\"Cynic\"",
            "contracts.stoic.artifact",
            "Cynic",
            "Moody, Stoic, Resilient, FaultTolerantProxy or ResilientFeed"
        );
    }

    function test_RevertWhen_AProxysValueCannotBeUsed() public {
        string memory config = "contracts.proxy.config.";
        string memory limits = "contracts.proxy.limits.";
        _rejectsNumber("\"failure_threshold\": 2", "0", string.concat(config, "failure_threshold"), 1, 65_535);
        _rejectsNumber("\"cooldown\": 60,", "0", string.concat(config, "cooldown"), 1, type(uint32).max);
        _rejectsNumber("\"success_threshold\": 3", "0", string.concat(config, "success_threshold"), 1, 255);
        _rejectsNumber("\"success_threshold\": 3", "256", string.concat(config, "success_threshold"), 1, 255);
        _rejectsNumber("\"max_cooldown\": 600", "59", string.concat(config, "max_cooldown"), 60, type(uint32).max);
        _rejectsNumber("\"window\": 7", "-1", string.concat(config, "window"), 0, type(uint32).max);
        _rejectsNumber("\"gas\": 100000", "2299", string.concat(limits, "gas"), 2300, 16_777_216);
        _rejectsNumber("\"gas\": 100000", "16777217", string.concat(limits, "gas"), 2300, 16_777_216);
        string memory reserve = string.concat(limits, "reserve");
        _rejectsNumber("\"reserve\": 150000", "16777217", reserve, 10_000, 16_777_216);
        _rejectsNumber("\"reserve\": 150000", "9999", reserve, 10_000, 16_777_216);
        _parse(_with(_all(), "\"reserve\": 150000", "\"reserve\": 10000"));
        _rejectsNumber("\"max_return\": 4096", "4294967296", string.concat(limits, "max_return"), 0, type(uint32).max);
        _rejectsNumber("\"min_return\": 32", "4097", string.concat(limits, "min_return"), 0, 4096);
        string memory flags = "a list of: latch, once_per_block, record_calls";
        _rejects("[\"latch\"]", "[\"latch\", \"probe_only\"]", string.concat(config, "flags"), "probe_only", flags);
        _rejects("[\"latch\"]", "\"latch\"", string.concat(config, "flags"), "latch", flags);
        string memory hexBytes = "bytes in hex, as cast calldata prints them";
        _rejects("0x50d85315", "speak()", "contracts.proxy.probe_calldata", "speak()", hexBytes);
    }

    function test_RevertWhen_AFeedsValueCannotBeUsed() public {
        string memory feed = "contracts.eth-usd.";
        uint256 most = type(uint32).max;
        _rejectsNumber("\"primary_heartbeat\": 3600", "0", string.concat(feed, "primary_heartbeat"), 1, most);
        _rejectsNumber("\"backup_heartbeat\": 86400", "0", string.concat(feed, "backup_heartbeat"), 1, most);
        _rejectsNumber("\"max_deviation_bps\": 200", "0", string.concat(feed, "max_deviation_bps"), 1, 10_000);
        _rejectsNumber("\"max_deviation_bps\": 200", "10001", string.concat(feed, "max_deviation_bps"), 1, 10_000);
        _rejectsNumber("\"gas\": 60000", "2299", string.concat(feed, "gas"), 2300, 16_777_216);
        _rejectsNumber("\"max_cooldown\": 601", "60", string.concat(feed, "config.max_cooldown"), 61, most);
        string memory flags = "a list of: once_per_block";
        string memory key = string.concat(feed, "config.flags");
        _rejects("[\"once_per_block\"]", "[\"latch\"]", key, "latch", flags);
        string memory priced = "what is priced, such as ETH / USD";
        _rejects("\"ETH / USD\"", "[]", string.concat(feed, "description"), "a list or an object", priced);
    }

    function test_RevertWhen_AContractIsNone() public {
        string memory key = "contracts.proxy.backup";
        string memory backup = "\"backup\": \"stoic\"";
        string memory zero = vm.toString(address(0));
        _rejects(backup, "\"backup\": \"cynic\"", key, "cynic", CONTRACT);
        _rejects(backup, "\"backup\": \"\"", key, "", CONTRACT);
        _rejects(backup, "\"backup\": \"0xf39Fd6e5\"", key, "0xf39Fd6e5", CONTRACT);
        _rejects(backup, string.concat("\"backup\": \"", zero, "\""), key, zero, CONTRACT);
        string memory nobody = vm.toString(OWNER);
        string memory expected = string.concat("a contract: there is no code at this address on chain ", _chain());
        _rejects(backup, string.concat("\"backup\": \"", nobody, "\""), key, nobody, expected);
        _rejects("\"primary\": \"moody\"", "\"primary\": 7", "contracts.proxy.primary", "7", CONTRACT);
    }

    function test_RevertWhen_AContractIsItsOwnBackup() public {
        string memory other = "another contract than primary";
        _rejects("\"backup\": \"stoic\"", "\"backup\": \"moody\"", "contracts.proxy.backup", "moody", other);
        _rejects(
            "\"secondary\": \"stoic\"", "\"secondary\": \"moody\"", "contracts.resilient.secondary", "moody", other
        );
        string memory feed = vm.toString(address(primaryFeed));
        _rejects(vm.toString(address(backupFeed)), feed, "contracts.eth-usd.backup", feed, other);
    }

    function test_RevertWhen_AnAddressHasATypo() public {
        string memory whole = vm.toString(OWNER);
        string memory swapped = "0xF39fd6e51aad88F6F4ce6aB8827279cffFb92266";
        string memory expected = string.concat("an address with its checksum: ", whole);
        _rejects(whole, swapped, "contracts.proxy.owner", swapped, expected);
        // Without a checksum there is nothing to compare.
        _parse(_with(_all(), whole, vm.toLowercase(whole)));
    }

    function test_RevertWhen_TheOwnerIsZero() public {
        string memory zero = vm.toString(address(0));
        string memory expected = "the address of who may trip, reset and configure, or none";
        _rejects(vm.toString(OWNER), zero, "contracts.proxy.owner", zero, expected);
        _rejects(vm.toString(OWNER), "nobody", "contracts.proxy.owner", "nobody", expected);
    }

    function test_RevertWhen_ContractsNeedEachOther() public {
        string memory expected = "a contract that does not need this one";
        _rejects(
            "\"secondary\": \"stoic\"",
            "\"secondary\": \"resilient\"",
            "contracts.resilient.secondary",
            "resilient",
            expected
        );
        string memory json = _with(_all(), "\"secondary\": \"stoic\"", "\"secondary\": \"proxy\"");
        json = _with(json, "\"backup\": \"stoic\"", "\"backup\": \"resilient\"");
        _reverts(
            json,
            abi.encodeWithSelector(Values.BadParam.selector, FILE, "contracts.resilient.secondary", "proxy", expected)
        );
    }

    function test_RevertWhen_AKeyIsMissing() public {
        _misses(
            "\"salt\": \"0x0000000000000000000000000000000000000000000000000000000000000007\", ",
            "salt",
            "32 bytes in hex"
        );
        _misses("\"greeting\": \"Hi\"", "contracts.moody.greeting", "a string");
        _misses("\"secondary\": \"stoic\",", "contracts.resilient.secondary", CONTRACT);
        _misses(
            "\"owner\": \"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\",",
            "contracts.proxy.owner",
            "the address of who may trip, reset and configure, or none"
        );
        _misses("\"window\": 7,", "contracts.proxy.config.window", "a whole number from 0 to 4294967295");
        _misses(
            ", \"flags\": [\"latch\"]", "contracts.proxy.config.flags", "a list of: latch, once_per_block, record_calls"
        );
        _misses(
            ", \"probe_calldata\": \"0x50d85315\"",
            "contracts.proxy.probe_calldata",
            "bytes in hex, as cast calldata prints them"
        );
        _misses(
            "\"primary_heartbeat\": 3600, ",
            "contracts.eth-usd.primary_heartbeat",
            "a whole number from 1 to 4294967295"
        );
        _reverts(
            "{\"salt\": \"0x0000000000000000000000000000000000000000000000000000000000000007\"}",
            abi.encodeWithSelector(
                Values.MissingParam.selector, FILE, "contracts", "an object of what to deploy, by name"
            )
        );
        string memory json = _with(
            _all(), "\"limits\": {\"gas\": 100000, \"reserve\": 150000, \"max_return\": 4096, \"min_return\": 32},", ""
        );
        _reverts(
            json, abi.encodeWithSelector(Values.MissingParam.selector, FILE, "contracts.proxy.limits", "an object")
        );
    }

    function test_RevertWhen_AKeyIsUnknown() public {
        _doesNotKnow("\"salt\"", "\"sugar\": 1, \"salt\"", "sugar", "salt, contracts");
        _doesNotKnow("\"greeting\": \"Hi\"", "\"greting\": \"Hi\"", "contracts.moody.greting", "artifact, greeting");
        _doesNotKnow(
            "\"secondary\":",
            "\"backup\":",
            "contracts.resilient.backup",
            "artifact, primary, secondary, failure_threshold, cooldown"
        );
        _doesNotKnow(
            "\"owner\":",
            "\"admin\":",
            "contracts.proxy.admin",
            "artifact, primary, backup, owner, config, limits, probe_calldata"
        );
        _doesNotKnow(
            "\"window\": 7",
            "\"windows\": 7",
            "contracts.proxy.config.windows",
            "failure_threshold, cooldown, success_threshold, max_cooldown, window, flags"
        );
        _doesNotKnow(
            "\"reserve\"", "\"reserved\"", "contracts.proxy.limits.reserved", "gas, reserve, max_return, min_return"
        );
        _doesNotKnow(
            "\"primary_heartbeat\"",
            "\"heartbeat\"",
            "contracts.eth-usd.heartbeat",
            "artifact, primary, backup, primary_heartbeat, backup_heartbeat, max_deviation_bps, gas, description, config"
        );
    }

    function test_RevertWhen_ItIsNotAnObject() public {
        _reverts("[]", abi.encodeWithSelector(Values.NotAnObject.selector, FILE, ""));
        string memory json = _with(_all(), "{\"artifact\": \"Moody\", \"greeting\": \"Hi\"}", "\"Hi\"");
        _reverts(json, abi.encodeWithSelector(Values.NotAnObject.selector, FILE, "contracts.moody"));
        json =
            _with(_all(), "{\"gas\": 100000, \"reserve\": 150000, \"max_return\": 4096, \"min_return\": 32}", "100000");
        _reverts(json, abi.encodeWithSelector(Values.NotAnObject.selector, FILE, "contracts.proxy.limits"));
    }

    function test_RevertWhen_ItIsNotJson() public {
        string memory reason = "vm.keyExistsJson: failed parsing JSON: EOF while parsing a value at line 1 column 9";
        _reverts("{\"salt\": ", abi.encodeWithSelector(JsonFile.NotJson.selector, FILE, reason));
        reason = "vm.keyExistsJson: failed parsing JSON: EOF while parsing a value at line 1 column 0";
        _reverts("", abi.encodeWithSelector(JsonFile.NotJson.selector, FILE, reason));
    }

    function test_RevertWhen_NothingIsToBeDeployed() public {
        string memory json = string.concat("{\"salt\": \"", vm.toString(bytes32(0)), "\", \"contracts\": {}}");
        bytes4 error_ = Values.BadParam.selector;
        string memory expected = "at least one contract to deploy, by name";
        _reverts(json, abi.encodeWithSelector(error_, FILE, "contracts", "a list or an object", expected));
    }

    function test_RevertWhen_ANameCannotBeAKey() public {
        string[5] memory names = ["", "0xmoody", "my.moody", "my moody", "m'"];
        for (uint256 i = 0; i < names.length; i++) {
            string memory json = _with(_all(), "\"moody\": {", string.concat("\"", names[i], "\": {"));
            _reverts(json, abi.encodeWithSelector(ParamsReader.BadName.selector, FILE, names[i]));
        }
    }

    function test_RevertWhen_TwoContractsAreTheSame() public {
        string memory twice = "\"stoic\": {\"artifact\": \"Stoic\", \"greeting\": \"Ho\"}, \"stoic-2\": {";
        string memory json = _with(_all(), "\"stoic\": {", twice);
        _reverts(json, abi.encodeWithSelector(ParamsReader.SameContract.selector, FILE, "stoic-2", "stoic"));
    }

    // ─── Helpers ───

    function _rejectsNumber(string memory entry, string memory value, string memory key, uint256 min, uint256 max)
        private
    {
        string memory expected = string.concat("a whole number from ", vm.toString(min), " to ", vm.toString(max));
        string[] memory halves = vm.split(entry, ": ");
        // A comma behind the number is part of what tells it from others.
        string memory end = vm.contains(entry, ",") ? "," : "";
        _rejects(entry, string.concat(halves[0], ": ", value, end), key, value, expected);
    }

    function _rejects(
        string memory what,
        string memory instead,
        string memory key,
        string memory value,
        string memory expected
    ) private {
        _reverts(
            _with(_all(), what, instead), abi.encodeWithSelector(Values.BadParam.selector, FILE, key, value, expected)
        );
    }

    function _misses(string memory what, string memory key, string memory expected) private {
        string memory json = vm.replace(_with(_all(), what, ""), ", }", "}");
        json = vm.replace(json, ",}", "}");
        _reverts(json, abi.encodeWithSelector(Values.MissingParam.selector, FILE, key, expected));
    }

    function _doesNotKnow(string memory what, string memory instead, string memory key, string memory known) private {
        bytes memory reason = abi.encodeWithSelector(Values.UnknownParam.selector, FILE, key, known);
        _reverts(_with(_all(), what, instead), reason);
    }

    function _reverts(string memory json, bytes memory reason) private {
        vm.expectRevert(reason);
        reader.parse(FILE, json);
    }

    function _chain() private view returns (string memory) {
        return vm.toString(block.chainid);
    }
}
