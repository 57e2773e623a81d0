// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {SettableFeed} from "../mocks/SettableFeed.sol";
import {Test} from "forge-std/Test.sol";
import {Params, ParamsReader} from "script/Params.sol";

/// The reader behind an external call, so that its errors can be expected.
contract Reader is ParamsReader {
    function path() external view returns (string memory) {
        return _paramsPath();
    }

    function read(string memory file) external view returns (Params memory) {
        return _readParams(file);
    }

    function parse(string memory file, string memory json) external view returns (Params memory) {
        return _parseParams(file, json);
    }
}

/// @notice A parameter file with one contract of each kind, out of order, and two feeds for it to be about.
abstract contract Plans is Test {
    string internal constant FILE = "script/params/test.json";
    address internal constant OWNER = 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266;

    Reader internal reader;
    SettableFeed internal primaryFeed;
    SettableFeed internal backupFeed;

    function _setUpPlans() internal {
        vm.warp(1_752_000_000);
        reader = new Reader();
        primaryFeed = new SettableFeed(8, 100);
        backupFeed = new SettableFeed(18, 200);
        primaryFeed.answers(2000e8, block.timestamp);
        backupFeed.answers(2000e18, block.timestamp);
    }

    function _parse(string memory json) internal view returns (Params memory) {
        return reader.parse(FILE, json);
    }

    /// The whole file.
    function _all() internal view returns (string memory) {
        return string.concat(
            "{\"salt\": \"0x0000000000000000000000000000000000000000000000000000000000000007\", \"contracts\": {",
            _proxy(),
            ", \"eth-usd\": ",
            _feed(),
            ", \"resilient\": {\"artifact\": \"Resilient\", \"primary\": \"moody\", \"secondary\": \"stoic\",",
            " \"failure_threshold\": 4, \"cooldown\": 50}, \"moody\": {\"artifact\": \"Moody\", \"greeting\": \"Hi\"},",
            " \"stoic\": {\"artifact\": \"Stoic\", \"greeting\": \"Ho\"}}}"
        );
    }

    function _proxy() private pure returns (string memory) {
        return string.concat(
            "\"proxy\": {\"artifact\": \"FaultTolerantProxy\", \"primary\": \"moody\", \"backup\": \"stoic\",",
            " \"owner\": \"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\", \"config\": {\"failure_threshold\": 2,",
            " \"cooldown\": 60, \"success_threshold\": 3, \"max_cooldown\": 600, \"window\": 7, \"flags\": [\"latch\"]},",
            " \"limits\": {\"gas\": 100000, \"reserve\": 150000, \"max_return\": 4096, \"min_return\": 32},",
            " \"probe_calldata\": \"0x50d85315\"}" // speak()
        );
    }

    function _feed() private view returns (string memory) {
        return string.concat(
            "{\"artifact\": \"ResilientFeed\", \"primary\": \"",
            vm.toString(address(primaryFeed)),
            "\", \"backup\": \"",
            vm.toString(address(backupFeed)),
            "\", \"primary_heartbeat\": 3600, \"backup_heartbeat\": 86400, \"max_deviation_bps\": 200, \"gas\": 60000,",
            " \"description\": \"ETH / USD\", \"config\": {\"failure_threshold\": 5, \"cooldown\": 61,",
            " \"success_threshold\": 2, \"max_cooldown\": 601, \"window\": 0, \"flags\": [\"once_per_block\"]}}"
        );
    }

    /// One change to a text, that must be possible.
    function _with(string memory json, string memory what, string memory instead)
        internal
        pure
        returns (string memory changed)
    {
        changed = vm.replace(json, what, instead);
        assertNotEq(changed, json, string.concat("not in it: ", what));
    }
}
