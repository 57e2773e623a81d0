// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ICircuitBreaker} from "./interfaces/ICircuitBreaker.sol";

// The one lock of a host, held over an attempt and its record, so that each attempt is recorded once. It is a word in
// transient storage: 100 gas a read or write, and free after the transaction. The lowest byte is the phase; what is
// above it is the holder's, and zero while nobody holds the lock. It is read before it is written: in a static frame,
// where a re-entrant primary often is, the write would burn all gas instead of reverting.
//
// Constants and no functions: these are read and written on the path of every call, in assembly, which takes constants
// of a file and not those of a library, and a function would cost each call 20 gas.

/// @dev Where the phase is. Compilers count slots up from zero and hashes take all 256 bits, so four bytes in the
///      middle meet neither: those of keccak256("fusebox.lock").
uint256 constant LOCK = 0xbaff5280;

/// @dev Nobody attempts anything.
uint256 constant FREE = 0;
/// @dev The host calls itself: the next entry is the attempt.
uint256 constant EXPECT = 1;
/// @dev The attempt runs.
uint256 constant RUN = 2;
/// @dev The host asks itself whether a function is decorated.
uint256 constant ASK = 3;

/// @dev For a host that calls its primary itself: takes the lock for an attempt, or reverts with `Reentered`.
function lock() {
    uint256 phase;
    assembly ("memory-safe") {
        phase := tload(LOCK)
    }
    if (phase != FREE) revert ICircuitBreaker.Reentered();
    assembly ("memory-safe") {
        tstore(LOCK, RUN)
    }
}

/// @dev Gives the lock back, after the record.
function unlock() {
    assembly ("memory-safe") {
        tstore(LOCK, FREE)
    }
}
