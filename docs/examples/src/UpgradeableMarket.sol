// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "./Market.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {Breaker, CircuitBreaker, State} from "fusebox/CircuitBreaker.sol";
import {FaultTolerant} from "fusebox/FaultTolerant.sol";
import {GuardedCall, Limits, PackedLimits} from "fusebox/GuardedCall.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {FailureRate, FailureRing} from "fusebox/policies/FailureRate.sol";

contract UpgradeableMarket is FaultTolerant, Initializable {
    using CircuitBreaker for Breaker;
    using FailureRate for FailureRing;

    IOracle public immutable primary;
    IOracle public immutable backup;

    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 60_000, reserve: 80_000, maxReturn: 0, minReturn: 0}));

    // ANCHOR: storage
    /// @custom:storage-location erc7201:market.breaker
    struct Storage {
        Breaker breaker;
        FailureRing ring;
    }

    bytes32 private constant _STORAGE =
        keccak256(abi.encode(uint256(keccak256("market.breaker")) - 1)) & ~bytes32(uint256(0xff));

    function _storage() private pure returns (Storage storage $) {
        bytes32 slot = _STORAGE;
        assembly ("memory-safe") {
            $.slot := slot
        }
    }

    // ANCHOR_END: storage

    // ANCHOR: initialize
    constructor(IOracle primary_, IOracle backup_) {
        (primary, backup) = (primary_, backup_);
        _disableInitializers();
    }

    function initialize() external initializer {
        _storage().breaker.configure(CircuitBreaker.safe(3, 5 minutes));
        // Half of the last twenty calls, once there were ten.
        _storage().ring = FailureRate.build({size: 20, minCalls: 10, shareBps: 5000});
    }

    function price() external faultTolerant(_storage().breaker, address(backup), _limits) returns (uint256) {
        return primary.price();
    }

    function _record(Breaker storage breaker, Outcome outcome, bytes4) internal override {
        _storage().ring.record(breaker, outcome);
    }
    // ANCHOR_END: initialize

    function probe(bytes32 id) external returns (Outcome) {
        _mustKnow(id);
        return _probe(_storage().breaker, abi.encodeCall(this.price, ()), _limits);
    }

    function breakers() external pure returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _STORAGE;
    }

    function breakerState(bytes32 id) external view returns (State, Breaker memory) {
        _mustKnow(id);
        return (_storage().breaker.state(), _storage().breaker);
    }

    function _mustKnow(bytes32 id) private pure {
        if (id != _STORAGE) revert UnknownBreaker(id);
    }
}
