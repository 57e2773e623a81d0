// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {OneBreaker} from "./OneBreaker.sol";
import {Breaker, CircuitBreaker} from "fusebox/CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "fusebox/GuardedCall.sol";
import {Outcome} from "fusebox/Outcome.sol";
import {lock, unlock} from "fusebox/TransientLock.sol";
import {ErrorWeightTable, ErrorWeights} from "fusebox/policies/ErrorWeights.sol";

struct Quote {
    uint128 price;
    uint64 updatedAt;
    bool isFinal;
}

interface IQuotes {
    /// Nothing is traded now, which is nobody's fault.
    error MarketClosed();

    function quote() external view returns (Quote memory);
}

contract QuoteMarket is OneBreaker {
    using CircuitBreaker for Breaker;
    using ErrorWeights for ErrorWeightTable;

    IQuotes public immutable primary;
    IQuotes public immutable backup;

    // Three words; a longer answer is understood, too.
    PackedLimits private immutable _limits =
        GuardedCall.pack(Limits({gas: 60_000, reserve: 80_000, maxReturn: 1024, minReturn: 96}));

    ErrorWeightTable private _weights;

    constructor(IQuotes primary_, IQuotes backup_) {
        (primary, backup) = (primary_, backup_);
        _breaker = CircuitBreaker.build(CircuitBreaker.safe(3, 5 minutes));
        _weights.set(IQuotes.MarketClosed.selector, 0);
    }

    function quote() external returns (Quote memory) {
        if (!_breaker.isOpen()) {
            (Outcome outcome, Quote memory answer) = _attempt();
            if (outcome == Outcome.Ok) return answer;
        }
        return backup.quote();
    }

    function probe(bytes32 id) external returns (Outcome outcome) {
        _mustKnow(id);
        if (_breaker.isOpen()) return Outcome.NotTried;
        (outcome,) = _attempt();
    }

    // ANCHOR: decode
    function _attempt() private returns (Outcome outcome, Quote memory answer) {
        lock();
        bytes memory data;
        (outcome, data) = GuardedCall.tryStaticCall(address(primary), abi.encodeCall(IQuotes.quote, ()), _limits);
        if (outcome == Outcome.Ok) {
            try this.decode(data) returns (Quote memory decoded) {
                answer = decoded;
            } catch {
                outcome = Outcome.BadReturn;
            }
        }
        _weights.record(_breaker, outcome, _selectorOf(data));
        unlock();
    }

    /// A function of its own, so that what cannot be decoded reverts in here only.
    function decode(bytes calldata data) external pure returns (Quote memory) {
        return abi.decode(data, (Quote));
    }

    // ANCHOR_END: decode

    // ANCHOR: selector
    /// What the decorator hands to `_record`. It is looked at only where the outcome is `Reverted`.
    function _selectorOf(bytes memory data) private pure returns (bytes4) {
        return data.length < 4 ? ErrorWeights.NO_DATA : bytes4(data);
    }
    // ANCHOR_END: selector
}
