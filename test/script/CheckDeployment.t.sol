// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Plans} from "./Plans.sol";
import {CircuitBreaker} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy} from "contracts/FaultTolerantProxy.sol";
import {ResilientFeed} from "contracts/ResilientFeed.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {CheckDeployment} from "script/CheckDeployment.s.sol";
import {Deploy} from "script/Deploy.s.sol";
import {JsonFile} from "script/JsonFile.sol";
import {Params} from "script/Params.sol";
import {Planned} from "script/Planned.sol";

/// @notice Every way in which a chain can differ from what was recorded is found, and nothing else is.
contract CheckDeploymentTest is Plans {
    bytes32 private constant BREAKER = bytes32(0);

    CheckDeployment private script;
    Deploy private deploy;
    Moody private moody;
    address private stoic;
    FaultTolerantProxy private proxy;
    ResilientFeed private feed;
    Resilient private resilient;

    function setUp() public {
        vm.chainId(31_337);
        _setUpPlans();
        script = new CheckDeployment();
        deploy = new Deploy();
        Params memory params = _parse(_all());
        deploy.deploy(params);
        Planned[] memory plan = params.contracts;
        moody = Moody(plan[0].addr);
        stoic = plan[1].addr;
        proxy = FaultTolerantProxy(payable(plan[2].addr));
        feed = ResilientFeed(plan[3].addr);
        resilient = Resilient(plan[4].addr);
    }

    function test_ADeploymentIsAsRecorded() public {
        script.check(_recorded("as-is"), _parse(_all()));
    }

    function test_OpenBreakersAndFeedsThatAreDownAreStillAsRecorded() public {
        moody.toggleMood();
        for (uint256 i = 0; i < 4; i++) {
            resilient.safeAsk();
        }
        vm.prank(OWNER);
        proxy.trip(0);
        // Constructed now, a feed would have no price.
        vm.warp(block.timestamp + 2 days);
        feed.probe(BREAKER);
        script.check(_recorded("open"), _parse(_all()));
        // The price it was constructed with is gone again.
        (, int256 answer,,,) = primaryFeed.latestRoundData();
        assertEq(answer, 2000e8);
    }

    function test_OtherContractsInTheFileAreCheckedForCodeAndBreakers() public {
        string memory other = string.concat("{\"artifact\":\"Feed\",\"address\":\"", vm.toString(address(resilient)));
        other = string.concat(other, "\",\"block\":1,\"breakers\":{\"oracle-1\":\"", vm.toString(BREAKER), "\"}}");
        string memory json =
            _with(_recorded("other"), "\"moody\":", string.concat("\"my-feed\":", other, ",\"moody\":"));
        script.check(json, _parse(_all()));

        json = _with(json, "\"oracle-1\":\"0x00", "\"oracle-1\":\"0x10");
        _differsFromRecord(
            json, "my-feed", "breaker oracle-1", "not listed", vm.toString(bytes32(uint256(0x10) << 248))
        );
    }

    function test_ABreakerMayBeWrittenAsTheKeeperShowsIt() public {
        string memory slot = vm.toString(bytes32(0));
        script.check(_with(_recorded("short"), slot, "0x00"), _parse(_all()));
        string memory json = _with(_recorded("short"), slot, "0x07");
        string memory seven = vm.toString(bytes32(uint256(7)));
        _differsFromRecord(json, "proxy", "breaker primary", "not listed", seven);
    }

    // ─── Another chain ───

    function test_RevertWhen_TheFileIsOfAnotherChain() public {
        string memory json = _recorded("chain");
        vm.chainId(1);
        _differsFromRecord(json, "", "chainId", "1", "31337");
    }

    function test_RevertWhen_ThereIsNoCode() public {
        string memory json = _recorded("no-code");
        vm.etch(address(moody), "");
        _differsFromRecord(
            json, "moody", "code", "none", vm.toString(address(moody)), ": was it sent? Run script/Deploy.s.sol again"
        );
    }

    function test_RevertWhen_CodeDiffers() public {
        _differsInCode("moody", address(moody), address(moody).code);
        _differsInCode("proxy", address(proxy), address(proxy).code);
        _differsInCode("eth-usd", address(feed), address(feed).code);
        _differsInCode("resilient", address(resilient), address(resilient).code);
    }

    function test_RevertWhen_ResilientAsksSomebodyElse() public {
        string memory json = _recorded("wiring");
        Resilient other = new Resilient(resilient.secondary(), resilient.primary(), 4, 50);
        vm.etch(address(resilient), address(other).code);
        string[] memory differences = new string[](2);
        differences[0] = _swap("primary", stoic, address(moody));
        differences[1] = _swap("secondary", address(moody), stoic);
        _reverts(json, _all(), "resilient", differences);
    }

    function test_RevertWhen_TheListOfBreakersCannotBeHad() public {
        string memory json = _recorded("mute");
        vm.etch(address(resilient), hex"5f5ffd"); // revert(0, 0)
        _differsFromRecord(json, "resilient", "breakers()", "a revert", "a list");
    }

    function test_RevertWhen_TheBreakerIsNotConfigured() public {
        string memory json = _recorded("blank");
        vm.store(address(proxy), BREAKER, 0);
        _differs(json, "proxy", "breaker primary", "not configured", "configured");
    }

    function test_RevertWhen_TheOwnerChangedThePolicy() public {
        string memory json = _recorded("owner");
        vm.prank(OWNER);
        proxy.configure(CircuitBreaker.safe(2, 60));
        string[] memory differences = new string[](4);
        differences[0] = "success_threshold: 2 on the chain, 3 in script/params/test.json";
        differences[1] = "max_cooldown: 960 on the chain, 600 in script/params/test.json";
        differences[2] = "window: 0 on the chain, 7 in script/params/test.json";
        differences[3] = "flags: 6 on the chain, 5 in script/params/test.json";
        _reverts(json, _all(), "proxy", differences);
    }

    function test_RevertWhen_TheFeedHasOtherDecimalsThanItWasBuiltFor() public {
        string memory json = _recorded("decimals");
        primaryFeed.setDecimals(9);
        _differs(json, "eth-usd", "decimals of the primary", "8", "9");
        primaryFeed.setDecimals(8);
        // The backup's are in the code only.
        backupFeed.setDecimals(17);
        Params memory params = _parse(_all());
        vm.expectPartialRevert(CheckDeployment.Differs.selector);
        script.check(json, params);
    }

    // ─── Other parameters ───

    function test_RevertWhen_AParameterWasNeverDeployed() public {
        string memory json = _recorded("params");
        _differsFrom(json, "\"greeting\": \"Ho\"", "\"greeting\": \"Ha\"", "stoic", "greeting", "Ho", "Ha");
        _differsFrom(json, "_threshold\": 4", "_threshold\": 5", "resilient", "failure_threshold", "4", "5");
        _differsFrom(json, "_threshold\": 2,", "_threshold\": 1,", "proxy", "failure_threshold", "2", "1");
        _differsFrom(json, "\"cooldown\": 60,", "\"cooldown\": 61,", "proxy", "cooldown", "60", "61");
        _differsFrom(json, "_threshold\": 3,", "_threshold\": 4,", "proxy", "success_threshold", "3", "4");
        _differsFrom(json, "\"max_cooldown\": 600", "\"max_cooldown\": 602", "proxy", "max_cooldown", "600", "602");
        _differsFrom(json, "\"window\": 7", "\"window\": 8", "proxy", "window", "7", "8");
        _differsFrom(json, "[\"latch\"]", "[\"record_calls\"]", "proxy", "flags", "5", "0");
        _differsFrom(json, "heartbeat\": 3600", "heartbeat\": 3601", "eth-usd", "primary_heartbeat", "3600", "3601");
        _differsFrom(json, "heartbeat\": 86400", "heartbeat\": 86401", "eth-usd", "backup_heartbeat", "86400", "86401");
        _differsFrom(json, "_bps\": 200", "_bps\": 201", "eth-usd", "max_deviation_bps", "200", "201");
        _differsFrom(json, "ETH / USD", "BTC / USD", "eth-usd", "description", "ETH / USD", "BTC / USD");
        _differsFrom(json, "_threshold\": 5", "_threshold\": 6", "eth-usd", "failure_threshold", "5", "6");
    }

    function test_RevertWhen_AnAddressWasNeverDeployed() public {
        string memory json = _recorded("addresses");
        string memory other = vm.toString(address(script));
        string memory owner = vm.toString(OWNER);
        _differsFrom(json, owner, other, "proxy", "owner", owner, other);
        _differsFrom(
            json,
            "\"backup\": \"stoic\"",
            string.concat("\"backup\": \"", other, "\""),
            "proxy",
            "backup",
            vm.toString(stoic),
            other
        );
        string memory first = vm.toString(address(primaryFeed));
        string memory swapped = _with(_all(), first, "FIRST");
        string memory second = vm.toString(address(backupFeed));
        swapped = _with(_with(swapped, second, first), "FIRST", second);
        string[] memory differences = new string[](3);
        differences[0] = _swap("primary", address(primaryFeed), address(backupFeed));
        differences[1] = _swap("backup", address(backupFeed), address(primaryFeed));
        differences[2] = "decimals of the primary: 8 on the chain, 18 in script/params/test.json";
        _reverts(json, swapped, "eth-usd", differences);
    }

    /// What cannot be read back: the address follows from it, too.
    function test_RevertWhen_WhatIsProbedDiffers() public {
        string memory json = _recorded("probe");
        string memory changed = _with(_all(), "0x50d85315", "0x50d8531500");
        string memory planned = vm.toString(_parse(changed).contracts[2].addr);
        _recordDiffers(json, changed, "proxy", "address", vm.toString(address(proxy)), planned);
    }

    function test_RevertWhen_TheSaltDiffers() public {
        string memory json = _recorded("salt");
        string memory changed = _with(_all(), "0007\"", "0008\"");
        string memory planned = vm.toString(_parse(changed).contracts[0].addr);
        _recordDiffers(json, changed, "moody", "address", vm.toString(address(moody)), planned);
    }

    // ─── Another file ───

    function test_RevertWhen_ABreakerIsNotListed() public {
        string memory json = _with(_recorded("slot"), "\"primary\": \"0x00", "\"primary\": \"0x10");
        _differsFromRecord(json, "proxy", "breaker primary", "not listed", vm.toString(bytes32(uint256(0x10) << 248)));
    }

    function test_RevertWhen_ALabelDiffers() public {
        string memory json = _with(_recorded("label"), "\"primary\"", "\"main\"");
        _recordDiffers(json, "proxy", "breaker label", "main", "primary");
    }

    function test_RevertWhen_ABreakerIsNotRecorded() public {
        string memory slot = vm.toString(bytes32(uint256(0)));
        string memory json = _with(_recorded("unlabelled"), string.concat("\"primary\": \"", slot, "\""), "");
        _recordDiffers(json, "proxy", "breakers", "0", "1");
    }

    function test_RevertWhen_AnArtifactDiffers() public {
        string memory json = _with(_recorded("artifact"), "\"Moody\"", "\"Stoic\"");
        _recordDiffers(json, "moody", "artifact", "Stoic", "Moody");
    }

    function test_RevertWhen_OneIsNotRecorded() public {
        string memory json = _with(_recorded("missing"), "\"stoic\"", "\"cynic\"");
        Params memory params = _parse(_all());
        vm.expectRevert(abi.encodeWithSelector(CheckDeployment.NotRecorded.selector, "stoic"));
        script.check(json, params);
    }

    function test_RevertWhen_ThereIsNoFile() public {
        vm.chainId(4242);
        vm.expectRevert(abi.encodeWithSelector(CheckDeployment.NoRecord.selector, "deployments/4242.json"));
        script.run();
    }

    function test_RevertWhen_TheFileIsCutOff() public {
        vm.chainId(4243);
        string memory path = "deployments/4243.json";
        vm.writeFile(path, "{\"chainId\": 4243, \"contracts\": {");
        vm.expectRevert(
            abi.encodeWithSelector(
                JsonFile.NotJson.selector,
                path,
                "vm.keyExistsJson: failed parsing JSON: EOF while parsing an object at line 1 column 32"
            )
        );
        script.run();
        vm.removeFile(path);
    }

    // ─── What is said ───

    function test_AllDifferencesOfAContractAreSaid() public {
        string memory json = _recorded("lines");
        string[] memory differences = new string[](3);
        differences[0] = "failure_threshold: 4 on the chain, 5 in script/params/test.json";
        differences[1] = "cooldown: 50 on the chain, 51 in script/params/test.json";
        // Which Resilient keeps constant.
        differences[2] = "max_cooldown: 50 on the chain, 51 in script/params/test.json";
        _reverts(
            json,
            _with(_all(), "_threshold\": 4, \"cooldown\": 50", "_threshold\": 5, \"cooldown\": 51"),
            "resilient",
            differences
        );
    }

    // ─── Helpers ───

    /// The chain, checked against the parameters it was deployed with.
    function _differs(
        string memory json,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        _differsFrom(json, _all(), name, what, found, expected);
    }

    /// The chain, checked against parameters in which something is different.
    function _differsFrom(
        string memory json,
        string memory param,
        string memory instead,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        _differsFrom(json, _with(_all(), param, instead), name, what, found, expected);
    }

    function _differsFrom(
        string memory json,
        string memory paramsJson,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        _reverts(json, paramsJson, name, what, _onChain(found), _planned(expected));
    }

    /// The chain, checked against the deployment file.
    function _differsFromRecord(
        string memory json,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        _differsFromRecord(json, name, what, found, expected, "");
    }

    function _differsFromRecord(
        string memory json,
        string memory name,
        string memory what,
        string memory found,
        string memory expected,
        string memory remedy
    ) private {
        _reverts(json, _all(), name, what, _onChain(found), string.concat(_inRecord(expected), remedy));
    }

    /// The deployment file, checked against the parameters.
    function _recordDiffers(
        string memory json,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        _recordDiffers(json, _all(), name, what, found, expected);
    }

    function _recordDiffers(
        string memory json,
        string memory paramsJson,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        _reverts(json, paramsJson, name, what, _inRecord(found), _planned(expected));
    }

    function _reverts(
        string memory json,
        string memory paramsJson,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        string[] memory differences = new string[](1);
        differences[0] = string.concat(what, ": ", found, ", ", expected);
        _reverts(json, paramsJson, name, differences);
    }

    function _reverts(string memory json, string memory paramsJson, string memory name, string[] memory differences)
        private
    {
        Params memory params = _parse(paramsJson);
        vm.expectRevert(abi.encodeWithSelector(CheckDeployment.Differs.selector, name, differences));
        script.check(json, params);
    }

    function _swap(string memory what, address found, address expected) private pure returns (string memory) {
        return string.concat(what, ": ", _onChain(vm.toString(found)), ", ", _planned(vm.toString(expected)));
    }

    function _onChain(string memory value) private pure returns (string memory) {
        return string.concat(value, " on the chain");
    }

    function _inRecord(string memory value) private view returns (string memory) {
        return string.concat(value, " in deployments/", vm.toString(block.chainid), ".json");
    }

    function _planned(string memory value) private pure returns (string memory) {
        return string.concat(value, " in ", FILE);
    }

    /// One more byte at the end, which is never executed.
    function _differsInCode(string memory name, address addr, bytes memory genuine) private {
        string memory json = _recorded(string.concat("code-", name));
        bytes memory code = bytes.concat(genuine, hex"00");
        vm.etch(addr, code);
        _differs(json, name, "code hash", vm.toString(keccak256(code)), vm.toString(keccak256(genuine)));
        vm.etch(addr, genuine);
    }

    /// What Deploy writes. Each test has a file of its own, since they run side by side.
    function _recorded(string memory name) private returns (string memory json) {
        string memory path = string.concat("deployments/test-check-", name, ".json");
        if (vm.exists(path)) vm.removeFile(path);
        Params memory params = _parse(_all());
        deploy.record(params, deploy.deploy(params), path, "");
        json = vm.readFile(path);
        vm.removeFile(path);
    }
}
