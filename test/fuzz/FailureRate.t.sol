// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {NEVER, START, TRIP_AT_ONCE} from "../utils/Defaults.sol";
import {Naive, NaiveBreaker} from "../utils/NaiveBreaker.sol";
import {Random, Stream} from "../utils/Random.sol";
import {RateHarness} from "../utils/RateHarness.sol";
import {Word} from "../utils/Word.sol";
import {Breaker, Config, Event} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FailureRing} from "contracts/policies/FailureRate.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Any story of outcomes, trips and resets, against a list of outcomes and the naive breaker.
contract FailureRateFuzz is Test {
    using Random for Stream;

    uint256 private constant STEPS = 250;

    RateHarness private host;
    Config private config;
    FailureRing private ring;

    /// Every outcome that counted since the list was last emptied, oldest first; true for a failure.
    bool[] private list;

    /// How often things happened, so that a story in which nothing does is seen.
    uint256 private trips;

    function setUp() public {
        host = new RateHarness();
        vm.warp(START);
    }

    function testFuzz_AgreesWithAListOfOutcomes(uint256 seed) external {
        Stream memory stream = Stream(seed);
        _begin(stream);
        Naive memory naive = NaiveBreaker.fromBreaker(_stored());
        for (uint256 i; i < STEPS; ++i) {
            vm.warp(_timeAfter(stream, naive));
            _step(stream, naive);
            assertEq(Word.pack(_stored()), Word.pack(NaiveBreaker.toBreaker(naive)), "breaker");
            _assertRemembers();
        }
    }

    /// The stories above do trip by the share: else they would show nothing.
    function test_TheStoriesTripByTheShare() external {
        for (uint256 seed; seed < 20; ++seed) {
            vm.warp(START);
            host = new RateHarness();
            delete list;
            this.testFuzz_AgreesWithAListOfOutcomes(seed);
        }
        assertGt(trips, 100, "trips by the share");
    }

    function _begin(Stream memory stream) private {
        config = stream.config();
        // Mostly out of reach, so that the share is what trips.
        if (!stream.oneIn(3)) config.failureThreshold = type(uint16).max;
        if (!stream.oneIn(4)) config.flags &= ~uint8(1);
        ring.size = uint8(1 + stream.below(stream.oneIn(2) ? 192 : 12));
        // Often few, or the share is seldom asked for.
        ring.minCalls = uint8(1 + stream.below(stream.oneIn(2) || ring.size < 8 ? ring.size : 8));
        ring.shareBps = uint16(1 + stream.below(10_000));
        if (stream.oneIn(4)) ring.shareBps = 10_000;
        host.configure(config);
        host.rebuild(ring.size, ring.minCalls, ring.shareBps);
    }

    /// Mostly the deadline of an open breaker: nothing goes into the ring before it.
    function _timeAfter(Stream memory stream, Naive memory naive) private view returns (uint256) {
        uint40 now_ = uint40(vm.getBlockTimestamp());
        bool waits = naive.open && naive.retryAt > now_ && naive.retryAt != NEVER;
        if (waits && !stream.oneIn(8)) return naive.retryAt;
        return stream.timeAfter(now_, NaiveBreaker.toBreaker(naive));
    }

    function _step(Stream memory stream, Naive memory naive) private {
        uint256 kind = stream.below(40);
        uint256 time = vm.getBlockTimestamp();
        if (kind == 0) {
            uint40 until = stream.until(uint40(time), NaiveBreaker.toBreaker(naive));
            // A story that is open for ever is over.
            if (until > time + 1_000_000) until = 0;
            host.trip(until, Outcome.Forced);
            NaiveBreaker.step(naive, Event.Trip, until, time);
        } else if (kind == 1) {
            host.reset();
            NaiveBreaker.step(naive, Event.Reset, 0, time);
        } else if (stream.oneIn(2)) {
            host.record(Outcome.Ok);
            _expect(naive, false, 1, time);
        } else {
            uint16 weight = stream.oneIn(8) ? stream.weight() : 1;
            host.record(Outcome(1 + stream.below(6)), weight);
            _expect(naive, true, weight, time);
        }
    }

    function _expect(Naive memory naive, bool failed, uint256 weight, uint256 time) private {
        bool wasOpen = naive.open;
        bool counts = true;
        if (failed) {
            if (weight == 0) counts = false;
            if (NaiveBreaker.oncePerBlock(naive) && time <= naive.lastFailureAt) counts = false;
        }
        if (counts) list.push(failed);
        if (counts && failed && !wasOpen && _isShareReached()) {
            weight = TRIP_AT_ONCE;
            ++trips;
        }
        NaiveBreaker.step(naive, failed ? Event.Failure : Event.Success, weight, time);
        if (wasOpen || naive.open) delete list;
    }

    function _isShareReached() private view returns (bool) {
        (uint256 calls, uint256 failures,) = _last();
        if (calls < ring.minCalls) return false;
        return failures * 10_000 >= calls * ring.shareBps;
    }

    function _assertRemembers() private view {
        (uint256 calls, uint256 failures, uint256 outcomes) = _last();
        FailureRing memory actual = host.ring();
        assertEq(actual.calls, calls, "calls");
        assertEq(actual.failures, failures, "failures");
        assertEq(actual.outcomes, outcomes, "outcomes");
        assertEq(actual.size, ring.size, "size");
        assertEq(actual.minCalls, ring.minCalls, "minCalls");
        assertEq(actual.shareBps, ring.shareBps, "shareBps");
    }

    /// The last `size` outcomes of the list.
    function _last() private view returns (uint256 calls, uint256 failures, uint256 outcomes) {
        uint256 length = list.length;
        calls = length < ring.size ? length : ring.size;
        for (uint256 i = length - calls; i < length; ++i) {
            outcomes = outcomes * 2;
            if (!list[i]) continue;
            outcomes += 1;
            failures += 1;
        }
    }

    function _stored() private view returns (Breaker memory) {
        return Word.unpack(uint256(vm.load(address(host), host.BREAKER_SLOT())));
    }
}
