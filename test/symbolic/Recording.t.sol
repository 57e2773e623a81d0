// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Word} from "../utils/Word.sol";
import {Breaker, CircuitBreaker, Config, Event, State, Transition} from "contracts/CircuitBreaker.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice The clock, as a cheatcode of forge that halmos knows.
interface Clock {
    function warp(uint256 time) external;
}

/// @notice What stands around `step`: the functions that load, store and read a breaker do what it says, and a
///         configuration is checked, stored and kept apart from the state.
/// @dev    The time is any 256-bit `block.timestamp`: what does not fit the word counts as the largest that does.
contract RecordingProofs {
    using CircuitBreaker for Breaker;

    Clock private constant CLOCK = Clock(address(uint160(uint256(keccak256("hevm cheat code")))));

    Breaker private _breaker;

    // ─── Recording is step ───

    function check_SuccessIsStep(uint256 word, uint256 time) external {
        _prove(word, time, Event.Success, 0, abi.encodeCall(this.success, ()));
    }

    function check_FailIsStep(uint256 word, Outcome cause, uint16 weight, uint256 time) external {
        _prove(word, time, Event.Failure, weight, abi.encodeCall(this.fail, (cause, weight)));
    }

    function check_FailWeighsOne(uint256 word, uint256 time) external {
        _prove(word, time, Event.Failure, 1, abi.encodeCall(this.failPlainly, ()));
    }

    function check_FailWithACauseWeighsOne(uint256 word, Outcome cause, uint256 time) external {
        _prove(word, time, Event.Failure, 1, abi.encodeCall(this.failBecause, (cause)));
    }

    function check_TripIsStep(uint256 word, uint40 until, Outcome cause, uint256 time) external {
        _prove(word, time, Event.Trip, until, abi.encodeCall(this.trip, (until, cause)));
    }

    function check_ResetIsStep(uint256 word, uint256 time) external {
        _prove(word, time, Event.Reset, 0, abi.encodeCall(this.reset, ()));
    }

    // ─── Reading ───

    function check_ReadingIsTheStateOfTheWord(uint256 word, uint256 time) external {
        CLOCK.warp(time);
        if (_threshold(word) == 0) return;
        _store(word);
        State state = CircuitBreaker.stateOf(word, _saturated(time));
        assert(_breaker.state() == state);
        assert(_breaker.isClosed() == (state == State.Closed));
        assert(_breaker.isOpen() == (state == State.Open));
        assert(_breaker.isHalfOpen() == (state == State.HalfOpen));
        assert(CircuitBreaker.isOpenAt(word, time) == (state == State.Open));
        assert(CircuitBreaker.isProbeOnly(word) == (word / 2 ** 242 % 2 == 1));
        assert(_breaker.load() == word);
    }

    // ─── Configuration ───

    function check_ConfigureIsRefusedForABadConfigurationOnly(uint256 word, Config memory config) external {
        _store(word);
        try this.configure(config) {
            assert(_isSound(config));
        } catch {
            assert(!_isSound(config));
        }
    }

    function check_ConfigureKeepsTheState(uint256 word, Config memory config, uint256 time) external {
        CLOCK.warp(time);
        if (!_isSound(config) || _threshold(word) == 0) return;
        _store(word);
        _breaker.configure(config);
        uint256 next = _load();
        assert(CircuitBreaker.stateOf(next, _saturated(time)) == CircuitBreaker.stateOf(word, _saturated(time)));
        assert((next ^ word) & ~(_configuration() | _counts()) == 0);
    }

    function check_ConfigureStoresTheConfiguration(uint256 word, Config memory config) external {
        if (!_isSound(config)) return;
        _store(word);
        _breaker.configure(config);
        assert(_load() & _configuration() == Word.pack(_fields(config)));
    }

    /// Below the threshold a count is kept, and otherwise it becomes the largest that is.
    function check_ConfigureClampsTheCounts(uint256 word, Config memory config) external {
        if (!_isSound(config)) return;
        _store(word);
        _breaker.configure(config);
        uint256 next = _load();
        uint256 count = _count(word);
        uint256 good = _goodProbes(word);
        assert(_count(next) == (count < config.failureThreshold ? count : config.failureThreshold - 1));
        assert(_goodProbes(next) == (good < config.successThreshold ? good : config.successThreshold - 1));
    }

    /// What a constructor stores is what `configure` makes of an empty slot: closed, nothing counted.
    function check_BuildIsConfigureOfAnEmptySlot(Config memory config) external {
        if (!_isSound(config)) return;
        _breaker = CircuitBreaker.build(config);
        assert(_load() == Word.pack(_fields(config)));
        _store(0);
        _breaker.configure(config);
        assert(_load() == Word.pack(_fields(config)));
    }

    function check_BuildIsRefusedForABadConfigurationOnly(Config memory config) external view {
        try this.build(config) {
            assert(_isSound(config));
        } catch {
            assert(!_isSound(config));
        }
    }

    function check_SafeIsSound(uint16 failureThreshold, uint32 cooldown) external pure {
        Config memory config = CircuitBreaker.safe(failureThreshold, cooldown);
        assert(_isSound(config) == (failureThreshold > 0 && cooldown > 0));
        assert(config.maxCooldown == uint256(cooldown) * 16 || config.maxCooldown == type(uint32).max);
        assert(config.maxCooldown <= uint256(cooldown) * 16);
    }

    // ─── A host ───

    function success() external {
        _breaker.success();
    }

    function fail(Outcome cause, uint16 weight) external {
        _breaker.fail(cause, weight);
    }

    function failBecause(Outcome cause) external {
        _breaker.fail(cause);
    }

    function failPlainly() external {
        _breaker.fail();
    }

    function trip(uint40 until, Outcome cause) external {
        _breaker.trip(until, cause);
    }

    function reset() external {
        _breaker.reset();
    }

    function configure(Config memory config) external {
        _breaker.configure(config);
    }

    function build(Config memory config) external pure returns (Breaker memory) {
        return CircuitBreaker.build(config);
    }

    function step(uint256 word, Event e, uint40 arg, uint40 time) external pure returns (uint256, Transition) {
        return CircuitBreaker.step(word, e, arg, time);
    }

    // ─── For the proofs ───

    /// The call stores what `step` says, and reverts where `step` does.
    function _prove(uint256 word, uint256 time, Event e, uint40 arg, bytes memory call) private {
        CLOCK.warp(time);
        _store(word);
        (bool ok,) = address(this).call(call);
        uint256 stored = _load();
        try this.step(word, e, arg, _saturated(time)) returns (uint256 next, Transition) {
            assert(ok);
            assert(stored == next);
        } catch {
            assert(!ok);
            assert(stored == word);
        }
    }

    function _isSound(Config memory config) private pure returns (bool) {
        return config.failureThreshold > 0 && config.cooldown > 0 && config.maxCooldown >= config.cooldown
            && config.successThreshold > 0 && config.flags < 8;
    }

    function _fields(Config memory config) private pure returns (Breaker memory breaker) {
        breaker.failureThreshold = config.failureThreshold;
        breaker.cooldown = config.cooldown;
        breaker.successThreshold = config.successThreshold;
        breaker.maxCooldown = config.maxCooldown;
        breaker.window = config.window;
        breaker.flags = config.flags;
    }

    function _configuration() private pure returns (uint256) {
        return Word.pack(
            _fields(
                Config(
                    type(uint16).max,
                    type(uint32).max,
                    type(uint8).max,
                    type(uint32).max,
                    type(uint32).max,
                    type(uint8).max
                )
            )
        );
    }

    /// The two counts that `configure` clamps.
    function _counts() private pure returns (uint256) {
        Breaker memory ones;
        ones.failureCount = type(uint16).max;
        ones.successCount = type(uint8).max;
        return Word.pack(ones);
    }

    function _saturated(uint256 time) private pure returns (uint40) {
        return time < type(uint40).max ? uint40(time) : type(uint40).max;
    }

    function _store(uint256 word) private {
        assembly ("memory-safe") {
            sstore(_breaker.slot, word)
        }
    }

    function _load() private view returns (uint256 word) {
        assembly ("memory-safe") {
            word := sload(_breaker.slot)
        }
    }

    function _threshold(uint256 word) private pure returns (uint256) {
        return word / 2 ** 24 % 2 ** 16;
    }

    function _count(uint256 word) private pure returns (uint256) {
        return word / 2 ** 8 % 2 ** 16;
    }

    function _goodProbes(uint256 word) private pure returns (uint256) {
        return word / 2 ** 112 % 2 ** 8;
    }
}
