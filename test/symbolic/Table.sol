// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Naive, NaiveBreaker} from "../utils/NaiveBreaker.sol";
import {Word} from "../utils/Word.sol";
import {Event, State, Transition} from "contracts/CircuitBreaker.sol";

/// @notice One line of the question "what becomes of a breaker?".
/// @param  b     The breaker, its fields unpacked. A row that applies changes it to what it becomes.
/// @param  state What a caller sees of it at `time`.
/// @param  e     What happened.
/// @param  arg   The weight of a failure, the `until` of a trip.
/// @param  time  Unix seconds.
struct Case {
    Naive b;
    State state;
    Event e;
    uint256 arg;
    uint256 time;
}

/// @title  Table
/// @notice The specification of a breaker: fifteen rows, of which exactly one applies to whatever happens.
/// @dev    A row is a function: its first line says to what it applies, the rest says what the breaker becomes. It
///         returns whether it applies, and what the world is told. Rows know nothing of each other, so each can be
///         read, and proved, alone; that no two of them apply, and one always does, is a proof of its own.
library Table {
    /// The largest time, and the deadline that never comes: 2^40 − 1.
    uint256 private constant FOREVER = 1_099_511_627_775;
    /// The weight that trips at once.
    uint256 private constant HEAVIEST = 65_535;

    // ─── Closed ───

    /// Every healthy call.
    function row1(Case memory c) internal pure returns (bool, Transition) {
        if (!(isClosed(c) && isSuccess(c) && c.b.failureCount == 0)) return notThisRow();
        return (true, Transition.None);
    }

    function row2(Case memory c) internal pure returns (bool, Transition) {
        if (!(isClosed(c) && isSuccess(c) && c.b.failureCount > 0)) return notThisRow();
        c.b.failureCount = 0;
        return (true, Transition.None);
    }

    /// A failure that weighs nothing is neutral.
    function row3(Case memory c) internal pure returns (bool, Transition) {
        if (!(isClosed(c) && isFailure(c) && c.arg == 0)) return notThisRow();
        return (true, Transition.None);
    }

    /// One failure of this second was counted.
    function row4(Case memory c) internal pure returns (bool, Transition) {
        if (!(isClosed(c) && isFailure(c) && c.arg > 0 && isRepeated(c))) return notThisRow();
        return (true, Transition.None);
    }

    function row5(Case memory c) internal pure returns (bool, Transition) {
        if (!(isClosed(c) && isFailure(c) && c.arg > 0 && !isRepeated(c) && !reachesThreshold(c))) return notThisRow();
        c.b.failureCount = countAfter(c);
        c.b.lastFailureAt = clock(c);
        return (true, Transition.None);
    }

    function row6(Case memory c) internal pure returns (bool, Transition) {
        if (!(isClosed(c) && isFailure(c) && c.arg > 0 && !isRepeated(c) && reachesThreshold(c))) return notThisRow();
        c.b.failureCount = countAfter(c);
        c.b.lastFailureAt = clock(c);
        c.b.open = true;
        c.b.retryAt = deadline(c, clock(c), c.b.cooldown);
        c.b.reopenCount = 0;
        c.b.successCount = 0;
        return (true, Transition.Opened);
    }

    // ─── Open ───

    /// Nothing that happens to traffic moves the deadline.
    function row7(Case memory c) internal pure returns (bool, Transition) {
        if (!(c.state == State.Open && (isSuccess(c) || isFailure(c)))) return notThisRow();
        return (true, Transition.None);
    }

    // ─── Half-open ───

    /// One good probe of this second was counted.
    function row8(Case memory c) internal pure returns (bool, Transition) {
        if (!(isHalfOpen(c) && isSuccess(c) && isRepeatedProbe(c))) return notThisRow();
        return (true, Transition.None);
    }

    function row9(Case memory c) internal pure returns (bool, Transition) {
        if (!(isHalfOpen(c) && isSuccess(c) && !isRepeatedProbe(c) && !isEnough(c))) return notThisRow();
        c.b.successCount += 1;
        c.b.probedAt = c.time % 256;
        return (true, Transition.None);
    }

    function row10(Case memory c) internal pure returns (bool, Transition) {
        if (!(isHalfOpen(c) && isSuccess(c) && !isRepeatedProbe(c) && isEnough(c))) return notThisRow();
        close(c.b);
        return (true, Transition.Closed);
    }

    function row11(Case memory c) internal pure returns (bool, Transition) {
        if (!(isHalfOpen(c) && isFailure(c) && c.arg == 0)) return notThisRow();
        return (true, Transition.None);
    }

    function row12(Case memory c) internal pure returns (bool, Transition) {
        if (!(isHalfOpen(c) && isFailure(c) && c.arg > 0)) return notThisRow();
        c.b.reopenCount = smaller(c.b.reopenCount + 1, 255);
        // Times 2 for each failed probe. 2^64 seconds are past every cap, so no more doublings are needed than that.
        uint256 doubled = c.b.cooldown << smaller(c.b.reopenCount, 64);
        c.b.retryAt = deadline(c, c.time, smaller(doubled, c.b.maxCooldown));
        c.b.successCount = 0;
        return (true, Transition.Opened);
    }

    // ─── Any state ───

    /// Tells the world if anything changed, so if the deadline moves away or good probes are lost.
    function row13(Case memory c) internal pure returns (bool, Transition) {
        if (c.e != Event.Trip) return notThisRow();
        bool news = isClosed(c) || c.b.successCount > 0;
        uint256 time = isClosed(c) ? clock(c) : c.time;
        if (isClosed(c)) {
            c.b.open = true;
            c.b.lastFailureAt = time;
            c.b.reopenCount = 0;
        }
        c.b.successCount = 0;
        uint256 until = c.arg > 0 ? c.arg : deadline(c, time, c.b.cooldown);
        uint256 retryAt = larger(larger(c.b.retryAt, until), smaller(time + 1, FOREVER));
        if (retryAt != c.b.retryAt) news = true;
        c.b.retryAt = retryAt;
        return (true, news ? Transition.Opened : Transition.None);
    }

    function row14(Case memory c) internal pure returns (bool, Transition) {
        if (!(c.e == Event.Reset && isClosed(c))) return notThisRow();
        close(c.b);
        return (true, Transition.None);
    }

    function row15(Case memory c) internal pure returns (bool, Transition) {
        if (!(c.e == Event.Reset && !isClosed(c))) return notThisRow();
        close(c.b);
        return (true, Transition.Closed);
    }

    /// @notice All rows, in order: how many apply.
    function applying(Case memory c) internal pure returns (uint256 count) {
        // A row that applies changes its case, so each gets its own.
        bytes memory question = abi.encode(c);
        function(Case memory) pure returns (bool, Transition)[15] memory rows =
            [row1, row2, row3, row4, row5, row6, row7, row8, row9, row10, row11, row12, row13, row14, row15];
        for (uint256 i; i < rows.length; ++i) {
            (bool applies,) = rows[i](abi.decode(question, (Case)));
            if (applies) ++count;
        }
    }

    // ─── What the rows speak about ───

    function isClosed(Case memory c) internal pure returns (bool) {
        return c.state == State.Closed;
    }

    function isHalfOpen(Case memory c) internal pure returns (bool) {
        return c.state == State.HalfOpen;
    }

    function isSuccess(Case memory c) internal pure returns (bool) {
        return c.e == Event.Success;
    }

    function isFailure(Case memory c) internal pure returns (bool) {
        return c.e == Event.Failure;
    }

    function isLatched(Case memory c) internal pure returns (bool) {
        return c.b.flags % 2 == 1;
    }

    function isOncePerBlock(Case memory c) internal pure returns (bool) {
        return c.b.flags / 2 % 2 == 1;
    }

    /// A clock that runs backwards counts as no time passed.
    function clock(Case memory c) internal pure returns (uint256) {
        return larger(c.time, c.b.lastFailureAt);
    }

    function isRepeated(Case memory c) internal pure returns (bool) {
        return isOncePerBlock(c) && c.b.failureCount > 0 && clock(c) == c.b.lastFailureAt && c.arg < HEAVIEST;
    }

    function isRepeatedProbe(Case memory c) internal pure returns (bool) {
        return isOncePerBlock(c) && c.b.successCount > 0 && c.b.probedAt == c.time % 256;
    }

    function countAfter(Case memory c) internal pure returns (uint256) {
        bool isForgotten = c.b.window > 0 && clock(c) - c.b.lastFailureAt > c.b.window;
        return smaller((isForgotten ? 0 : c.b.failureCount) + c.arg, HEAVIEST);
    }

    function reachesThreshold(Case memory c) internal pure returns (bool) {
        return countAfter(c) >= c.b.failureThreshold || c.arg >= HEAVIEST;
    }

    function isEnough(Case memory c) internal pure returns (bool) {
        return c.b.successCount + 1 >= c.b.successThreshold;
    }

    /// The deadline of an opening at a time.
    function deadline(Case memory c, uint256 time, uint256 wait) internal pure returns (uint256) {
        return isLatched(c) ? FOREVER : smaller(time + wait, FOREVER);
    }

    function close(Naive memory b) internal pure {
        b.open = false;
        b.failureCount = 0;
        b.retryAt = 0;
        b.successCount = 0;
        b.reopenCount = 0;
    }

    function smaller(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }

    function larger(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a : b;
    }

    function notThisRow() internal pure returns (bool, Transition) {
        return (false, Transition.None);
    }

    /// @notice The case that a word and the arguments of `step` are. The status must be one that exists.
    function read(uint256 word, Event e, uint40 arg, uint40 time) internal pure returns (Case memory) {
        Naive memory b = NaiveBreaker.fromBreaker(Word.unpack(word));
        State state = !b.open ? State.Closed : time >= b.retryAt && b.retryAt != FOREVER ? State.HalfOpen : State.Open;
        return Case({b: b, state: state, e: e, arg: arg, time: time});
    }
}
