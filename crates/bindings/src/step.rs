//! The transition table, a second time.
//!
//! The contract decides transitions on a packed word, for gas. This model decides them on plain fields, one arm for
//! each row of the specification's table, and shares nothing with the contract but that table. Where the two agree
//! bit for bit, a mistake would have to be made twice.
//!
//! Counters and times saturate, as in the contract: an overflow there would take the host down with its primary.

use crate::word::{Fields, LATCH, NEVER, NotConfigured, ONCE_PER_BLOCK, State, Word};

/// The weight of a failure that trips a closed breaker at once, whatever its count.
pub const TRIP_AT_ONCE: u16 = u16::MAX;

/// What can happen to a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The primary answered.
    Success,
    /// The primary failed.
    Failure {
        /// Added to the failure count; 0 = ignore it, [`TRIP_AT_ONCE`] = open whatever the count is.
        weight: u16,
    },
    /// Somebody opens it, or moves an open one's deadline further away.
    Trip {
        /// Unix seconds of the deadline, at most [`NEVER`]; 0 = one cooldown from now.
        until: u64,
    },
    /// Somebody closes it.
    Reset,
}

/// What a step changed that the world is told about, by the event of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// Nothing is emitted, though counts may have changed.
    None,
    /// It opened, or an open one got a later deadline or lost its good probes by a trip.
    Opened,
    /// It closed.
    Closed,
}

/// What becomes of a breaker to which `event` happens at `now`, in unix seconds.
///
/// An equal word means that the contract writes nothing.
///
/// # Errors
///
/// [`NotConfigured`] when the failure threshold is 0, whatever happens.
pub fn step(word: Word, event: Event, now: u64) -> Result<(Word, Transition), NotConfigured> {
    let state = word.state(now)?;
    let now = now.min(NEVER);
    let old = Fields::from(word);

    let (new, transition) = match (state, event) {
        (State::Closed, Event::Success) => (Fields { failure_count: 0, ..old }, Transition::None),
        (State::Open, Event::Success | Event::Failure { .. }) => (old, Transition::None),
        (State::HalfOpen, Event::Success) => good_probe(old, now),
        // Neutral: neither good nor bad.
        (_, Event::Failure { weight: 0 }) => (old, Transition::None),
        (State::Closed, Event::Failure { weight }) => {
            counted_failure(old, weight, forwards(old, now))
        }
        (State::HalfOpen, Event::Failure { .. }) => (failed_probe(old, now), Transition::Opened),
        (State::Closed, Event::Trip { until }) => {
            let now = forwards(old, now);
            let left = Fields { reopen_count: 0, last_failure_at: now, ..old };
            (trip(left, until, now), Transition::Opened)
        }
        (State::Open | State::HalfOpen, Event::Trip { until }) => {
            let new = trip(old, until, now);
            (new, if new == old { Transition::None } else { Transition::Opened })
        }
        (State::Closed, Event::Reset) => (closed(old), Transition::None),
        (State::Open | State::HalfOpen, Event::Reset) => (closed(old), Transition::Closed),
    };
    Ok((new.into(), transition))
}

/// The time as a closed breaker takes it: a clock that runs backwards counts as no time passed.
fn forwards(old: Fields, now: u64) -> u64 {
    now.max(old.last_failure_at)
}

/// A failure of weight > 0 in closed.
fn counted_failure(old: Fields, weight: u16, now: u64) -> (Fields, Transition) {
    let seen_in_this_block = now == old.last_failure_at && old.failure_count > 0;
    if has(old, ONCE_PER_BLOCK) && seen_in_this_block && weight < TRIP_AT_ONCE {
        return (old, Transition::None);
    }
    let expired = old.window > 0 && now - old.last_failure_at > u64::from(old.window);
    let streak = if expired { 0 } else { old.failure_count };
    let counted =
        Fields { failure_count: streak.saturating_add(weight), last_failure_at: now, ..old };

    if counted.failure_count < old.failure_threshold {
        return (counted, Transition::None);
    }
    let reset_probes = Fields { reopen_count: 0, success_count: 0, ..counted };
    (open(reset_probes, deadline(old, now, old.cooldown)), Transition::Opened)
}

fn good_probe(old: Fields, now: u64) -> (Fields, Transition) {
    let low_byte = now.to_le_bytes()[0];
    // Only the low byte is kept, so an honest probe 256 s after the last one loses a block, no more.
    if has(old, ONCE_PER_BLOCK) && old.success_count > 0 && old.probed_at == low_byte {
        return (old, Transition::None);
    }
    match old.success_count.checked_add(1) {
        Some(count) if count < old.success_threshold => {
            (Fields { success_count: count, probed_at: low_byte, ..old }, Transition::None)
        }
        // No threshold lies past 255.
        _ => (closed(old), Transition::Closed),
    }
}

/// Open again, for twice as long.
fn failed_probe(old: Fields, now: u64) -> Fields {
    let reopen_count = old.reopen_count.saturating_add(1);
    // Saturating at 32 bits loses nothing: the cap has no more.
    let doubled = old.cooldown.saturating_mul(2u32.saturating_pow(reopen_count.into()));
    let retry_at = deadline(old, now, doubled.min(old.max_cooldown));
    open(Fields { reopen_count, success_count: 0, ..old }, retry_at)
}

/// Opened by a person or a flag: the deadline only ever moves away, and is never already over.
fn trip(old: Fields, until: u64, now: u64) -> Fields {
    let wanted = if until == 0 { deadline(old, now, old.cooldown) } else { until };
    let retry_at = old.retry_at.max(wanted).max(now + 1).min(NEVER);
    open(Fields { success_count: 0, ..old }, retry_at)
}

fn open(old: Fields, retry_at: u64) -> Fields {
    Fields { status: 1, retry_at, ..old }
}

fn closed(old: Fields) -> Fields {
    Fields { status: 0, failure_count: 0, retry_at: 0, success_count: 0, reopen_count: 0, ..old }
}

/// When an opening ends that lasts `wait` seconds from `now`; with [`LATCH`], never.
fn deadline(old: Fields, now: u64, wait: u32) -> u64 {
    if has(old, LATCH) { NEVER } else { (now + u64::from(wait)).min(NEVER) }
}

fn has(fields: Fields, flag: u8) -> bool {
    fields.flags & flag != 0
}
