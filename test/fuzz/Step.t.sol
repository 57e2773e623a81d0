// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Naive, NaiveBreaker} from "../utils/NaiveBreaker.sol";
import {Random, Stream} from "../utils/Random.sol";
import {Word} from "../utils/Word.sol";
import {Breaker, CircuitBreaker, Event, State, Status, Transition} from "contracts/CircuitBreaker.sol";
import {Test} from "forge-std/Test.sol";

/// @notice `step` against the table, one step from any word.
contract StepTest is Test {
    using NaiveBreaker for Naive;
    using Random for Stream;

    /// One run of the fuzzer is cheap compared with what it costs to start one.
    uint256 private constant STEPS_A_RUN = 50;

    function testFuzz_AgreesWithTheTable(uint256 seed) external pure {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < STEPS_A_RUN; ++i) {
            Breaker memory b = stream.breaker();
            uint40 time = stream.time(b);
            Event e = Event(stream.below(4));
            uint40 arg = e == Event.Trip ? stream.until(time, b) : stream.weight();

            Naive memory naive = NaiveBreaker.fromBreaker(b);
            Transition expected = naive.step(e, arg, time);
            (uint256 next, Transition transition) = CircuitBreaker.step(Word.pack(b), e, arg, time);

            assertEq(next, Word.pack(naive.toBreaker()), "word");
            assertEq(uint8(transition), uint8(expected), "transition");
        }
    }

    function testFuzz_ReadsTheStateOfTheTable(uint256 seed) external pure {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < STEPS_A_RUN; ++i) {
            Breaker memory b = stream.breaker();
            uint40 time = stream.time(b);
            Naive memory naive = NaiveBreaker.fromBreaker(b);
            State expected = State.Closed;
            if (naive.open) expected = naive.isHalfOpen(time) ? State.HalfOpen : State.Open;
            assertEq(uint8(CircuitBreaker.stateOf(Word.pack(b), time)), uint8(expected));
        }
    }

    /// Whatever is in the slot, a status that does not exist included: a host must not go down with its primary.
    function testFuzz_NeverReverts(uint256 word, uint16 threshold, uint8 e, uint40 arg, uint40 time) external pure {
        word = _withThreshold(word, threshold == 0 ? 1 : threshold);
        CircuitBreaker.step(word, Event(e % 4), arg, time);
        CircuitBreaker.stateOf(word, time);
    }

    function testFuzz_NeverChangesTheConfiguration(uint256 seed) external pure {
        Stream memory stream = Stream(seed);
        for (uint256 i; i < STEPS_A_RUN; ++i) {
            Breaker memory b = stream.breaker();
            uint40 time = stream.time(b);
            (uint256 next,) = CircuitBreaker.step(Word.pack(b), Event(stream.below(4)), uint40(stream.next()), time);
            Breaker memory after_ = Word.unpack(next);
            assertEq(after_.failureThreshold, b.failureThreshold, "failureThreshold");
            assertEq(after_.cooldown, b.cooldown, "cooldown");
            assertEq(after_.successThreshold, b.successThreshold, "successThreshold");
            assertEq(after_.maxCooldown, b.maxCooldown, "maxCooldown");
            assertEq(after_.window, b.window, "window");
            assertEq(after_.flags, b.flags, "flags");
        }
    }

    /// A caller that passes more than 16 bits of weight trips at once; it does not wrap to a light failure.
    function testFuzz_AWeightBeyond16BitsTripsAtOnce(uint256 seed, uint40 weight) external pure {
        weight = uint40(bound(weight, 65_535, type(uint40).max));
        Stream memory stream = Stream(seed);
        Breaker memory b = stream.breaker();
        uint40 time = stream.time(b);
        (uint256 next, Transition transition) = CircuitBreaker.step(Word.pack(b), Event.Failure, weight, time);
        (uint256 expected, Transition expectedTransition) =
            CircuitBreaker.step(Word.pack(b), Event.Failure, 65_535, time);
        assertEq(next, expected, "word");
        assertEq(uint8(transition), uint8(expectedTransition), "transition");
    }

    /// A status from 2 to 255, which nothing stores, is taken for open: the breaker becomes what an open one becomes.
    function testFuzz_AStatusThatDoesNotExistIsOpen(uint256 seed, uint8 status) external pure {
        status = uint8(bound(status, 2, type(uint8).max));
        Stream memory stream = Stream(seed);
        for (uint256 i; i < STEPS_A_RUN; ++i) {
            Breaker memory b = stream.breaker();
            b.status = Status.OPEN;
            uint256 open = Word.pack(b);
            uint256 odd = open - uint8(Status.OPEN) + status;
            uint40 time = stream.time(b);
            assertEq(uint8(CircuitBreaker.stateOf(odd, time)), uint8(CircuitBreaker.stateOf(open, time)), "state");

            Event e = Event(stream.below(4));
            uint40 arg = e == Event.Trip ? stream.until(time, b) : stream.weight();
            (uint256 next,) = CircuitBreaker.step(odd, e, arg, time);
            (uint256 expected,) = CircuitBreaker.step(open, e, arg, time);
            assertEq(next >> 8, expected >> 8, "word");
            assertEq(next % 256 == 0, expected % 256 == 0, "closed");
        }
    }

    function testFuzz_ProbeOnlyIsBit2OfTheFlags(uint256 word) external pure {
        assertEq(CircuitBreaker.isProbeOnly(word), word / 2 ** 240 % 8 >= 4);
    }

    function _withThreshold(uint256 word, uint16 threshold) private pure returns (uint256) {
        uint256 low = word % 2 ** 24;
        uint256 high = word / 2 ** 40;
        return high * 2 ** 40 + uint256(threshold) * 2 ** 24 + low;
    }
}
