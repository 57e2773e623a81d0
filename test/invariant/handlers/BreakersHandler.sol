// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {NEVER, START, TRIP_AT_ONCE} from "../../utils/Defaults.sol";
import {Random, Stream} from "../../utils/Random.sol";
import {BREAKERS, ThreeBreakers} from "../../utils/ThreeBreakers.sol";
import {Word} from "../../utils/Word.sol";
import {Breaker, CircuitBreaker, State} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";
import {CommonBase} from "forge-std/Base.sol";
import {Vm} from "forge-std/Vm.sol";

/// @notice What the handler did last.
enum Action {
    Wait,
    Success,
    Failure,
    Trip,
    Reset,
    Configure
}

/// @notice The last call and what came of it, as seen from outside.
struct Seen {
    Action action;
    uint256 index;
    /// The weight of a failure.
    uint16 weight;
    uint40 time;
    uint256[BREAKERS] before;
    uint256[BREAKERS] afterwards;
    uint256 logs;
}

/// @notice What somebody who reads nothing but logs knows of a breaker.
struct Folded {
    bool open;
    uint256 retryAt;
}

/// @title  BreakersHandler
/// @notice Sends the host whatever anybody might send, moves time, and keeps what is needed to judge. Never reverts.
/// @dev    It judges nothing itself, but for one rule that needs a memory of its own: see `countedTwice`.
contract BreakersHandler is CommonBase {
    using Random for Stream;

    ThreeBreakers public immutable host;

    /// @dev Kept here, since the fuzzer gives each call a block of its own.
    uint40 public time = START;

    Seen private _seen;
    mapping(bytes32 id => Folded) private _folded;

    /// @notice How often each action ran, and from which state to which it took the chosen breaker.
    mapping(Action action => uint256) public ran;
    mapping(State from => mapping(State to => uint256)) public moved;

    /// @notice Whether ever a second counted two failures although the breaker had `ONCE_PER_BLOCK`.
    bool public countedTwice;
    mapping(uint256 index => uint40) private _raisedAt;

    constructor() {
        host = new ThreeBreakers();
        for (uint256 i; i < BREAKERS; ++i) {
            configure(i, i);
        }
    }

    // ─── Actions ───

    function success(uint256 index) public {
        _before(Action.Success, index);
        host.success();
        _after();
    }

    function fail(uint256 index, uint256 seed) public {
        Stream memory stream = Stream(seed);
        _before(Action.Failure, index);
        _seen.weight = stream.weight();
        host.fail(Outcome(stream.below(uint256(type(Outcome).max) + 1)), _seen.weight);
        _after();
    }

    function trip(uint256 index, uint256 seed) external {
        Stream memory stream = Stream(seed);
        _before(Action.Trip, index);
        host.trip(stream.until(time, _chosen(_seen.before)), Outcome.Forced);
        _after();
    }

    function reset(uint256 index) external {
        _before(Action.Reset, index);
        host.reset();
        _after();
    }

    function configure(uint256 index, uint256 seed) public {
        Stream memory stream = Stream(seed);
        _before(Action.Configure, index);
        host.configure(stream.config());
        _after();
    }

    /// @notice Time stands still, or moves to where something about the breaker changes, or elsewhere, or back.
    function wait(uint256 index, uint256 seed) external {
        Stream memory stream = Stream(seed);
        _before(Action.Wait, index);
        time = stream.timeAfter(time, _chosen(_seen.before));
        _seen.time = time;
        _after();
    }

    /// @notice Waits out the cooldown, if it ever ends, and reports. Without it, half-open would be rare.
    function probe(uint256 index, bool good, uint256 seed) external {
        uint40 retryAt = Word.unpack(host.words()[index % BREAKERS]).retryAt;
        if (time < retryAt && retryAt != NEVER) time = retryAt;
        if (good) success(index);
        else fail(index, seed);
    }

    // ─── What happened ───

    function seen() external view returns (Seen memory) {
        return _seen;
    }

    function folded(bytes32 id) external view returns (Folded memory) {
        return _folded[id];
    }

    function _before(Action action, uint256 index) private {
        vm.warp(time);
        index %= BREAKERS;
        host.choose(index);
        _seen.action = action;
        _seen.index = index;
        _seen.weight = 0;
        _seen.time = time;
        _seen.before = host.words();
        vm.recordLogs();
    }

    function _after() private {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        _seen.logs = logs.length;
        _seen.afterwards = host.words();
        for (uint256 i; i < logs.length; ++i) {
            _fold(logs[i]);
        }
        _count();
        _remember();
    }

    function _fold(Vm.Log memory log) private {
        Folded storage known = _folded[log.topics[1]];
        if (log.topics[0] == CircuitBreaker.Opened.selector) {
            known.open = true;
            (known.retryAt,) = abi.decode(log.data, (uint256, Outcome));
        } else if (log.topics[0] == CircuitBreaker.Closed.selector) {
            known.open = false;
            known.retryAt = 0;
        }
    }

    function _count() private {
        ++ran[_seen.action];
        if (_seen.action == Action.Wait || _chosen(_seen.before).failureThreshold == 0) return;
        ++moved[_state(_seen.before)][_state(_seen.afterwards)];
    }

    function _remember() private {
        if (_seen.action != Action.Failure) return;
        Breaker memory before = _chosen(_seen.before);
        Breaker memory afterwards = _chosen(_seen.afterwards);
        if (afterwards.failureCount <= before.failureCount) return;

        bool oncePerBlock = before.flags / 2 % 2 == 1;
        bool again = before.failureCount > 0 && _raisedAt[_seen.index] == time;
        if (oncePerBlock && again && _seen.weight < TRIP_AT_ONCE) countedTwice = true;
        _raisedAt[_seen.index] = time;
    }

    function _chosen(uint256[BREAKERS] memory words) private view returns (Breaker memory) {
        return Word.unpack(words[_seen.index]);
    }

    function _state(uint256[BREAKERS] memory words) private view returns (State) {
        return CircuitBreaker.stateOf(words[_seen.index], time);
    }
}
