// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker} from "contracts/CircuitBreaker.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {Test} from "forge-std/Test.sol";
import {Deploy} from "script/Deploy.s.sol";
import {Params} from "script/Params.sol";

/// @notice What of the script needs no node. A broadcast is tested against anvil, from Rust.
contract DeployTest is Test {
    Deploy private script;
    Params private params = Params(bytes32(uint256(7)), "Hi", "Ho", 4, 50);

    function setUp() public {
        vm.roll(1000);
        script = new Deploy();
    }

    // ─── Deploying ───

    function test_ThreeContractsAreDeployedWithTheirParameters() public {
        Deploy.Trio memory trio = script.deploy(params);
        assertEq(Moody(trio.moody.addr).speak(), "Hi");
        assertEq(Stoic(trio.stoic.addr).speak(), "Ho");
        Resilient resilient = Resilient(trio.resilient.addr);
        assertEq(address(resilient.primary()), trio.moody.addr);
        assertEq(address(resilient.secondary()), trio.stoic.addr);
        Breaker memory breaker = resilient.breaker();
        assertEq(breaker.failureThreshold, 4);
        assertEq(breaker.cooldown, 50);
    }

    function test_AddressesFollowFromSaltAndInitCode() public {
        Deploy.Trio memory trio = script.deploy(params);
        bytes32 initCodeHash = keccak256(abi.encodePacked(type(Moody).creationCode, abi.encode("Hi")));
        assertEq(trio.moody.addr, vm.computeCreate2Address(params.salt, initCodeHash, CREATE2_FACTORY));
    }

    function test_ASecondRunDeploysNothing() public {
        Deploy.Trio memory first = script.deploy(params);
        Deploy.Trio memory second = script.deploy(params);
        assertTrue(first.moody.isNew && first.stoic.isNew && first.resilient.isNew);
        assertFalse(second.moody.isNew || second.stoic.isNew || second.resilient.isNew);
        assertEq(second.moody.addr, first.moody.addr);
        assertEq(second.stoic.addr, first.stoic.addr);
        assertEq(second.resilient.addr, first.resilient.addr);
    }

    function test_AnotherPolicyDeploysOnlyWhatItConcerns() public {
        Deploy.Trio memory first = script.deploy(params);
        params.cooldown = 51;
        Deploy.Trio memory second = script.deploy(params);
        assertFalse(second.moody.isNew || second.stoic.isNew);
        assertTrue(second.resilient.isNew);
        assertNotEq(second.resilient.addr, first.resilient.addr);
    }

    function test_AnotherSaltDeploysAllAgain() public {
        script.deploy(params);
        params.salt = bytes32(uint256(8));
        Deploy.Trio memory trio = script.deploy(params);
        assertTrue(trio.moody.isNew && trio.stoic.isNew && trio.resilient.isNew);
    }

    function test_RevertWhen_AConstructorReverts() public {
        params.cooldown = 0;
        vm.expectRevert(abi.encodeWithSelector(Deploy.NotCreated.selector, "Resilient"));
        script.deploy(params);
    }

    function test_RevertWhen_TheChainHasNoFactory() public {
        vm.etch(CREATE2_FACTORY, "");
        vm.expectRevert(abi.encodeWithSelector(Deploy.NoCreate2Factory.selector, CREATE2_FACTORY));
        script.deploy(params);
    }

    // ─── The deployment file ───

    function test_WithoutABroadcastNothingIsWritten() public {
        vm.chainId(31_337);
        string memory path = "deployments/31337.json";
        string memory before = vm.exists(path) ? vm.readFile(path) : "";
        (address moody,,) = script.run();
        assertGt(moody.code.length, 0);
        assertEq(vm.exists(path) ? vm.readFile(path) : "", before);
    }

    function test_TheFileHasTheThree() public {
        string memory path = _newFile("all");
        Deploy.Trio memory trio = script.deploy(params);
        script.record(trio, path, "0123456");
        string memory json = vm.readFile(path);
        vm.removeFile(path);

        assertEq(vm.parseJsonUint(json, ".chainId"), block.chainid);
        assertEq(vm.parseJsonString(json, ".commit"), "0123456");
        assertEq(vm.parseJsonKeys(json, ".contracts").length, 3);
        assertEq(vm.parseJsonString(json, ".contracts.moody.artifact"), "Moody");
        assertEq(vm.parseJsonAddress(json, ".contracts.moody.address"), trio.moody.addr);
        assertEq(vm.parseJsonKeys(json, ".contracts.moody.breakers").length, 0);
        assertEq(vm.parseJsonString(json, ".contracts.stoic.artifact"), "Stoic");
        assertEq(vm.parseJsonAddress(json, ".contracts.stoic.address"), trio.stoic.addr);
        assertEq(vm.parseJsonString(json, ".contracts.resilient.artifact"), "Resilient");
        assertEq(vm.parseJsonAddress(json, ".contracts.resilient.address"), trio.resilient.addr);
        assertEq(vm.parseJsonUint(json, ".contracts.resilient.block"), 1000);
        bytes32 slot = vm.parseJsonBytes32(json, ".contracts.resilient.breakers.primary");
        assertEq(slot, Resilient(trio.resilient.addr).breakers()[0]);
    }

    function test_OtherNamesStay() public {
        string memory path = _newFile("merge");
        vm.writeFile(path, "{\"chainId\": 31337, \"commit\": \"\", \"contracts\": {\"my-feed\": {\"block\": 5}}}");
        script.record(script.deploy(params), path, "");
        string memory json = vm.readFile(path);
        vm.removeFile(path);

        assertEq(vm.parseJsonUint(json, ".contracts['my-feed'].block"), 5);
        assertEq(vm.parseJsonKeys(json, ".contracts").length, 4);
    }

    function test_ASecondRunKeepsFirstBlockAndCommit() public {
        string memory path = _newFile("again");
        script.record(script.deploy(params), path, "0123456");
        string memory before = vm.readFile(path);
        vm.roll(2000);
        script.record(script.deploy(params), path, "abcdef0");
        string memory json = vm.readFile(path);
        vm.removeFile(path);

        assertEq(json, before);
    }

    function test_ANewDeploymentReplacesFirstBlockAndCommit() public {
        string memory path = _newFile("replace");
        script.record(script.deploy(params), path, "0123456");
        vm.roll(2000);
        params.cooldown = 51;
        script.record(script.deploy(params), path, "abcdef0");
        string memory json = vm.readFile(path);
        vm.removeFile(path);

        assertEq(vm.parseJsonUint(json, ".contracts.moody.block"), 1000);
        assertEq(vm.parseJsonUint(json, ".contracts.resilient.block"), 2000);
        assertEq(vm.parseJsonString(json, ".commit"), "abcdef0");
    }

    function test_AFoundContractWithoutRecordIsReadFromTheStart() public {
        string memory path = _newFile("lost");
        script.deploy(params);
        vm.roll(2000);
        script.record(script.deploy(params), path, "");
        string memory json = vm.readFile(path);
        vm.removeFile(path);

        assertEq(vm.parseJsonUint(json, ".contracts.resilient.block"), 0);
    }

    /// A file per test, since they run side by side.
    function _newFile(string memory name) private returns (string memory path) {
        path = string.concat("deployments/test-deploy-", name, ".json");
        if (vm.exists(path)) vm.removeFile(path);
    }
}
