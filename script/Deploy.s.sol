// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Params, ParamsReader} from "./Params.sol";
import {Entry, Record} from "./Record.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {Script} from "forge-std/Script.sol";
import {VmSafe} from "forge-std/Vm.sol";
import {console} from "forge-std/console.sol";

/// @title  Deploy
/// @notice Deploys Moody, Stoic, and Resilient over the two, with the parameters of script/params/<network>.json:
///
///         forge script script/Deploy.s.sol --rpc-url URL --account NAME --broadcast
///
///         The signer is chosen there, by any of forge's wallet options. Without `--broadcast` it is a dry run.
/// @dev    Addresses follow from salt and parameters alone (`ParamsReader` says which file), so a run finds what an
///         earlier one deployed, and a chain that has it all is left as it is. A broadcast writes
///         deployments/<chainid>.json; `FUSEBOX_COMMIT` names the commit in it.
///
///         Warning: forge runs this before it sends anything, so the file says what was to be deployed. Whether it
///         was is what script/CheckDeployment.s.sol tells.
contract Deploy is ParamsReader, Record, Script {
    /// @notice The chain has no deterministic deployer at its usual address.
    error NoCreate2Factory(address factory);
    /// @notice The deterministic deployer did not create this contract: its constructor reverted.
    error NotCreated(string artifact);

    struct Deployed {
        address addr;
        bool isNew;
    }

    struct Trio {
        Deployed moody;
        Deployed stoic;
        Deployed resilient;
    }

    /// @notice What the command line runs.
    function run() external returns (address moody, address stoic, address resilient) {
        string memory path = _paramsPath();
        console.log("parameters:", path);
        Trio memory trio = deploy(_readParams(path));
        if (vm.isContext(VmSafe.ForgeContext.ScriptBroadcast)) {
            record(trio, _recordPath(), vm.envOr("FUSEBOX_COMMIT", string("")));
            console.log("written:   ", _recordPath());
        }
        return (trio.moody.addr, trio.stoic.addr, trio.resilient.addr);
    }

    /// @notice Deploys what of the three the chain does not have yet.
    function deploy(Params memory params) public returns (Trio memory trio) {
        trio.moody = _create("Moody", params.salt, type(Moody).creationCode, abi.encode(params.moodyGreeting));
        trio.stoic = _create("Stoic", params.salt, type(Stoic).creationCode, abi.encode(params.stoicGreeting));
        trio.resilient = _create(
            "Resilient",
            params.salt,
            type(Resilient).creationCode,
            abi.encode(trio.moody.addr, trio.stoic.addr, params.failureThreshold, params.cooldown)
        );
    }

    /// @notice Writes the three to a deployment file.
    /// @param  commit Kept out of the file by a run that deployed nothing: then the earlier one still holds.
    function record(Trio memory trio, string memory path, string memory commit) public {
        _start(path);
        string[] memory none = new string[](0);
        string[] memory labels = new string[](1);
        labels[0] = "primary";
        _recordOne(path, "moody", "Moody", trio.moody, none, new bytes32[](0));
        _recordOne(path, "stoic", "Stoic", trio.stoic, none, new bytes32[](0));
        _recordOne(path, "resilient", "Resilient", trio.resilient, labels, Resilient(trio.resilient.addr).breakers());
        if (trio.moody.isNew || trio.stoic.isNew || trio.resilient.isNew) _writeCommit(path, commit);
    }

    function _recordOne(
        string memory path,
        string memory name,
        string memory artifact,
        Deployed memory deployed,
        string[] memory labels,
        bytes32[] memory slots
    ) private {
        uint256 firstBlock = _firstBlock(path, name, deployed);
        _write(path, name, Entry(artifact, deployed.addr, firstBlock, labels, slots));
    }

    /// The head before a deployment, which no event can be older than; else what the file already says.
    function _firstBlock(string memory path, string memory name, Deployed memory deployed)
        private
        view
        returns (uint256)
    {
        if (deployed.isNew) return block.number;
        string memory json = vm.readFile(path);
        if (!_has(json, name)) return 0;
        Entry memory recorded = _read(json, name);
        return recorded.addr == deployed.addr ? recorded.firstBlock : 0;
    }

    function _create(string memory artifact, bytes32 salt, bytes memory code, bytes memory args)
        private
        returns (Deployed memory deployed)
    {
        bytes memory initCode = bytes.concat(code, args);
        deployed.addr = vm.computeCreate2Address(salt, keccak256(initCode));
        if (deployed.addr.code.length == 0) {
            // Not `new C{salt: …}`, which forge turns into this very call: the address had to be known before.
            if (CREATE2_FACTORY.code.length == 0) revert NoCreate2Factory(CREATE2_FACTORY);
            vm.broadcast();
            (bool ok,) = CREATE2_FACTORY.call(bytes.concat(salt, initCode));
            if (!ok || deployed.addr.code.length == 0) revert NotCreated(artifact);
            deployed.isNew = true;
        }
        console.log(deployed.isNew ? "new:       " : "unchanged: ", artifact, deployed.addr);
    }
}
