// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Outcome} from "./Outcome.sol";

/// @notice What is stored of a breaker's state. Half-open is not stored: it is `OPEN` whose time has come.
enum Status {
    CLOSED,
    OPEN
}

/// @notice The state as a caller sees it.
enum State {
    /// The primary is used.
    Closed,
    /// The primary is left alone until `retryAt`.
    Open,
    /// The cooldown is over: the next call tries the primary.
    HalfOpen
}

/// @notice What can happen to a breaker.
enum Event {
    /// The primary answered.
    Success,
    /// The primary failed; the argument of `step` is the weight.
    Failure,
    /// Somebody opens it; the argument of `step` is `until`.
    Trip,
    /// Somebody closes it.
    Reset
}

/// @notice What a step changed that the world is told about.
enum Transition {
    None,
    Opened,
    Closed
}

/// @notice A circuit breaker: one storage slot, all 256 bits, lowest first.
/// @param  status           Closed or open.
/// @param  failureCount     Consecutive failures counted so far, weighted; keeps its value while open.
/// @param  failureThreshold Trips when `failureCount` reaches it; 0 = not configured.
/// @param  cooldown         Seconds from a trip to half-open.
/// @param  retryAt          Unix seconds at which an open breaker becomes half-open; 0 when closed; 2^40−1 = never by
///                          itself.
/// @param  successCount     Good probes so far in half-open.
/// @param  successThreshold Good probes that close it.
/// @param  reopenCount      Failed probes since it was last closed; drives the backoff.
/// @param  maxCooldown      Seconds that the doubling cooldown never exceeds; equal to `cooldown` = constant.
/// @param  window           Seconds after which an old failure no longer counts; 0 = failures count for ever. With
///                          `ONCE_PER_BLOCK` longer than the time between two blocks, or nothing is ever counted twice.
/// @param  lastFailureAt    Unix seconds; closed: the last counted failure; open: when it left closed. Never moved by a
///                          reopen or a later trip.
/// @param  flags            Bit 0 `LATCH`, bit 1 `ONCE_PER_BLOCK`, bit 2 `PROBE_ONLY`; others are rejected.
/// @param  probedAt         Low byte of the timestamp of the last counted good probe.
struct Breaker {
    Status status;
    uint16 failureCount;
    uint16 failureThreshold;
    uint32 cooldown;
    uint40 retryAt;
    uint8 successCount;
    uint8 successThreshold;
    uint8 reopenCount;
    uint32 maxCooldown;
    uint32 window;
    uint40 lastFailureAt;
    uint8 flags;
    uint8 probedAt;
}

/// @notice The part of a breaker that its owner chooses. Units and meanings as in `Breaker`.
struct Config {
    uint16 failureThreshold;
    uint32 cooldown;
    uint8 successThreshold;
    uint32 maxCooldown;
    uint32 window;
    uint8 flags;
}

