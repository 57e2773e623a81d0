// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Word} from "../utils/Word.sol";
import {Breaker, CircuitBreaker, Event, State, Status, Transition} from "contracts/CircuitBreaker.sol";

/// @notice What `step` never does, whatever is in the slot: a status that does not exist is not left out here.
contract StepProofs {
    uint40 private constant NEVER = CircuitBreaker.NEVER;

    // ─── It works ───

    function check_NeverReverts(uint256 word, Event e, uint40 arg, uint40 time) external view {
        if (_threshold(word) == 0) return;
        try this.step(word, e, arg, time) {}
        catch {
            assert(false);
        }
    }

    function check_RevertsWithoutAThreshold(uint256 word, Event e, uint40 arg, uint40 time) external view {
        if (_threshold(word) != 0) return;
        try this.step(word, e, arg, time) {
            assert(false);
        } catch (bytes memory reason) {
            assert(keccak256(reason) == keccak256(abi.encodePacked(CircuitBreaker.BreakerNotConfigured.selector)));
        }
    }

    function check_OnlyAChangedWordTells(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        if (!_hasSoundCooldowns(word)) return;
        (uint256 next, Transition transition) = CircuitBreaker.step(word, e, arg, time);
        assert(transition == Transition.None || next != word);
    }

    /// What the logs say is what the status does. An open breaker whose deadline moves away says so too.
    function check_TheTransitionIsWhatTheStatusDoes(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        (uint256 next, Transition transition) = CircuitBreaker.step(word, e, arg, time);
        if (transition == Transition.Opened) assert(_isOpen(next));
        if (transition == Transition.Closed) assert(_isOpen(word) && !_isOpen(next));
        if (transition == Transition.None) {
            assert(_isOpen(word) == _isOpen(next));
            assert(_retryAt(word) == _retryAt(next) || !_isOpen(next));
        }
    }

    // ─── What it keeps ───

    function check_AnOpenBreakerIsFrozenBeforeItsTime(uint256 word, bool isGood, uint40 weight, uint40 time)
        external
        pure
    {
        if (!_isOpen(word) || (time >= _retryAt(word) && _retryAt(word) != NEVER)) return;
        (uint256 next, Transition transition) =
            CircuitBreaker.step(word, isGood ? Event.Success : Event.Failure, weight, time);
        assert(next == word);
        assert(transition == Transition.None);
    }

    function check_TheConfigurationNeverChanges(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        (uint256 next,) = CircuitBreaker.step(word, e, arg, time);
        assert((next ^ word) & _configuration() == 0);
    }

    function check_AClosedBreakerStaysBelowItsThreshold(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        if (!_isOpen(word) && _count(word) >= _threshold(word)) return;
        (uint256 next,) = CircuitBreaker.step(word, e, arg, time);
        assert(_isOpen(next) || _count(next) < _threshold(next));
    }

    function check_TheLastFailureNeverMovesBack(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        (uint256 next,) = CircuitBreaker.step(word, e, arg, time);
        assert(_lastFailureAt(next) >= _lastFailureAt(word));
        if (_isOpen(word)) assert(_lastFailureAt(next) == _lastFailureAt(word));
    }

    // ─── Deadlines ───

    function check_AnOpeningIsForAtLeastASecond(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        if (!_hasSoundCooldowns(word)) return;
        (uint256 next, Transition transition) = CircuitBreaker.step(word, e, arg, time);
        if (transition != Transition.Opened) return;
        assert(_retryAt(next) > time || _retryAt(next) == NEVER);
        // So the very moment it opened, it is open and not half-open.
        assert(CircuitBreaker.stateOf(next, time) == State.Open);
    }

    function check_ADeadlineNeverMovesNearer(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        if (!_isOpen(word)) return;
        (uint256 next,) = CircuitBreaker.step(word, e, arg, time);
        assert(!_isOpen(next) || _retryAt(next) >= _retryAt(word));
    }

    function check_ALatchedBreakerOpensForEver(uint256 word, uint40 weight, uint40 time) external pure {
        if (_flags(word) % 2 == 0) return;
        (uint256 next, Transition transition) = CircuitBreaker.step(word, Event.Failure, weight, time);
        assert(transition != Transition.Opened || _retryAt(next) == NEVER);
    }

    // ─── What moves it ───

    function check_OnlySuccessOrResetCloses(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        (uint256 next,) = CircuitBreaker.step(word, e, arg, time);
        if (_isOpen(word) && !_isOpen(next)) assert(e == Event.Success || e == Event.Reset);
    }

    function check_OnlyFailureOrTripOpens(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        (uint256 next, Transition transition) = CircuitBreaker.step(word, e, arg, time);
        if (!_isOpen(word) && _isOpen(next)) assert(e == Event.Failure || e == Event.Trip);
        if (transition == Transition.Opened) assert(e == Event.Failure || e == Event.Trip);
    }

    function check_ATripAlwaysOpensAndAResetAlwaysCloses(uint256 word, bool isTrip, uint40 until, uint40 time)
        external
        pure
    {
        (uint256 next,) = CircuitBreaker.step(word, isTrip ? Event.Trip : Event.Reset, until, time);
        assert(_isOpen(next) == isTrip);
    }

    // ─── Words that nobody stores ───

    /// A status from 2 to 255 is taken for `OPEN`: it becomes what an open breaker becomes, and keeps its status where
    /// that one would stay open by an outcome. A trip makes it `OPEN` and always says so, since that is a change.
    function check_AStatusThatDoesNotExistIsOpen(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        if (word % 2 ** 8 < 2) return;
        uint256 open = word - word % 2 ** 8 + uint8(Status.OPEN);
        assert(CircuitBreaker.stateOf(word, time) == CircuitBreaker.stateOf(open, time));
        (uint256 next, Transition transition) = CircuitBreaker.step(word, e, arg, time);
        (uint256 expected, Transition expectedTransition) = CircuitBreaker.step(open, e, arg, time);
        assert(next >> 8 == expected >> 8);
        assert(next % 2 ** 8 == expected % 2 ** 8 || (expected % 2 ** 8 == 1 && next % 2 ** 8 == word % 2 ** 8));
        assert(transition == (e == Event.Trip ? Transition.Opened : expectedTransition));
    }

    // ─── For the proofs ───

    function step(uint256 word, Event e, uint40 arg, uint40 time) external pure returns (uint256, Transition) {
        return CircuitBreaker.step(word, e, arg, time);
    }

    function _configuration() private pure returns (uint256) {
        Breaker memory ones;
        ones.failureThreshold = type(uint16).max;
        ones.cooldown = type(uint32).max;
        ones.successThreshold = type(uint8).max;
        ones.maxCooldown = type(uint32).max;
        ones.window = type(uint32).max;
        ones.flags = type(uint8).max;
        return Word.pack(ones);
    }

    /// As `build` and `configure` see to it.
    function _hasSoundCooldowns(uint256 word) private pure returns (bool) {
        uint256 cooldown = word / 2 ** 40 % 2 ** 32;
        return cooldown > 0 && cooldown <= _maxCooldown(word);
    }

    // The layout once more, in numbers that do not come from the library; Layout.t.sol holds them against the compiler.

    function _isOpen(uint256 word) private pure returns (bool) {
        return word % 2 ** 8 != 0;
    }

    function _count(uint256 word) private pure returns (uint256) {
        return word / 2 ** 8 % 2 ** 16;
    }

    function _threshold(uint256 word) private pure returns (uint256) {
        return word / 2 ** 24 % 2 ** 16;
    }

    function _retryAt(uint256 word) private pure returns (uint256) {
        return word / 2 ** 72 % 2 ** 40;
    }

    function _maxCooldown(uint256 word) private pure returns (uint256) {
        return word / 2 ** 136 % 2 ** 32;
    }

    function _lastFailureAt(uint256 word) private pure returns (uint256) {
        return word / 2 ** 200 % 2 ** 40;
    }

    function _flags(uint256 word) private pure returns (uint256) {
        return word / 2 ** 240 % 2 ** 8;
    }
}
