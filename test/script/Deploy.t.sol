// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Plans} from "./Plans.sol";
import {Breaker, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy} from "contracts/FaultTolerantProxy.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {ResilientFeed} from "contracts/ResilientFeed.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {Deploy} from "script/Deploy.s.sol";
import {JsonFile} from "script/JsonFile.sol";
import {Params} from "script/Params.sol";
import {Planned} from "script/Planned.sol";
import {Rehearsal} from "script/Rehearsal.sol";

/// @notice What of the script needs no node. A broadcast is tested against anvil, by tools/e2e.
contract DeployTest is Plans {
    // Where each is in the plan.
    uint256 private constant MOODY = 0;
    uint256 private constant STOIC = 1;
    uint256 private constant PROXY = 2;
    uint256 private constant FEED = 3;
    uint256 private constant RESILIENT = 4;

    Deploy private script;

    function setUp() public {
        vm.roll(1000);
        _setUpPlans();
        script = new Deploy();
    }

    // ─── Deploying ───

    function test_TheTrioIsDeployedWithItsParameters() public {
        Planned[] memory plan = _deploy(_all(), "new new new new new");
        assertEq(Moody(plan[MOODY].addr).speak(), "Hi");
        assertEq(Stoic(plan[STOIC].addr).speak(), "Ho");
        Resilient resilient = Resilient(plan[RESILIENT].addr);
        assertEq(address(resilient.primary()), plan[MOODY].addr);
        assertEq(address(resilient.secondary()), plan[STOIC].addr);
        Breaker memory breaker = resilient.breaker();
        assertEq(breaker.failureThreshold, 4);
        assertEq(breaker.cooldown, 50);
    }

    function test_AProxyIsDeployedWithItsParameters() public {
        Planned[] memory plan = _deploy(_all(), "new new new new new");
        FaultTolerantProxy proxy = FaultTolerantProxy(payable(plan[PROXY].addr));
        assertEq(proxy.primary(), plan[MOODY].addr);
        assertEq(proxy.backup(), plan[STOIC].addr);
        assertEq(proxy.owner(), OWNER);
        bytes32 id = proxy.breakers()[0];
        (State state, Breaker memory breaker) = proxy.breakerState(id);
        assertEq(uint256(state), uint256(State.Closed));
        assertEq(breaker.failureThreshold, 2);
        assertEq(breaker.flags, 1 | 4); // LATCH, and PROBE_ONLY by default
        assertEq(uint256(proxy.probe(id)), uint256(Outcome.Ok));
        assertEq(Moody(address(proxy)).speak(), "Hi");
    }

    function test_AFeedIsDeployedWithItsParameters() public {
        Planned[] memory plan = _deploy(_all(), "new new new new new");
        ResilientFeed feed = ResilientFeed(plan[FEED].addr);
        (, int256 answer,,,) = feed.latestRoundData();
        assertEq(answer, 2000e8);
        assertEq(address(feed.backup()), address(backupFeed));
        assertEq(feed.breaker().failureThreshold, 5);
    }

    function test_AddressesFollowFromSaltAndInitCode() public {
        Planned[] memory plan = _deploy(_all(), "new new new new new");
        bytes32 initCodeHash = keccak256(abi.encodePacked(type(Moody).creationCode, abi.encode("Hi")));
        bytes32 salt = bytes32(uint256(7));
        assertEq(plan[MOODY].addr, vm.computeCreate2Address(salt, initCodeHash, CREATE2_FACTORY));
    }

    function test_ASecondRunDeploysNothing() public {
        Planned[] memory first = _deploy(_all(), "new new new new new");
        Planned[] memory second = _deploy(_all(), "old old old old old");
        for (uint256 i = 0; i < first.length; i++) {
            assertEq(second[i].addr, first[i].addr);
        }
    }

    function test_ASecondRunDoesNotNeedThePrimary() public {
        Planned[] memory plan = _deploy(_all(), "new new new new new");
        Moody(plan[MOODY].addr).toggleMood();
        primaryFeed.setDown(true);
        backupFeed.setDown(true);
        _deploy(_all(), "old old old old old");
    }

    function test_AnotherPolicyDeploysOnlyWhatItConcerns() public {
        Planned[] memory first = _deploy(_all(), "new new new new new");
        Planned[] memory second =
            _deploy(_with(_all(), "\"cooldown\": 60,", "\"cooldown\": 59,"), "old old new old old");
        assertNotEq(second[PROXY].addr, first[PROXY].addr);
    }

    function test_AnotherPrimaryDeploysAllThatNeedIt() public {
        _deploy(_all(), "new new new new new");
        _deploy(_with(_all(), "\"Hi\"", "\"Hey\""), "new old new old new");
    }

    function test_AnotherSaltDeploysAllAgain() public {
        _deploy(_all(), "new new new new new");
        _deploy(_with(_all(), "0007\"", "0008\""), "new new new new new");
    }

    // ─── Refusing ───

    function test_RevertWhen_AConstructorRefuses() public {
        // Budget and reserve fit a transaction each, and not together.
        Params memory params = _parse(_with(_all(), "\"reserve\": 150000", "\"reserve\": 16700000"));
        vm.expectPartialRevert(GuardedCall.GasBudgetTooLarge.selector);
        script.deploy(params);
    }

    function test_RevertWhen_AFeedHasNoAnswer() public {
        primaryFeed.setDown(true);
        backupFeed.setDown(true);
        _refuses(_all(), abi.encodeWithSelector(ResilientFeed.NoAnswer.selector));
    }

    function test_RevertWhen_TheProbeOfAProxyFails() public {
        // safeAsk(), which Moody does not have.
        string memory json = _with(_all(), "0x50d85315", "0xbeeeff2a");
        _refusesToProbe(json, "proxy", "Reverted", "primary, probe_calldata");
        // Enough for the call, and too little for Moody to read its two slots.
        _refusesToProbe(_with(_all(), "\"gas\": 100000", "\"gas\": 2300"), "proxy", "BudgetSpent", "gas");
        // A string has three words.
        string memory keys = "min_return, probe_calldata, primary";
        _refusesToProbe(_with(_all(), "\"min_return\": 32", "\"min_return\": 97"), "proxy", "BadReturn", keys);
        // One byte less than that.
        json = _with(_all(), "\"max_return\": 4096", "\"max_return\": 95");
        _refusesToProbe(json, "proxy", "ReturnTooLarge", "max_return");
        _deploy(_with(_all(), "\"min_return\": 32", "\"min_return\": 96"), "new new new new new");
    }

    function test_RevertWhen_TheProbeOfAFeedFails() public {
        // The backup is good, so there is a price, but none of the primary.
        primaryFeed.answers(2000e8, block.timestamp - 3601);
        _refusesToProbe(_all(), "eth-usd", "Rejected", "primary_heartbeat, primary");
        primaryFeed.answers(2000e8, block.timestamp - 3600);
        _deploy(_all(), "new new new new new");
    }

    function test_RevertWhen_TheProbeOfResilientFails() public {
        string memory moody = "\"primary\": \"moody\", \"secondary\"";
        string memory feed = string.concat("\"primary\": \"", vm.toString(address(backupFeed)), "\", \"secondary\"");
        _refusesToProbe(_with(_all(), moody, feed), "resilient", "Reverted", "primary, probe_calldata");
    }

    function test_RevertWhen_TheChainHasNoFactory() public {
        vm.etch(CREATE2_FACTORY, "");
        _refuses(_all(), abi.encodeWithSelector(Deploy.NoCreate2Factory.selector, CREATE2_FACTORY));
    }

    function test_RevertWhen_TheFactoryCreatesNothing() public {
        vm.etch(CREATE2_FACTORY, hex"00");
        Planned memory first = _parse(_all()).contracts[0];
        _refuses(_all(), abi.encodeWithSelector(Deploy.NotCreated.selector, first.name, first.addr));
    }

    // ─── The deployment file ───

    function test_WithoutABroadcastNothingIsWritten() public {
        vm.chainId(31_337);
        string memory path = "deployments/31337.json";
        string memory before = vm.exists(path) ? vm.readFile(path) : "";
        script.run();
        assertGt(reader.read("script/params/anvil.json").contracts[0].addr.code.length, 0);
        assertEq(vm.exists(path) ? vm.readFile(path) : "", before);
    }

    function test_TheFileHasAllOfThem() public {
        string memory path = _newFile("all");
        Planned[] memory plan = _record(_all(), path, "0123456");
        string memory json = _take(path);

        assertEq(vm.parseJsonUint(json, ".chainId"), block.chainid);
        assertEq(vm.parseJsonString(json, ".commit"), "0123456");
        assertEq(vm.parseJsonKeys(json, ".contracts").length, 5);
        for (uint256 i = 0; i < plan.length; i++) {
            string memory key = string.concat(".contracts['", plan[i].name, "']");
            assertEq(vm.parseJsonString(json, string.concat(key, ".artifact")), plan[i].artifact);
            assertEq(vm.parseJsonAddress(json, string.concat(key, ".address")), plan[i].addr);
            assertEq(vm.parseJsonUint(json, string.concat(key, ".block")), 1000);
            assertEq(vm.parseJsonKeys(json, string.concat(key, ".breakers")).length, plan[i].hasBreaker ? 1 : 0);
        }
        bytes32 slot = vm.parseJsonBytes32(json, ".contracts['eth-usd'].breakers.primary");
        assertEq(slot, ResilientFeed(plan[FEED].addr).breakers()[0]);
        slot = vm.parseJsonBytes32(json, ".contracts.proxy.breakers.primary");
        assertEq(slot, FaultTolerantProxy(payable(plan[PROXY].addr)).breakers()[0]);
    }

    function test_RevertWhen_TheFileIsCutOff() public {
        string memory path = _newFile("cut");
        vm.writeFile(path, "{\"chainId\": 31337,");
        Params memory params = _parse(_all());
        bool[] memory isNew = script.deploy(params);
        vm.expectRevert(
            abi.encodeWithSelector(
                JsonFile.NotJson.selector,
                path,
                "vm.keyExistsJson: failed parsing JSON: EOF while parsing a value at line 1 column 18"
            )
        );
        script.record(params, isNew, path, "");
        vm.removeFile(path);
    }

    function test_OtherNamesStay() public {
        string memory path = _newFile("merge");
        vm.writeFile(path, "{\"chainId\": 31337, \"commit\": \"\", \"contracts\": {\"my-feed\": {\"block\": 5}}}");
        _record(_all(), path, "");
        string memory json = _take(path);

        assertEq(vm.parseJsonUint(json, ".contracts['my-feed'].block"), 5);
        assertEq(vm.parseJsonKeys(json, ".contracts").length, 6);
    }

    function test_ASecondRunKeepsFirstBlockAndCommit() public {
        string memory path = _newFile("again");
        _record(_all(), path, "0123456");
        string memory before = vm.readFile(path);
        vm.roll(2000);
        _record(_all(), path, "abcdef0");
        assertEq(_take(path), before);
    }

    function test_ANewDeploymentReplacesAddressFirstBlockAndCommit() public {
        string memory path = _newFile("replace");
        _record(_all(), path, "0123456");
        vm.roll(2000);
        Planned[] memory plan = _record(_with(_all(), "\"gas\": 60000", "\"gas\": 60001"), path, "abcdef0");
        string memory json = _take(path);

        assertEq(vm.parseJsonUint(json, ".contracts.proxy.block"), 1000);
        assertEq(vm.parseJsonUint(json, ".contracts['eth-usd'].block"), 2000);
        assertEq(vm.parseJsonAddress(json, ".contracts['eth-usd'].address"), plan[FEED].addr);
        assertEq(vm.parseJsonString(json, ".commit"), "abcdef0");
    }

    function test_GoingBackToAnEarlierOneDoesNotTakeTheBlockOfTheLater() public {
        string memory path = _newFile("back");
        _record(_all(), path, "");
        vm.roll(2000);
        _record(_with(_all(), "\"gas\": 60000", "\"gas\": 60001"), path, "");
        Planned[] memory plan = _record(_all(), path, "");
        string memory json = _take(path);

        assertEq(vm.parseJsonAddress(json, ".contracts['eth-usd'].address"), plan[FEED].addr);
        assertEq(vm.parseJsonUint(json, ".contracts['eth-usd'].block"), 0);
    }

    function test_AFoundContractWithoutRecordIsReadFromTheStart() public {
        string memory path = _newFile("lost");
        script.deploy(_parse(_all()));
        vm.roll(2000);
        _record(_all(), path, "");
        assertEq(vm.parseJsonUint(_take(path), ".contracts.resilient.block"), 0);
    }

    // ─── Helpers ───

    /// @param news Of each contract whether it has to be new, as in "new old".
    function _deploy(string memory json, string memory news) private returns (Planned[] memory) {
        Params memory params = _parse(json);
        bool[] memory isNew = script.deploy(params);
        string memory found = "";
        for (uint256 i = 0; i < isNew.length; i++) {
            found = string.concat(found, i == 0 ? "" : " ", isNew[i] ? "new" : "old");
        }
        assertEq(found, news);
        return params.contracts;
    }

    function _refuses(string memory json, bytes memory reason) private {
        Params memory params = _parse(json);
        vm.expectRevert(reason);
        script.deploy(params);
    }

    function _refusesToProbe(string memory json, string memory name, string memory outcome, string memory keys)
        private
    {
        _refuses(json, abi.encodeWithSelector(Rehearsal.ProbeFails.selector, FILE, name, outcome, keys));
    }

    function _record(string memory json, string memory path, string memory commit) private returns (Planned[] memory) {
        Params memory params = _parse(json);
        script.record(params, script.deploy(params), path, commit);
        return params.contracts;
    }

    /// A file per test, since they run side by side.
    function _newFile(string memory name) private returns (string memory path) {
        path = string.concat("deployments/test-deploy-", name, ".json");
        if (vm.exists(path)) vm.removeFile(path);
    }

    function _take(string memory path) private returns (string memory json) {
        json = vm.readFile(path);
        vm.removeFile(path);
    }
}
