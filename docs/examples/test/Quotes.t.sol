// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IQuotes, Quote, QuoteMarket} from "../src/QuoteMarket.sol";
import {Test} from "forge-std/Test.sol";
import {RawAnswer} from "fusebox-contracts/test/mocks/weird/RawAnswer.sol";
import {RawRevert} from "fusebox-contracts/test/mocks/weird/RawRevert.sol";
import {Breaker} from "fusebox/CircuitBreaker.sol";
import {Outcome} from "fusebox/Outcome.sol";

contract QuotesTest is Test {
    address private _backup = address(new RawAnswer(abi.encode(Quote(1990, 7, true))));

    function test_ReadsAStruct() external {
        QuoteMarket market = _market(address(new RawAnswer(abi.encode(Quote(2000, 8, true)))));
        assertEq(market.quote().price, 2000);
        assertEq(market.quote().updatedAt, 8);
        _expect(market, Outcome.Ok, 0);
    }

    /// Each field at the first value that does not fit it.
    function test_AFieldOutOfRangeIsABadReturn() external {
        _bad(abi.encode(1 << 128, 8, 1));
        _bad(abi.encode(2000, 1 << 64, 1));
        _bad(abi.encode(2000, 8, 2));
    }

    function test_AnIgnoredErrorCountsForNothing() external {
        QuoteMarket market = _market(address(new RawRevert(abi.encodeWithSelector(IQuotes.MarketClosed.selector))));
        assertEq(market.quote().price, 1990);
        _expect(market, Outcome.Reverted, 0);
    }

    /// Three bytes of that error are not that error, and four of another one neither.
    function test_OtherErrorsCount() external {
        bytes memory error = abi.encodeWithSelector(IQuotes.MarketClosed.selector);
        _expect(_market(address(new RawRevert(abi.encodePacked(error[0], error[1], error[2])))), Outcome.Reverted, 1);
        _expect(_market(address(new RawRevert(hex"01020304"))), Outcome.Reverted, 1);
        _expect(_market(address(new RawRevert(""))), Outcome.Reverted, 1);
    }

    function _bad(bytes memory answer) private {
        QuoteMarket market = _market(address(new RawAnswer(answer)));
        assertEq(market.quote().price, 1990);
        skip(12);
        _expect(market, Outcome.BadReturn, 2);
    }

    function _market(address primary) private returns (QuoteMarket) {
        return new QuoteMarket(IQuotes(primary), IQuotes(_backup));
    }

    function _expect(QuoteMarket market, Outcome outcome, uint256 failures) private {
        bytes32 id = market.breakers()[0];
        assertTrue(market.probe(id) == outcome);
        (, Breaker memory breaker) = market.breakerState(id);
        assertEq(breaker.failureCount, failures);
    }
}
