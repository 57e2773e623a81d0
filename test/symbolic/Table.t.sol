// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Naive, NaiveBreaker} from "../utils/NaiveBreaker.sol";
import {Word} from "../utils/Word.sol";
import {Case, Table} from "./Table.sol";
import {Breaker, CircuitBreaker, Event, State, Transition} from "contracts/CircuitBreaker.sol";

/// @notice `step` is the table, row by row: for every word, event, argument and time.
contract TableProofs {
    // ─── Closed ───

    function check_Row1(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row1, word, e, arg, time);
    }

    function check_Row2(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row2, word, e, arg, time);
    }

    function check_Row3(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row3, word, e, arg, time);
    }

    function check_Row4(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row4, word, e, arg, time);
    }

    function check_Row5(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row5, word, e, arg, time);
    }

    function check_Row6(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row6, word, e, arg, time);
    }

    // ─── Open ───

    function check_Row7(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row7, word, e, arg, time);
    }

    // ─── Half-open ───

    function check_Row8(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row8, word, e, arg, time);
    }

    function check_Row9(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row9, word, e, arg, time);
    }

    function check_Row10(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row10, word, e, arg, time);
    }

    function check_Row11(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row11, word, e, arg, time);
    }

    function check_Row12(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row12, word, e, arg, time);
    }

    // ─── Any state ───

    function check_Row13(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row13, word, e, arg, time);
    }

    function check_Row14(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row14, word, e, arg, time);
    }

    function check_Row15(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        _prove(Table.row15, word, e, arg, time);
    }

    function check_ExactlyOneRowApplies(uint256 word, Event e, uint40 arg, uint40 time) external pure {
        if (!_isBreaker(word)) return;
        assert(Table.applying(Table.read(word, e, arg, time)) == 1);
    }

    function _prove(
        function(Case memory) pure returns (bool, Transition) row,
        uint256 word,
        Event e,
        uint40 arg,
        uint40 time
    ) private pure {
        if (!_isBreaker(word)) return;
        Case memory c = Table.read(word, e, arg, time);
        (bool applies, Transition expected) = row(c);
        if (!applies) return;
        (uint256 next, Transition transition) = CircuitBreaker.step(word, e, arg, time);
        assert(transition == expected);
        assert(next % 2 ** 8 < 2);
        assert(_difference(NaiveBreaker.fromBreaker(Word.unpack(next)), c.b) == 0);
    }

    /// Zero if all fields are the same. Without a branch, of which each would double the paths there are to prove.
    function _difference(Naive memory a, Naive memory b) private pure returns (uint256 bits) {
        bits = a.open == b.open ? 0 : 1;
        bits |= a.failureCount ^ b.failureCount;
        bits |= a.failureThreshold ^ b.failureThreshold;
        bits |= a.cooldown ^ b.cooldown;
        bits |= a.retryAt ^ b.retryAt;
        bits |= a.successCount ^ b.successCount;
        bits |= a.successThreshold ^ b.successThreshold;
        bits |= a.reopenCount ^ b.reopenCount;
        bits |= a.maxCooldown ^ b.maxCooldown;
        bits |= a.window ^ b.window;
        bits |= a.lastFailureAt ^ b.lastFailureAt;
        bits |= a.flags ^ b.flags;
        bits |= a.probedAt ^ b.probedAt;
    }

    /// Configured, and of a status that exists. The other words are the subject of StepProofs.
    function _isBreaker(uint256 word) private pure returns (bool) {
        return word % 2 ** 8 < 2 && word / 2 ** 24 % 2 ** 16 > 0;
    }
}
