// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ArticleLayout} from "./hosts/ArticleLayout.sol";
import {ByHand} from "./hosts/ByHand.sol";
import {Host} from "./hosts/Host.sol";
import {Plain} from "./hosts/Plain.sol";
import {TryCatch} from "./hosts/TryCatch.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Gas of each path, as whole transactions: run under isolation (`make gas`), where every call of a test is a
///         transaction with cold storage. Figures go to snapshots/safeAsk.json; the bounds are asserted here.
contract SafeAskGasTest is Test {
    uint16 private constant THRESHOLD = 3;
    uint32 private constant COOLDOWN = 100;

    Moody private moody;
    Host private plain;
    Host private plainBackup;
    Host private tryCatch;
    Host private byHand;
    Host private article;

    function setUp() public {
        vm.warp(1_700_000_000);
        moody = new Moody("Hello");
        Stoic stoic = new Stoic("Hello");
        plain = new Plain(moody, stoic);
        plainBackup = new Plain(stoic, moody);
        tryCatch = new TryCatch(moody, stoic);
        byHand = new ByHand(moody, stoic, THRESHOLD, COOLDOWN);
        article = new ArticleLayout(moody, stoic, uint8(THRESHOLD), COOLDOWN);
    }

    function test_Plain() public {
        _measure(plain, "plain");
        _measure(plainBackup, "plain backup");
    }

    function test_TryCatch() public {
        _measure(tryCatch, "try/catch: ok");
        moody.toggleMood();
        _measure(tryCatch, "try/catch: fails");
    }

    function test_ByHand() public {
        uint256 plainOk = _measure(plain, "plain");
        uint256 backup = _measure(plainBackup, "plain backup");
        moody.toggleMood();
        uint256 caught = _measure(tryCatch, "try/catch: fails");
        moody.toggleMood();

        Paths memory gas = _measurePaths(byHand, "by hand");
        assertLe(gas.closedOk, plainOk + 2850, "closed, ok");
        assertLe(gas.open, backup + 2400, "open");
        assertLe(gas.firstFail, caught + 6450, "closed, first fail");
        assertLe(gas.trip, caught + 8600, "trip");
        assertApproxEqRel(gas.laterTrip, gas.trip, 0.02e18, "later trip");
    }

    function test_ArticleLayout() public {
        _measurePaths(article, "article layout");
    }

    struct Paths {
        uint256 closedOk;
        uint256 firstFail;
        uint256 trip;
        uint256 laterTrip;
        uint256 open;
    }

    /// One host through its life: healthy, failing, open, a failed and a good probe, and a second trip.
    function _measurePaths(Host host, string memory name) private returns (Paths memory gas) {
        gas.closedOk = _measure(host, string.concat(name, ": closed, ok"));
        moody.toggleMood();
        gas.firstFail = _measure(host, string.concat(name, ": closed, first fail"));
        host.safeAsk();
        gas.trip = _measure(host, string.concat(name, ": trip"));
        gas.open = _measure(host, string.concat(name, ": open"));
        skip(COOLDOWN);
        _measure(host, string.concat(name, ": half-open, fails"));
        skip(COOLDOWN);
        moody.toggleMood();
        _measure(host, string.concat(name, ": half-open, ok"));
        moody.toggleMood();
        host.safeAsk();
        host.safeAsk();
        gas.laterTrip = _measure(host, string.concat(name, ": later trip"));
        moody.toggleMood();
    }

    function _measure(Host host, string memory path) private returns (uint256) {
        host.safeAsk();
        return vm.snapshotGasLastCall("safeAsk", path);
    }
}
