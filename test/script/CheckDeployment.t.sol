// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Test} from "forge-std/Test.sol";
import {CheckDeployment} from "script/CheckDeployment.s.sol";
import {Deploy} from "script/Deploy.s.sol";
import {Params} from "script/Params.sol";

/// @notice Every way in which a chain can differ from what was recorded is found, and nothing else is.
contract CheckDeploymentTest is Test {
    bytes32 private constant BREAKER = bytes32(0);

    CheckDeployment private script;
    Deploy private deploy;
    Params private params = Params(bytes32(uint256(7)), "Hi", "Ho", 3, 50);
    Moody private moody;
    Resilient private resilient;

    function setUp() public {
        vm.chainId(31_337);
        script = new CheckDeployment();
        deploy = new Deploy();
        Deploy.Trio memory trio = deploy.deploy(params);
        moody = Moody(trio.moody.addr);
        resilient = Resilient(trio.resilient.addr);
    }

    function test_ADeploymentIsAsRecorded() public {
        script.check(_recorded("as-is"), params);
    }

    function test_AnOpenBreakerIsStillAsRecorded() public {
        moody.toggleMood();
        for (uint256 i = 0; i < params.failureThreshold; i++) {
            resilient.safeAsk();
        }
        script.check(_recorded("open"), params);
    }

    function test_OtherContractsInTheFileAreCheckedForCodeAndBreakers() public {
        string memory other = string.concat("{\"artifact\":\"Feed\",\"address\":\"", vm.toString(address(resilient)));
        other = string.concat(other, "\",\"block\":1,\"breakers\":{\"oracle-1\":\"", vm.toString(BREAKER), "\"}}");
        string memory json =
            vm.replace(_recorded("other"), "\"moody\":", string.concat("\"my-feed\":", other, ",\"moody\":"));
        script.check(json, params);

        json = vm.replace(json, "\"oracle-1\":\"0x00", "\"oracle-1\":\"0x10");
        _differs(json, "my-feed", "breaker oracle-1", "not listed", vm.toString(bytes32(uint256(0x10) << 248)));
    }

    // ─── Another chain ───

    function test_RevertWhen_TheFileIsOfAnotherChain() public {
        string memory json = _recorded("chain");
        vm.chainId(1);
        _differs(json, "", "chainId", "1", "31337");
    }

    function test_RevertWhen_ThereIsNoCode() public {
        string memory json = _recorded("no-code");
        vm.etch(address(moody), "");
        _differs(json, "moody", "code", "none", vm.toString(address(moody)));
    }

    function test_RevertWhen_CodeDiffers() public {
        string memory json = _recorded("code");
        bytes32 genuine = address(moody).codehash;
        vm.etch(address(moody), hex"00");
        _differs(json, "moody", "code hash", vm.toString(keccak256(hex"00")), vm.toString(genuine));
    }

    function test_RevertWhen_ResilientAsksSomebodyElse() public {
        string memory json = _recorded("wiring");
        Resilient other = new Resilient(resilient.secondary(), resilient.primary(), 3, 50);
        string memory found = vm.toString(address(resilient.secondary()));
        vm.etch(address(resilient), address(other).code);
        _differs(json, "resilient", "primary", found, vm.toString(address(moody)));
    }

    function test_RevertWhen_TheListOfBreakersCannotBeHad() public {
        string memory json = _recorded("mute");
        vm.etch(address(resilient), hex"5f5ffd"); // revert(0, 0)
        _differs(json, "resilient", "breakers()", "a revert", "a list");
    }

    function test_RevertWhen_TheBreakerIsNotConfigured() public {
        string memory json = _recorded("blank");
        vm.store(address(resilient), BREAKER, 0);
        _differs(json, "resilient", "failure_threshold", "0", "3");
    }

    // ─── Other parameters ───

    function test_RevertWhen_APolicyWasNeverDeployed() public {
        string memory json = _recorded("policy");
        params.failureThreshold = 4;
        _differs(json, "resilient", "failure_threshold", "3", "4");
        params.failureThreshold = 3;
        params.cooldown = 51;
        _differs(json, "resilient", "cooldown", "50", "51");
    }

    function test_RevertWhen_AGreetingDiffers() public {
        string memory json = _recorded("greeting");
        params.stoicGreeting = "Ha";
        _differs(json, "stoic", "greeting", "Ho", "Ha");
    }

    // ─── Another file ───

    function test_RevertWhen_ABreakerIsNotListed() public {
        string memory json = vm.replace(_recorded("slot"), "\"primary\": \"0x00", "\"primary\": \"0x10");
        _differs(json, "resilient", "breaker primary", "not listed", vm.toString(bytes32(uint256(0x10) << 248)));
    }

    function test_RevertWhen_ALabelDiffers() public {
        string memory json = vm.replace(_recorded("label"), "\"primary\"", "\"main\"");
        _differs(json, "resilient", "breaker label", "main", "primary");
    }

    function test_RevertWhen_AnArtifactDiffers() public {
        string memory json = vm.replace(_recorded("artifact"), "\"Moody\"", "\"Stoic\"");
        _differs(json, "moody", "artifact", "Stoic", "Moody");
    }

    function test_RevertWhen_OneIsNotRecorded() public {
        string memory json = vm.replace(_recorded("missing"), "\"stoic\"", "\"cynic\"");
        vm.expectRevert(abi.encodeWithSelector(CheckDeployment.NotRecorded.selector, "stoic"));
        script.check(json, params);
    }

    function test_RevertWhen_ThereIsNoFile() public {
        vm.chainId(4242);
        vm.expectRevert(abi.encodeWithSelector(CheckDeployment.NoRecord.selector, "deployments/4242.json"));
        script.run();
    }

    function _differs(
        string memory json,
        string memory name,
        string memory what,
        string memory found,
        string memory expected
    ) private {
        vm.expectRevert(abi.encodeWithSelector(CheckDeployment.Differs.selector, name, what, found, expected));
        script.check(json, params);
    }

    /// What Deploy writes. Each test has a file of its own, since they run side by side.
    function _recorded(string memory name) private returns (string memory json) {
        string memory path = string.concat("deployments/test-check-", name, ".json");
        if (vm.exists(path)) vm.removeFile(path);
        deploy.record(deploy.deploy(params), path, "");
        json = vm.readFile(path);
        vm.removeFile(path);
    }
}