/// @title  CircuitBreaker
/// @notice Stops calling a contract that keeps failing, and finds out by itself when it works again.
/// @dev    *Design.* A transition is a pure function of the slot's word, what happened, and the time: `step` is the
///         only place where one is decided, everything else loads, stores and tells the world. A recording costs one
///         SLOAD and at most one SSTORE. The layout of the word is API: off-chain readers take the whole state with
///         `eth_getStorageAt(host, id)`.
///
///         *Nothing on the failure path reverts.* Counters, sums and shifts saturate: an overflow here would take the
///         host down together with the contract it is guarded against.
///
///         *Trust.* The library checks no caller. Whoever reaches `trip`, `reset` or `configure` in the host
///         decides which contract the host uses; whoever can make the primary fail can open the breaker.
library CircuitBreaker {
    // ─── Events and errors ───

    /// @notice The breaker opened, or an open one got a later deadline or lost its good probes by a trip.
    /// @param  breaker The breaker's id: its storage slot in the emitting contract.
    /// @param  retryAt Unix seconds at which it becomes half-open; 2^40−1 = never by itself.
    /// @param  cause   Why: the outcome of the call that opened it, or what the tripping person gave.
    event Opened(bytes32 indexed breaker, uint256 retryAt, Outcome cause);

    /// @notice The breaker closed: enough good probes, or a reset.
    /// @param  breaker The breaker's id.
    event Closed(bytes32 indexed breaker);

    /// @notice The breaker has a new configuration. Its state did not change by that.
    /// @param  breaker The breaker's id.
    /// @param  config  The whole new configuration.
    event Configured(bytes32 indexed breaker, Config config);

    /// @notice The breaker's word has failure threshold 0: `configure` was never called, or the slot is not a breaker.
    error BreakerNotConfigured();
    /// @notice The failure threshold must be at least 1.
    error FailureThresholdZero();
    /// @notice The cooldown must be at least one second.
    error CooldownZero();
    /// @notice The success threshold must be at least 1.
    error SuccessThresholdZero();
    /// @notice The cap of the cooldown must not be below the cooldown, both in seconds.
    error MaxCooldownBelowCooldown(uint32 maxCooldown, uint32 cooldown);
    /// @notice Flags other than `LATCH`, `ONCE_PER_BLOCK` and `PROBE_ONLY` do not exist.
    /// @param  unknown The bits that were not understood.
    error UnknownFlags(uint8 unknown);

    // ─── Constants ───

    /// @notice Once open it stays open: every opening stores `NEVER`, except a trip with an explicit deadline.
    uint8 internal constant LATCH = 1;
    /// @notice At most one failure and one good probe count per timestamp, so that one transaction cannot trip it.
    uint8 internal constant ONCE_PER_BLOCK = 2;
    /// @notice The host records only in `probe`, whose input nobody chooses. Enforced by hosts, not by this library.
    uint8 internal constant PROBE_ONLY = 4;

    /// @notice The weight that trips a closed breaker at once.
    uint16 internal constant TRIP_AT_ONCE = type(uint16).max;
    /// @notice The `retryAt` of an open breaker that only a person closes; also the largest representable time.
    uint40 internal constant NEVER = type(uint40).max;

    // The word, high bits to low:
    //
    // | 255    248 | 247 240 | 239       200 | 199 168 | 167     136 | 135     128 | 127          120 |
    // | probedAt   | flags   | lastFailureAt | window  | maxCooldown | reopenCount | successThreshold |
    // | 119    112 | 111  72 | 71         40 | 39           24 | 23        8 | 7    0 |
    // | successCnt | retryAt | cooldown      | failureThreshold | failureCount | status |
    uint256 private constant _FAILURE_COUNT_AT = 8;
    uint256 private constant _FAILURE_THRESHOLD_AT = 24;
    uint256 private constant _COOLDOWN_AT = 40;
    uint256 private constant _RETRY_AT_AT = 72;
    uint256 private constant _SUCCESS_COUNT_AT = 112;
    uint256 private constant _SUCCESS_THRESHOLD_AT = 120;
    uint256 private constant _REOPEN_COUNT_AT = 128;
    uint256 private constant _MAX_COOLDOWN_AT = 136;
    uint256 private constant _WINDOW_AT = 168;
    uint256 private constant _LAST_FAILURE_AT_AT = 200;
    uint256 private constant _FLAGS_AT = 240;
    uint256 private constant _PROBED_AT_AT = 248;

    uint256 private constant _STATUS = type(uint8).max;
    uint256 private constant _FAILURE_COUNT = uint256(type(uint16).max) << _FAILURE_COUNT_AT;
    uint256 private constant _FAILURE_THRESHOLD = uint256(type(uint16).max) << _FAILURE_THRESHOLD_AT;
    uint256 private constant _RETRY_AT = uint256(type(uint40).max) << _RETRY_AT_AT;
    uint256 private constant _SUCCESS_COUNT = uint256(type(uint8).max) << _SUCCESS_COUNT_AT;
    uint256 private constant _REOPEN_COUNT = uint256(type(uint8).max) << _REOPEN_COUNT_AT;
    uint256 private constant _LAST_FAILURE_AT = uint256(type(uint40).max) << _LAST_FAILURE_AT_AT;
    uint256 private constant _PROBED_AT = uint256(type(uint8).max) << _PROBED_AT_AT;

    uint256 private constant _OPEN = uint256(Status.OPEN);
    /// What `configure` keeps as it is. The two counts it clamps are not in here.
    uint256 private constant _STATE = _STATUS | _RETRY_AT | _REOPEN_COUNT | _LAST_FAILURE_AT | _PROBED_AT;

    // ─── Configuration ───

    /// @notice A closed breaker for a constructor to store: one good probe closes it, the cooldown is constant, every
    ///         failure counts.
    /// @param  failureThreshold Consecutive failures that trip it; at least 1.
    /// @param  cooldown         Seconds from a trip to half-open; at least 1.
    function build(uint16 failureThreshold, uint32 cooldown) internal pure returns (Breaker memory) {
        return build(Config(failureThreshold, cooldown, 1, cooldown, 0, 0));
    }

    /// @notice A closed breaker for a constructor to store. Emits nothing; a clone or a proxy, whose constructor does
    ///         not run, calls `configure` instead.
    function build(Config memory config) internal pure returns (Breaker memory breaker) {
        _check(config);
        breaker.failureThreshold = config.failureThreshold;
        breaker.cooldown = config.cooldown;
        breaker.successThreshold = config.successThreshold;
        breaker.maxCooldown = config.maxCooldown;
        breaker.window = config.window;
        breaker.flags = config.flags;
    }

    /// @notice What a host that anyone may call should use: one failure a block counts, two good probes close it, and
    ///         the cooldown doubles up to sixteen times its start.
    function safe(uint16 failureThreshold, uint32 cooldown) internal pure returns (Config memory) {
        uint256 cap = uint256(cooldown) * 16;
        // forge-lint: disable-next-line(unsafe-typecast) -- the smaller of the two fits
        uint32 maxCooldown = cap < type(uint32).max ? uint32(cap) : type(uint32).max;
        return Config(failureThreshold, cooldown, 2, maxCooldown, 0, ONCE_PER_BLOCK);
    }

    /// @notice Gives a breaker its configuration, or a new one. Its state stays: this neither trips nor un-trips, so
    ///         counts are clamped below their new thresholds, and `LATCH` acts from the next opening.
    /// @dev    Warning: whoever may call this can disarm the breaker. The host decides who that is.
    function configure(Breaker storage self, Config memory config) internal {
        _check(config);
        uint256 word = load(self);
        uint256 failures = _min(_failureCount(word), config.failureThreshold - 1);
        uint256 successes = _min(_successCount(word), config.successThreshold - 1);
        word = word & _STATE | failures << _FAILURE_COUNT_AT | successes << _SUCCESS_COUNT_AT;
        _store(self, word | _pack(config));
        emit Configured(id(self), config);
    }

    function _pack(Config memory config) private pure returns (uint256 word) {
        word = uint256(config.failureThreshold) << _FAILURE_THRESHOLD_AT;
        word |= uint256(config.cooldown) << _COOLDOWN_AT;
        word |= uint256(config.successThreshold) << _SUCCESS_THRESHOLD_AT;
        word |= uint256(config.maxCooldown) << _MAX_COOLDOWN_AT;
        word |= uint256(config.window) << _WINDOW_AT;
        word |= uint256(config.flags) << _FLAGS_AT;
    }

    function _check(Config memory config) private pure {
        if (config.failureThreshold == 0) revert FailureThresholdZero();
        if (config.cooldown == 0) revert CooldownZero();
        if (config.maxCooldown < config.cooldown) {
            revert MaxCooldownBelowCooldown(config.maxCooldown, config.cooldown);
        }
        if (config.successThreshold == 0) revert SuccessThresholdZero();
        uint8 unknown = config.flags & ~(LATCH | ONCE_PER_BLOCK | PROBE_ONLY);
        if (unknown != 0) revert UnknownFlags(unknown);
    }

    // ─── Reading ───

    /// @notice Closed, open or half-open, now. Reverts with `BreakerNotConfigured` where there is no breaker.
    function state(Breaker storage self) internal view returns (State) {
        return stateOf(load(self), _time());
    }

    /// @notice The primary is in use.
    function isClosed(Breaker storage self) internal view returns (bool) {
        return state(self) == State.Closed;
    }

    /// @notice The primary must be left alone. This is the check before a call: closed and half-open may try.
    function isOpen(Breaker storage self) internal view returns (bool) {
        uint256 word;
        assembly ("memory-safe") {
            word := sload(self.slot)
        }
        if (word & _STATUS == 0) {
            if (word & _FAILURE_THRESHOLD == 0) revert BreakerNotConfigured();
            return false;
        }
        return isOpenAt(word, block.timestamp);
    }

    /// @notice The whole state, as stored: for a host that asks several things at the price of one load.
    function load(Breaker storage self) internal view returns (uint256 word) {
        assembly ("memory-safe") {
            word := sload(self.slot)
        }
    }

    /// @notice Whether the host records in `probe` only.
    function isProbeOnly(uint256 word) internal pure returns (bool) {
        return word & uint256(PROBE_ONLY) << _FLAGS_AT != 0;
    }

    /// @notice The cooldown is over, and the next call is a probe.
    function isHalfOpen(Breaker storage self) internal view returns (bool) {
        return state(self) == State.HalfOpen;
    }

    /// @notice The breaker's name in events and in `eth_getStorageAt`: its storage slot, unique within the contract.
    function id(Breaker storage self) internal pure returns (bytes32 slot) {
        assembly ("memory-safe") {
            slot := self.slot
        }
    }

    /// @notice The state that a word is in at a time, in unix seconds.
    function stateOf(uint256 word, uint40 time) internal pure returns (State) {
        if (isOpenAt(word, time)) return State.Open;
        return word & _STATUS == 0 ? State.Closed : State.HalfOpen;
    }

    /// @notice `isOpen` of a word at a time, in unix seconds.
    function isOpenAt(uint256 word, uint256 time) internal pure returns (bool) {
        if (word & _FAILURE_THRESHOLD == 0) revert BreakerNotConfigured();
        if (word & _STATUS == 0) return false;
        uint256 retryAt = _retryAt(word);
        // slither-disable-next-line incorrect-equality -- one value of 40 bits means never
        return time < retryAt || retryAt == NEVER;
    }

    // ─── Recording ───

    /// @notice The primary answered. Free of a write while nothing was wrong.
    function success(Breaker storage self) internal {
        uint256 word;
        assembly ("memory-safe") {
            word := sload(self.slot)
        }
        // Closed and count 0: what every healthy call pays, so it is short. `step` says the same.
        if (word & (_STATUS | _FAILURE_COUNT) == 0) {
            if (word & _FAILURE_THRESHOLD == 0) revert BreakerNotConfigured();
            return;
        }
        (uint256 next, Transition transition) = _succeed(word, _time());
        _save(self, word, next, transition, Outcome.Ok);
    }

    /// @notice The primary failed, by a revert.
    function fail(Breaker storage self) internal {
        fail(self, Outcome.Reverted, 1);
    }

    /// @notice The primary failed.
    /// @param  cause What `Opened` will name, should this failure open the breaker.
    function fail(Breaker storage self, Outcome cause) internal {
        fail(self, cause, 1);
    }

    /// @notice The primary failed, and this failure counts for more or less than one.
    /// @param  cause  What `Opened` will name, should this failure open the breaker.
    /// @param  weight Added to the failure count; 0 = ignore it, `TRIP_AT_ONCE` = open whatever the count is.
    function fail(Breaker storage self, Outcome cause, uint16 weight) internal {
        uint256 word;
        assembly ("memory-safe") {
            word := sload(self.slot)
        }
        (uint256 next,) = _fail(word, weight, _time());
        // slither-disable-next-line incorrect-equality -- whether there is anything to write
        if (next == word) return;
        _store(self, next);
        // A failure never closes: one that changed the word and left it open has opened it.
        if (next & _STATUS != 0) emit Opened(id(self), _retryAt(next), cause);
    }

    /// @notice Opens the breaker, or moves an open breaker's deadline further away; never nearer.
    /// @dev    Warning: whoever may call this takes the primary out of use. The host decides who that is.
    /// @param  until Unix seconds of the deadline; 0 = one cooldown from now. A past one becomes the next second.
    /// @param  cause What `Opened` will name; `Outcome.Forced` for a person.
    function trip(Breaker storage self, uint40 until, Outcome cause) internal {
        uint256 word = load(self);
        (uint256 next, Transition transition) = step(word, Event.Trip, until, _time());
        _save(self, word, next, transition, cause);
    }

    /// @notice Closes the breaker and forgets all counts.
    /// @dev    Warning: whoever may call this puts a failing primary back into use. The host decides who that is.
    function reset(Breaker storage self) internal {
        uint256 word = load(self);
        (uint256 next, Transition transition) = step(word, Event.Reset, 0, _time());
        _save(self, word, next, transition, Outcome.Ok);
    }

    function _save(Breaker storage self, uint256 word, uint256 next, Transition transition, Outcome cause) private {
        // slither-disable-next-line incorrect-equality -- whether there is anything to write
        if (next == word) return;
        _store(self, next);
        // slither-disable-next-line incorrect-equality -- an enum
        if (transition == Transition.None) return;
        // slither-disable-next-line incorrect-equality -- an enum
        if (transition == Transition.Opened) emit Opened(id(self), _retryAt(next), cause);
        else emit Closed(id(self));
    }

    // ─── The state machine ───

    /// @notice What becomes of a breaker: the only place where a transition is decided.
    /// @param  word The slot before.
    /// @param  e    What happened.
    /// @param  arg  The weight of a failure, the `until` of a trip, else unused.
    /// @param  time Unix seconds.
    /// @return next       The slot after; equal to `word` where nothing is to be written.
    /// @return transition What to tell the world.
    function step(uint256 word, Event e, uint40 arg, uint40 time)
        internal
        pure
        returns (uint256 next, Transition transition)
    {
        if (e == Event.Success) return _succeed(word, time);
        if (e == Event.Failure) return _fail(word, arg, time);
        State current = stateOf(word, time);
        if (e == Event.Trip) return _tripped(word, arg, time);
        return (_closed(word), current == State.Closed ? Transition.None : Transition.Closed);
    }

    function _succeed(uint256 word, uint256 time) private pure returns (uint256, Transition) {
        // Nothing that happens to traffic moves the deadline of an open breaker.
        if (isOpenAt(word, time)) return (word, Transition.None);
        if (word & _STATUS == 0) return (word & ~_FAILURE_COUNT, Transition.None);
        return _probeSucceeded(word, time);
    }

    function _fail(uint256 word, uint256 weight, uint256 time) private pure returns (uint256, Transition) {
        if (word & _STATUS != 0) {
            if (isOpenAt(word, time) || weight == 0) return (word, Transition.None);
            return _probeFailed(word, time);
        }
        if (word & _FAILURE_THRESHOLD == 0) revert BreakerNotConfigured();
        if (weight == 0) return (word, Transition.None);

        uint256 lastFailureAt = _lastFailureAt(word);
        // A clock that runs backwards counts as no time passed.
        if (time < lastFailureAt) time = lastFailureAt;
        uint256 count = _failureCount(word);
        if (_has(word, ONCE_PER_BLOCK)) {
            // slither-disable-next-line incorrect-equality -- the same second, to the second
            if (time == lastFailureAt && count != 0 && weight < TRIP_AT_ONCE) return (word, Transition.None);
        }
        uint256 window = _window(word);
        unchecked {
            // time ≥ lastFailureAt, see above; a 16-bit count and a 40-bit weight cannot overflow 256 bits.
            if (window != 0) {
                if (time - lastFailureAt > window) count = 0;
            }
            count += weight;
        }
        // Saturating, TRIP_AT_ONCE reaches every threshold.
        if (count > type(uint16).max) count = type(uint16).max;

        word = word & ~(_FAILURE_COUNT | _LAST_FAILURE_AT) | count << _FAILURE_COUNT_AT | time << _LAST_FAILURE_AT_AT;
        if (count < _failureThreshold(word)) return (word, Transition.None);
        word &= ~(_SUCCESS_COUNT | _REOPEN_COUNT);
        return (_open(word, _after(word, time, _cooldown(word))), Transition.Opened);
    }

    /// A good probe.
    function _probeSucceeded(uint256 word, uint256 time) private pure returns (uint256, Transition) {
        uint256 successes = _successCount(word);
        uint256 low = time & 0xff;
        // Comparing low bytes: an honest probe exactly 256 s after the last one loses a block, no more.
        // slither-disable-next-line incorrect-equality -- the same second, to the second
        if (successes != 0 && low == word >> _PROBED_AT_AT && _has(word, ONCE_PER_BLOCK)) {
            return (word, Transition.None);
        }
        unchecked {
            // An 8-bit count.
            ++successes;
        }
        if (successes >= _successThreshold(word)) return (_closed(word), Transition.Closed);
        word = word & ~(_SUCCESS_COUNT | _PROBED_AT) | successes << _SUCCESS_COUNT_AT | low << _PROBED_AT_AT;
        return (word, Transition.None);
    }

    /// A failed probe of weight > 0: open again, for twice as long.
    function _probeFailed(uint256 word, uint256 time) private pure returns (uint256, Transition) {
        unchecked {
            // An 8-bit count.
            uint256 reopens = _min(_reopenCount(word) + 1, type(uint8).max);
            word = word & ~(_SUCCESS_COUNT | _REOPEN_COUNT) | reopens << _REOPEN_COUNT_AT;
            return (_open(word, _after(word, time, _backoff(word, reopens))), Transition.Opened);
        }
    }

    /// Opened by a person or a flag. An open breaker's deadline only moves away.
    function _tripped(uint256 word, uint256 until, uint256 time) private pure returns (uint256 next, Transition) {
        next = word & ~_SUCCESS_COUNT;
        if (word & _STATUS == 0) {
            uint256 lastFailureAt = _lastFailureAt(word);
            if (time < lastFailureAt) time = lastFailureAt;
            next = next & ~(_REOPEN_COUNT | _LAST_FAILURE_AT) | time << _LAST_FAILURE_AT_AT;
        }
        if (until == 0) until = _after(word, time, _cooldown(word));
        unchecked {
            // A 40-bit time.
            until = _max(_max(until, _min(time + 1, NEVER)), _retryAt(word));
        }
        next = _open(next, until);
        // slither-disable-next-line incorrect-equality -- whether anything has changed
        return (next, next == word ? Transition.None : Transition.Opened);
    }

    function _open(uint256 word, uint256 retryAt) private pure returns (uint256) {
        return word & ~(_STATUS | _RETRY_AT) | _OPEN | retryAt << _RETRY_AT_AT;
    }

    function _closed(uint256 word) private pure returns (uint256) {
        return word & ~(_STATUS | _FAILURE_COUNT | _RETRY_AT | _SUCCESS_COUNT | _REOPEN_COUNT);
    }

    /// The deadline of an opening: `delay` seconds on, or never with `LATCH`.
    function _after(uint256 word, uint256 time, uint256 delay) private pure returns (uint256) {
        unchecked {
            // A 40-bit time and a 32-bit delay.
            return _has(word, LATCH) ? NEVER : _min(time + delay, NEVER);
        }
    }

    /// The cooldown, doubled for each failed probe up to the cap, in seconds.
    function _backoff(uint256 word, uint256 reopens) private pure returns (uint256) {
        // After 32 doublings even one second is past every 32-bit cap; shifting on would lose bits in the end.
        return _min(_cooldown(word) << _min(reopens, 32), _maxCooldown(word));
    }

    // ─── The word, field by field ───

    function _failureCount(uint256 word) private pure returns (uint256) {
        return word >> _FAILURE_COUNT_AT & 0xffff;
    }

    function _failureThreshold(uint256 word) private pure returns (uint256) {
        return word >> _FAILURE_THRESHOLD_AT & 0xffff;
    }

    function _cooldown(uint256 word) private pure returns (uint256) {
        return word >> _COOLDOWN_AT & 0xffffffff;
    }

    function _retryAt(uint256 word) private pure returns (uint256) {
        return word >> _RETRY_AT_AT & 0xffffffffff;
    }

    function _successCount(uint256 word) private pure returns (uint256) {
        return word >> _SUCCESS_COUNT_AT & 0xff;
    }

    function _successThreshold(uint256 word) private pure returns (uint256) {
        return word >> _SUCCESS_THRESHOLD_AT & 0xff;
    }

    function _reopenCount(uint256 word) private pure returns (uint256) {
        return word >> _REOPEN_COUNT_AT & 0xff;
    }

    function _maxCooldown(uint256 word) private pure returns (uint256) {
        return word >> _MAX_COOLDOWN_AT & 0xffffffff;
    }

    function _window(uint256 word) private pure returns (uint256) {
        return word >> _WINDOW_AT & 0xffffffff;
    }

    function _lastFailureAt(uint256 word) private pure returns (uint256) {
        return word >> _LAST_FAILURE_AT_AT & 0xffffffffff;
    }

    function _has(uint256 word, uint256 flag) private pure returns (bool) {
        return word >> _FLAGS_AT & flag != 0;
    }

    // ─── Storage, clock, arithmetic ───

    function _store(Breaker storage self, uint256 word) private {
        assembly ("memory-safe") {
            sstore(self.slot, word)
        }
    }

    /// Unix seconds, as far as 40 bits reach.
    function _time() private view returns (uint40) {
        // forge-lint: disable-next-line(unsafe-typecast, block-timestamp) -- saturates; proposers move it by seconds
        return block.timestamp < NEVER ? uint40(block.timestamp) : NEVER;
    }

    function _min(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }

    function _max(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a : b;
    }
}
