//! Waits that are only said in words: "try again in 40ms", "limit will reset in 60 seconds", "until 00:00 UTC".

use std::time::{Duration, SystemTime};

use crate::hint::{decimal, seconds, to_midnight};

/// Words after which a number is a wait. "10 requests in 1 second" has none of them.
const BEFORE: [&str; 12] = [
    "again in",
    "again after",
    "retry in",
    "retry after",
    "retry-after",
    "reset in",
    "resets in",
    "reset after",
    "wait",
    "wait for",
    "back off for",
    "backoff for",
];

/// Units with their milliseconds. A bare number is in seconds, as everywhere in HTTP.
const UNITS: [(&[&str], f64); 5] = [
    (&["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"], 1.0),
    (&["", "s", "sec", "secs", "second", "seconds"], 1e3),
    (&["m", "min", "mins", "minute", "minutes"], 60e3),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600e3),
    (&["d", "day", "days"], 86_400e3),
];

/// Words that name the next midnight.
const MIDNIGHT: [&str; 4] = ["00:00 utc", "00:00:00 utc", "midnight utc", "midnight (utc"];

/// Every wait that a text names. Dates are measured from `at`.
pub(crate) fn waits(text: &str, at: SystemTime) -> impl Iterator<Item = Duration> {
    let text = text.to_lowercase().replace('_', " ");
    let midnight = MIDNIGHT.iter().any(|words| text.contains(words)).then(|| to_midnight(at));
    let found: Vec<Duration> = BEFORE
        .iter()
        .flat_map(|words| text.match_indices(words).map(|(at, _)| &text[at + words.len()..]))
        .filter_map(wait)
        .collect();
    found.into_iter().chain(midnight)
}

/// The wait at the start of a text: one or more numbers with units ("1m30s", "1 minute 30 seconds", "2.5 s").
pub(crate) fn wait(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start_matches([' ', ':', '=', '~', '"']);
    rest = ["about ", "at least ", "another "]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .unwrap_or(rest);
    let mut total = None;
    while let Some((millis, left)) = one(rest) {
        total = Some(total.unwrap_or(0.0) + millis);
        rest = left.trim_start_matches(' ');
    }
    seconds(total? / 1e3)
}

/// One number with its unit, in milliseconds, and what follows.
fn one(text: &str) -> Option<(f64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    // "wait 5." has a full stop, not a point.
    let number = decimal(text[..digits].trim_end_matches('.'))?;
    let rest = &text[digits..];
    let after = rest.trim_start_matches(' ');
    let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
    let unit = |word: &str| {
        UNITS.iter().find(|(names, _)| names.contains(&word)).map(|(_, millis)| *millis)
    };
    match unit(&after[..letters]) {
        Some(millis) => Some((number * millis, &after[letters..])),
        // "retry after 5 attempts" is no wait.
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn longest(text: &str) -> Option<u128> {
        waits(text, UNIX_EPOCH + Duration::from_secs(86_400 - 90))
            .max()
            .map(|wait| wait.as_millis())
    }

    #[test]
    fn waits_are_read_in_every_unit() {
        for (text, want) in [
            ("Please try again in 40ms", 40),
            ("try again in 2s.", 2_000),
            ("retry in 10 s", 10_000),
            ("call rate limit exhausted, retry in 10s", 10_000),
            ("Public RPC Rate Limit Hit, limit will reset in 60 seconds", 60_000),
            ("Too Many Requests! Wait for 2290s", 2_290_000),
            ("retry after 1 minute", 60_000),
            ("Retry-After: 5", 5_000),
            ("resets in 1h", 3_600_000),
            ("try again in 1m30s", 90_000),
            ("call rate limit exhausted, retry in 10m0s", 600_000),
            ("You've exceeded the RPS limit. try_again_in 250.5 ms", 250),
            ("try again in 1 minute 30 seconds", 90_000),
            ("try again in 1.5 seconds", 1_500),
            ("try again in about 3 hours", 10_800_000),
            ("wait 1 day", 86_400_000),
            ("try again in 0 seconds", 0),
            ("retry in 1s, or retry in 9s", 9_000),
            ("blocked until 00:00 UTC", 90_000),
            ("resets at midnight UTC", 90_000),
        ] {
            assert_eq!(longest(text), Some(want), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_no_wait() {
        for text in [
            "10 requests in 1 second",
            "100/second request limit reached",
            "retry after 5 attempts",
            "try again in a few seconds",
            "try again later",
            "wait",
            "try again in -5s",
            "try again in 99999999999999999999999999999999d",
            "",
        ] {
            assert_eq!(longest(text), None, "{text}");
        }
    }
}
