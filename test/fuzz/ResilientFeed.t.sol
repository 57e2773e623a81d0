// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {FeedTest, PRICE} from "../utils/FeedTest.sol";
import {Random, Stream} from "../utils/Random.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {LastGood, ResilientFeed} from "contracts/ResilientFeed.sol";

/// @notice Stories of two feeds and a prober: whatever the feeds do, what is served was said by one of them, at the
///         time that is given with it, and not too long ago.
contract ResilientFeedFuzzTest is FeedTest {
    using Random for Stream;

    uint256 private constant STEPS = 48;

    /// @dev Answer and time, as they were said by the primary or the backup.
    mapping(int256 answer => mapping(uint256 updatedAt => bool)) private said;

    /// @dev So that a story that serves nothing, or the same all the time, does not pass for a test.
    uint256 private served;

    function testFuzz_NeverServesAnOldPriceAsNew_Row22(uint256 seed) external {
        Stream memory stream = Stream(seed);
        said[PRICE][block.timestamp - 60] = true;
        for (uint256 i; i < STEPS; ++i) {
            _act(stream);
            _assertServedWasSaid();
        }
        assertGt(served, 0, "served nothing");
    }

    function testFuzz_NothingRevertsButWithNoAnswerOrForWantOfGas(uint256 seed) external {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < STEPS; ++i) {
            _act(stream);
            _assertRevertsWell(stream, abi.encodeCall(ResilientFeed.latestRoundData, ()));
            _assertRevertsWell(stream, abi.encodeCall(ResilientFeed.getRoundData, (uint80(stream.next()))));
        }
    }

    /// Only a probe moves the word or the last good answer; and only an Ok one moves the last good answer, forwards.
    function testFuzz_OnlyAGoodProbeMovesTheLastGoodAnswer(uint256 seed) external {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < STEPS; ++i) {
            LastGood memory before = feed.lastGood();
            bytes32 word = vm.load(watched, id);
            bool probed = _act(stream);
            LastGood memory current = feed.lastGood();
            if (!probed) assertEq(vm.load(watched, id), word, "word");
            if (current.updatedAt == before.updatedAt) {
                assertEq(abi.encode(current), abi.encode(before), "moved without time");
            } else {
                assertTrue(probed && lastOutcome == Outcome.Ok, "moved without a good probe");
                assertGt(current.updatedAt, before.updatedAt, "moved backwards");
            }
        }
    }

    Outcome private lastOutcome;

    /// One thing that happens. Returns whether it was a probe.
    function _act(Stream memory stream) private returns (bool) {
        uint256 kind = stream.below(16);
        if (kind < 3) skip(stream.below(stream.oneIn(4) ? 8000 : 300));
        else if (kind < 6) _say(stream, true);
        else if (kind < 9) _say(stream, false);
        else if (kind == 9) primary.setDown(stream.oneIn(2));
        else if (kind == 10) backup.setDown(stream.oneIn(2));
        else if (kind == 11) _sayNonsense(stream);
        if (kind < 12) return false;
        lastOutcome = feed.probe(id);
        return true;
    }

    /// A price, now or a while ago; mostly near the one before.
    function _say(Stream memory stream, bool first) private {
        int256 price = feed.lastGood().answer * int256(900 + stream.below(200)) / 1000;
        if (stream.oneIn(2)) price = feed.lastGood().answer * int256(980 + stream.below(40)) / 1000;
        uint256 time = block.timestamp - (stream.oneIn(4) ? stream.below(8000) : 0);
        said[price][time] = true;
        if (first) primary.answers(price, time);
        else backup.answers(price * 1e10, time);
    }

    /// A round with one thing wrong in it.
    function _sayNonsense(Stream memory stream) private {
        (uint80 round, int256 price, uint256 time, uint80 answeredInRound) = (2, PRICE, block.timestamp, 2);
        uint256 kind = stream.below(4);
        if (kind == 0) price = stream.oneIn(2) ? int256(0) : type(int256).min + int256(stream.below(1 << 200));
        else if (kind == 1) time += 1 + stream.below(2);
        else if (kind == 2) time = 0;
        else answeredInRound = 1;
        // What is from the future now is not for ever.
        if (kind == 1) said[price][time] = true;
        if (stream.oneIn(2)) primary.setRound(round, price, stream.next(), time, answeredInRound);
        else backup.setRound(round, kind == 0 ? price : price * 1e10, stream.next(), time, answeredInRound);
    }

    function _assertServedWasSaid() private {
        (bool ok, bytes memory data) = watched.staticcall(abi.encodeCall(ResilientFeed.latestRoundData, ()));
        if (!ok) return;
        ++served;
        (, int256 answer,, uint256 updatedAt,) = abi.decode(data, (uint80, int256, uint256, uint256, uint80));
        assertTrue(said[answer][updatedAt], "nobody said that then");
        assertLe(updatedAt, block.timestamp, "from the future");
        assertLe(block.timestamp - updatedAt, 7200, "stale for both");
    }

    function _assertRevertsWell(Stream memory stream, bytes memory call) private view {
        uint256 gas = stream.oneIn(2) ? 1_000_000 : 30_000 + stream.below(300_000);
        (bool ok, bytes memory reason) = watched.staticcall{gas: gas}(call);
        if (ok) return;
        bool fair =
            bytes4(reason) == ResilientFeed.NoAnswer.selector || bytes4(reason) == GuardedCall.InsufficientGas.selector;
        assertTrue(fair, "another reason");
    }
}
