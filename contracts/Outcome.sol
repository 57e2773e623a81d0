// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Outcome
/// @notice What can come of a guarded call. The same enum is the cause in an `Opened` event, so its order is part of
///         the interface: members are only ever added at the end.
enum Outcome {
    /// The primary answered, and its answer was usable.
    Ok,
    /// The primary reverted.
    Reverted,
    /// The primary used up the gas it was given.
    BudgetSpent,
    /// There is no contract at the primary's address.
    NoCode,
    /// The answer is too short or cannot be decoded.
    BadReturn,
    /// The answer is longer than the host accepts.
    ReturnTooLarge,
    /// The answer is well-formed, and the host does not believe it.
    Rejected,
    /// A person tripped the breaker.
    Forced,
    /// A flag that the host watches was raised.
    Flagged,
    /// Nothing was called, because the breaker is open.
    NotTried
}
