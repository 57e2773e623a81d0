// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Params, ParamsReader} from "./Params.sol";
import {Planned} from "./Planned.sol";
import {Entry, Record} from "./Record.sol";
import {Rehearsal} from "./Rehearsal.sol";
import {ICircuitBreaker} from "contracts/interfaces/ICircuitBreaker.sol";
import {Script} from "forge-std/Script.sol";
import {VmSafe} from "forge-std/Vm.sol";
import {console} from "forge-std/console.sol";

/// @title  Deploy
/// @notice Deploys what script/params/<network>.json asks for:
///
///         forge script script/Deploy.s.sol --rpc-url URL --account NAME --broadcast
///
///         The signer is chosen there, by any of forge's wallet options. Without `--broadcast` it is a dry run.
/// @dev    Addresses follow from salt and parameters alone (`ParamsReader` says which file), so a run finds what an
///         earlier one deployed, and a chain that has it all is left as it is. Other parameters give another address,
///         which then has the name. A broadcast writes deployments/<chainid>.json; `FUSEBOX_COMMIT` names the commit
///         in it.
///
///         forge sends nothing before all of this has run, so whatever it refuses is refused before anything is paid.
///
///         Warning: forge runs this before it sends anything, so the file says what was to be deployed. If sending
///         then fails, run it again: what is missing gets the same addresses. script/CheckDeployment.s.sol tells
///         whether all of it is there.
contract Deploy is ParamsReader, Record, Rehearsal, Script {
    /// @notice The chain has no deterministic deployer at its usual address.
    error NoCreate2Factory(address factory);
    /// @notice The deterministic deployer did not create this contract, though its constructor works.
    error NotCreated(string name, address addr);

    /// @notice Nobody was chosen who signs, so forge would refuse to send.
    error NoSigner(string remedy);

    // ─── Running ───

    /// @notice What the command line runs.
    function run() external {
        string memory path = _paramsPath();
        bool isBroadcast = vm.isContext(VmSafe.ForgeContext.ScriptBroadcast);
        if (isBroadcast) _mustHaveSigner();
        console.log("parameters:", path);
        Params memory params = _readParams(path);
        bool[] memory isNew = deploy(params);
        if (!_any(isNew)) console.log("nothing to deploy: all of it is there");
        if (isBroadcast) {
            record(params, isNew, _recordPath(), vm.envOr("FUSEBOX_COMMIT", string("")));
            console.log("recorded:  ", _recordPath(), "before anything is sent");
            console.log("            If sending fails, run this again: what is missing gets the same addresses.");
            console.log("            script/CheckDeployment.s.sol tells whether all of it is there.");
        }
    }

    /// @notice Deploys what the chain does not have yet.
    /// @return isNew Of each contract, whether it was deployed.
    function deploy(Params memory params) public returns (bool[] memory isNew) {
        isNew = new bool[](params.contracts.length);
        for (uint256 i = 0; i < isNew.length; i++) {
            Planned memory planned = params.contracts[i];
            isNew[i] = planned.addr.code.length == 0;
            if (isNew[i]) {
                _rehearse(params.file, planned);
                _create(params.salt, planned);
            }
            console.log(isNew[i] ? "new:       " : "unchanged: ", planned.name, planned.artifact, planned.addr);
        }
    }

    /// @notice Writes all of them to a deployment file.
    /// @param  isNew  What `deploy` returned.
    /// @param  commit Kept out of the file by a run that deployed nothing: then the earlier one still holds.
    function record(Params memory params, bool[] memory isNew, string memory path, string memory commit) public {
        _start(path);
        for (uint256 i = 0; i < isNew.length; i++) {
            Planned memory planned = params.contracts[i];
            Entry memory entry;
            entry.artifact = planned.artifact;
            entry.addr = planned.addr;
            entry.firstBlock = isNew[i] ? block.number : _firstBlock(path, planned);
            if (planned.hasBreaker) {
                entry.labels = new string[](1);
                entry.labels[0] = "primary";
                entry.slots = ICircuitBreaker(planned.addr).breakers();
            }
            _write(path, planned.name, entry);
        }
        if (_any(isNew)) _writeCommit(path, commit);
    }

    // ─── Steps ───

    /// What forge itself would refuse, but only after the deployment file was written.
    function _mustHaveSigner() private {
        vm.startBroadcast();
        (, address sender,) = vm.readCallers();
        vm.stopBroadcast();
        if (sender == DEFAULT_SENDER) {
            revert NoSigner("add --account NAME, or where the node signs: --unlocked --sender ADDRESS");
        }
    }

    function _create(bytes32 salt, Planned memory planned) private {
        // Not `new C{salt: …}`, which forge turns into this very call: the address had to be known before.
        if (CREATE2_FACTORY.code.length == 0) revert NoCreate2Factory(CREATE2_FACTORY);
        vm.broadcast();
        (bool ok,) = CREATE2_FACTORY.call(bytes.concat(salt, planned.creationCode, planned.args));
        if (!ok || planned.addr.code.length == 0) revert NotCreated(planned.name, planned.addr);
    }

    /// Of a contract that is already there: what the file says of it. New ones have the head before their deployment,
    /// which no event can be older than.
    function _firstBlock(string memory path, Planned memory planned) private view returns (uint256) {
        string memory json = vm.readFile(path);
        if (!_has(json, planned.name)) return 0;
        Entry memory recorded = _read(json, planned.name);
        return recorded.addr == planned.addr ? recorded.firstBlock : 0;
    }

    function _any(bool[] memory values) private pure returns (bool) {
        for (uint256 i = 0; i < values.length; i++) {
            if (values[i]) return true;
        }
        return false;
    }
}
