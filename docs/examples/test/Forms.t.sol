// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "../src/DecoratedMarket.sol";
import {GuardedMarket} from "../src/GuardedMarket.sol";
import {IOracle} from "../src/Market.sol";
import {MarketProxy} from "../src/MarketProxy.sol";
import {Oracle} from "../src/Oracle.sol";
import {BadInput, PolicyMarket} from "../src/PolicyMarket.sol";
import {UpgradeableMarket} from "../src/UpgradeableMarket.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {Test} from "forge-std/Test.sol";
// By the path in the npm package: the same file as `fusebox/CircuitBreaker.sol`, so the same types.
import {Breaker, CircuitBreaker, State} from "fusebox-contracts/contracts/CircuitBreaker.sol";
import {Outcome} from "fusebox-contracts/contracts/Outcome.sol";
import {ICircuitBreaker} from "fusebox-contracts/contracts/interfaces/ICircuitBreaker.sol";
import {IFlags} from "fusebox-contracts/contracts/interfaces/IFlags.sol";

/// An outage, seen through one of the forms: it trips after three blocks, and recovers after the cooldown.
abstract contract FormTest is Test {
    Oracle internal primary = new Oracle(2000);
    Oracle internal backup = new Oracle(1990);
    ICircuitBreaker internal host;
    bytes32 internal id;

    function _use(address host_) internal {
        host = ICircuitBreaker(host_);
        id = host.breakers()[0];
    }

    function _price() internal returns (uint256) {
        return IOracleWithEffects(address(host)).price();
    }

    function _state() internal view returns (State state) {
        (state,) = host.breakerState(id);
    }

    /// By calls where these are recorded, else by probes.
    function _fail() internal virtual {
        assertEq(_price(), 1990);
    }

    /// For the hosts with a ring of twenty, of which ten are enough.
    function _halfOfTheCallsTrip() internal {
        for (uint256 i = 0; i < 10; ++i) {
            assertTrue(_state() == State.Closed, "no streak, and fewer than ten calls");
            primary.setDown(i % 2 == 1);
            _price();
            skip(12);
        }
        assertTrue(_state() == State.Open);
    }

    function test_TripsAndRecovers() external {
        assertEq(_price(), 2000);
        primary.setDown(true);
        for (uint256 i = 0; i < 3; ++i) {
            assertTrue(_state() == State.Closed);
            _fail();
            skip(12);
        }
        assertTrue(_state() == State.Open);
        primary.setDown(false);
        assertEq(_price(), 1990);
        assertTrue(host.probe(id) == Outcome.NotTried);

        skip(5 minutes);
        assertTrue(host.probe(id) == Outcome.Ok);
        skip(12);
        assertTrue(host.probe(id) == Outcome.Ok);
        assertTrue(_state() == State.Closed);
        assertEq(_price(), 2000);
    }
}

interface IOracleWithEffects {
    function price() external returns (uint256);
}

contract GuardedTest is FormTest {
    function setUp() external {
        _use(address(new GuardedMarket(primary, backup, 60_000)));
    }

    function test_DoesNotBelieveAPriceOfZero() external {
        _use(address(new GuardedMarket(new Oracle(0), backup, 60_000)));
        assertTrue(host.probe(id) == Outcome.Rejected);
    }
}

contract DecoratedTest is FormTest {
    function setUp() external {
        _use(address(new DecoratedMarket(primary, backup)));
    }
}

contract ProxyTest is FormTest {
    function setUp() external {
        _use(address(MarketProxy.deploy(primary, backup, address(this))));
    }

    function _fail() internal override {
        for (uint256 i = 0; i < 10; ++i) {
            assertEq(_price(), 1990, "calls are not recorded");
        }
        assertTrue(host.probe(id) == Outcome.Reverted);
    }
}

contract PolicyTest is FormTest {
    bool private _isRaised;

    /// The flag contract is this test.
    function getFlag(address) external view returns (bool) {
        return _isRaised;
    }

    function setUp() external {
        _use(address(new PolicyMarket(primary, backup, IFlags(address(this)))));
    }

    function test_CarriesAFlagOver() external {
        assertFalse(PolicyMarket(address(host)).carryFlag());
        _isRaised = true;
        assertTrue(PolicyMarket(address(host)).carryFlag());
        assertTrue(_state() == State.Open);
    }

    function test_HalfOfTheCallsTrip() external {
        _halfOfTheCallsTrip();
        (, Breaker memory breaker) = host.breakerState(id);
        assertEq(breaker.failureCount, 65_535, "as tripped at once, whatever the threshold");
    }

    function test_BadInputIsNobodysFault() external {
        vm.mockCallRevert(
            address(primary), abi.encodeCall(IOracle.price, ()), abi.encodeWithSelector(BadInput.selector)
        );
        for (uint256 i = 0; i < 20; ++i) {
            assertEq(_price(), 1990);
            skip(12);
        }
        assertTrue(_state() == State.Closed);
    }
}

contract UpgradeableTest is FormTest {
    UpgradeableMarket private _implementation;

    function setUp() external {
        _implementation = new UpgradeableMarket(primary, backup);
        bytes memory call = abi.encodeCall(UpgradeableMarket.initialize, ());
        _use(address(new ERC1967Proxy(address(_implementation), call)));
    }

    function test_HalfOfTheCallsTrip() external {
        _halfOfTheCallsTrip();
    }

    function test_ACloneSaysThatItIsNotConfigured() external {
        _use(Clones.clone(address(_implementation)));
        vm.expectRevert(CircuitBreaker.BreakerNotConfigured.selector);
        _price();
        UpgradeableMarket(address(host)).initialize();
        assertEq(_price(), 2000);
    }
}
