// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerTest} from "../utils/BreakerTest.sol";
import {START} from "../utils/Defaults.sol";
import {Naive, NaiveBreaker} from "../utils/NaiveBreaker.sol";
import {Random, Stream} from "../utils/Random.sol";
import {Word} from "../utils/Word.sol";
import {CircuitBreaker, Config, Event, State, Status, Transition} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice The functions that hosts call, against the table, through whole lives of a breaker: its word, its SSTOREs
///         and its logs after each of many calls. `success` has a way of its own for the healthy case, seen here too.
contract RecordingTest is BreakerTest {
    using NaiveBreaker for Naive;
    using Random for Stream;

    uint256 private constant CALLS = 60;

    function testFuzz_ALifeAgreesWithTheTable_Row16(uint256 seed) external {
        Stream memory stream = Stream(seed);
        Naive memory naive;
        _configure(naive, stream.config());

        uint40 time = START;
        for (uint256 i; i < CALLS; ++i) {
            time = stream.timeAfter(time, naive.toBreaker());
            vm.warp(time);
            if (stream.oneIn(20)) _configure(naive, stream.config());
            else _step(naive, stream, time);
        }
    }

    /// From any word: most of them no life reaches.
    function testFuzz_OneCallAgreesWithTheTable(uint256 seed) external {
        Stream memory stream = Stream(seed);
        breaker = stream.breaker();
        uint40 time = stream.time(breaker);
        vm.warp(time);
        _store();
        _step(NaiveBreaker.fromBreaker(breaker), stream, time);
    }

    /// `success` decides the healthy case by itself, without `step`: to the same end.
    function testFuzz_SuccessAgreesWithStep(uint256 seed) external {
        Stream memory stream = Stream(seed);
        breaker = stream.breaker();
        uint40 time = stream.time(breaker);
        vm.warp(time);
        _store();
        (uint256 next,) = CircuitBreaker.step(host.word(), Event.Success, 0, time);
        host.success();
        assertEq(host.word(), next);
    }

    /// `isOpen` reads a closed breaker by itself. A status that nothing stores, odd or even, is none.
    function testFuzz_AStatusThatDoesNotExistReadsAsOpen(uint256 seed, uint8 status) external {
        Stream memory stream = Stream(seed);
        breaker = stream.breaker();
        breaker.status = Status.OPEN;
        uint40 time = stream.time(breaker);
        vm.warp(time);
        uint256 open = Word.pack(breaker);
        vm.store(watched, id, bytes32(open - uint8(Status.OPEN) + bound(status, 2, type(uint8).max)));
        assertEq(host.isOpen(), CircuitBreaker.stateOf(open, time) == State.Open, "open");
        assertFalse(host.isClosed(), "closed");
    }

    function _configure(Naive memory naive, Config memory config) private {
        host.configure(config);
        naive.configure(config);
        breaker = naive.toBreaker();
        _assertConfigured(config);
    }

    function _step(Naive memory naive, Stream memory stream, uint40 time) private {
        Event e = _event(stream);
        uint40 arg = e == Event.Trip ? stream.until(time, naive.toBreaker()) : stream.weight();
        Outcome cause = Outcome(stream.below(uint256(type(Outcome).max) + 1));

        bytes32 before = vm.load(watched, id);
        Transition transition = naive.step(e, arg, time);
        breaker = naive.toBreaker();

        if (e == Event.Success) host.success();
        else if (e == Event.Failure) host.fail(cause, uint16(arg));
        else if (e == Event.Trip) host.trip(arg, cause);
        else host.reset();

        if (vm.load(watched, id) == before) _assertUntouched();
        else if (transition == Transition.Opened) _assertOpened(cause);
        else if (transition == Transition.Closed) _assertClosed();
        else _assertWritten();
    }

    /// Mostly what traffic does: people would keep the breaker from living through its own states.
    function _event(Stream memory stream) private pure returns (Event) {
        if (stream.oneIn(12)) return Event.Trip;
        if (stream.oneIn(12)) return Event.Reset;
        return stream.oneIn(2) ? Event.Success : Event.Failure;
    }
}
