// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ArticleLayout} from "./hosts/ArticleLayout.sol";
import {ByHand} from "./hosts/ByHand.sol";
import {Decorated} from "./hosts/Decorated.sol";
import {DecoratedWith} from "./hosts/DecoratedWith.sol";
import {Guarded} from "./hosts/Guarded.sol";
import {Host} from "./hosts/Host.sol";
import {Plain} from "./hosts/Plain.sol";
import {SameFunction} from "./hosts/SameFunction.sol";
import {TryCatch} from "./hosts/TryCatch.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Moody} from "contracts/examples/Moody.sol";
import {Stoic} from "contracts/examples/Stoic.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
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
    Host private guarded;
    Host private decorated;
    Host private decoratedWith;
    Host private article;

    function setUp() public {
        vm.warp(1_700_000_000);
        moody = new Moody("Hello");
        Stoic stoic = new Stoic("Hello");
        plain = new Plain(moody, stoic);
        plainBackup = new Plain(stoic, moody);
        tryCatch = new TryCatch(moody, stoic);
        byHand = new ByHand(moody, stoic, THRESHOLD, COOLDOWN);
        guarded = new Guarded(moody, stoic, THRESHOLD, COOLDOWN);
        decorated = new Decorated(moody, IHuman(address(new SameFunction("Hello"))), THRESHOLD, COOLDOWN);
        decoratedWith = new DecoratedWith(moody, stoic, THRESHOLD, COOLDOWN);
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
        _within(_measurePaths(byHand, "by hand"), Bounds({closedOk: 2850, open: 2400, firstFail: 6450, trip: 8600}));
    }

    function test_Guarded() public {
        _within(_measurePaths(guarded, "guarded"), Bounds({closedOk: 3400, open: 2400, firstFail: 7200, trip: 9350}));
    }

    function test_Decorated() public {
        _within(
            _measurePaths(decorated, "decorated"), Bounds({closedOk: 4050, open: 2050, firstFail: 7200, trip: 9350})
        );
    }

    function test_DecoratedWith() public {
        _within(
            _measurePaths(decoratedWith, "decorated with"),
            // The call of the backup is encoded in both frames.
            Bounds({closedOk: 4250, open: 2050, firstFail: 7200, trip: 9350})
        );
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

    /// What a path may cost beyond the same transaction without a breaker.
    struct Bounds {
        uint256 closedOk;
        uint256 open;
        uint256 firstFail;
        uint256 trip;
    }

    function _within(Paths memory gas, Bounds memory bounds) private {
        uint256 plainOk = _measure(plain, "plain");
        uint256 backup = _measure(plainBackup, "plain backup");
        moody.toggleMood();
        uint256 caught = _measure(tryCatch, "try/catch: fails");
        moody.toggleMood();
        assertLe(gas.closedOk, plainOk + bounds.closedOk, "closed, ok");
        assertLe(gas.open, backup + bounds.open, "open");
        assertLe(gas.firstFail, caught + bounds.firstFail, "closed, first fail");
        assertLe(gas.trip, caught + bounds.trip, "trip");
        assertApproxEqRel(gas.laterTrip, gas.trip, 0.02e18, "later trip");
    }

    /// One host through its life: healthy, failing, open, failed and good calls while half-open, and a second trip.
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
        _probe(host, string.concat(name, ": probe, fails"), Outcome.Reverted);
        skip(COOLDOWN);
        moody.toggleMood();
        _measure(host, string.concat(name, ": half-open, ok"));
        moody.toggleMood();
        host.safeAsk();
        host.safeAsk();
        gas.laterTrip = _measure(host, string.concat(name, ": later trip"));
        moody.toggleMood();
        skip(COOLDOWN);
        _probe(host, string.concat(name, ": probe, ok"), Outcome.Ok);
    }

    function _probe(Host host, string memory path, Outcome expected) private {
        Outcome outcome = host.probe(0);
        vm.snapshotGasLastCall("safeAsk", path);
        assertEq(uint8(outcome), uint8(expected), path);
    }

    function _measure(Host host, string memory path) private returns (uint256) {
        host.safeAsk();
        return vm.snapshotGasLastCall("safeAsk", path);
    }
}
