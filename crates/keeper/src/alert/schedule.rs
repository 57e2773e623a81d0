//! When a message that did not get through is tried again, and when it is given up.

use std::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// After the first attempt, the second, and so on; after the last of these it is the last one again. Quick at first, for
/// most failures are a deploy or a lost packet, and slow enough later not to be one more load on what is down.
const DELAYS: [Duration; 9] = [
    seconds(5),
    seconds(30),
    seconds(2 * 60),
    seconds(10 * 60),
    seconds(30 * 60),
    seconds(60 * 60),
    seconds(2 * 60 * 60),
    seconds(5 * 60 * 60),
    seconds(10 * 60 * 60),
];

/// Those who were refused together do not come back together.
const JITTER: f64 = 0.1;

/// The receiver says when; but a day later nobody would know any more why nothing comes.
const LONGEST_HINT: Duration = seconds(24 * 60 * 60);

/// "At once" from somebody who has just refused would be a loop.
const SHORTEST_HINT: Duration = seconds(1);

/// Attempts at what the receiver calls wrong. It may be wrong about that, for as long as a deploy takes.
const WRONG_ATTEMPTS: u32 = 5;

/// All else is tried over a weekend.
const LONGEST: Duration = seconds(3 * 24 * 60 * 60);

/// What is known of a failed attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    /// Of the answer, if there was one.
    pub(crate) status: Option<u16>,
    /// When the receiver wants it again.
    pub(crate) hint: Option<Duration>,
    /// With this one.
    pub(crate) attempts: u32,
    /// Since the first attempt.
    pub(crate) age: Duration,
}

/// How long to wait before the next attempt; `None`: it is given up. `dice` is between −1 and 1.
pub(crate) fn next(failed: Failed, dice: f64) -> Option<Duration> {
    let is_wrong = failed
        .status
        .is_some_and(|status| (400..500).contains(&status) && ![408, 425, 429].contains(&status));
    if (is_wrong && failed.attempts >= WRONG_ATTEMPTS) || failed.age >= LONGEST {
        return None;
    }
    if let Some(hint) = failed.hint {
        return Some(hint.clamp(SHORTEST_HINT, LONGEST_HINT));
    }
    let nth = usize::try_from(failed.attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let delay = DELAYS[nth.min(DELAYS.len() - 1)].mul_f64(1.0 + JITTER * dice.clamp(-1.0, 1.0));
    // The last attempt is at the end and not long after it.
    Some(delay.min((LONGEST - failed.age).max(SHORTEST_HINT)))
}

/// What a `Retry-After` says: seconds, or a date.
pub(crate) fn retry_after(header: &str, now: Duration) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(header).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(at.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(attempts: u32) -> Failed {
        Failed { status: Some(500), hint: None, attempts, age: Duration::ZERO }
    }

    #[test]
    fn the_delays_grow_to_ten_hours_and_stay_there() {
        let hour = 3_600;
        for (attempts, wait) in [
            (1, 5),
            (2, 30),
            (3, 120),
            (4, 600),
            (5, 1_800),
            (6, hour),
            (7, 2 * hour),
            (8, 5 * hour),
            (9, 10 * hour),
            (10, 10 * hour),
            (u32::MAX, 10 * hour),
        ] {
            assert_eq!(next(failed(attempts), 0.0), Some(seconds(wait)), "{attempts}");
        }
        assert_eq!(next(failed(2), 1.0), Some(seconds(33)));
        assert_eq!(next(failed(2), -1.0), Some(seconds(27)));
    }

    #[test]
    fn what_is_called_wrong_is_given_up_at_the_fifth_attempt_and_all_else_after_three_days() {
        for status in [400, 401, 403, 404, 410, 413, 422, 499] {
            let wrong = |attempts| Failed { status: Some(status), ..failed(attempts) };
            assert!(next(wrong(4), 0.0).is_some() && next(wrong(5), 0.0).is_none(), "{status}");
        }
        for status in [Some(408), Some(425), Some(429), Some(302), Some(500), Some(503), None] {
            let later = Failed { status, ..failed(500) };
            assert!(next(later, 0.0).is_some(), "{status:?}");
            let age = LONGEST - seconds(1);
            assert_eq!(next(Failed { age, ..later }, 0.0), Some(seconds(1)), "{status:?}");
            assert_eq!(next(Failed { age: LONGEST, ..later }, 0.0), None, "{status:?}");
        }
    }

    #[test]
    fn the_receivers_own_wish_counts_within_a_day() {
        for (hint, wait) in [(0, 1), (7, 7), (86_400, 86_400), (1 << 40, 86_400)] {
            let hint = Some(seconds(hint));
            assert_eq!(next(Failed { hint, ..failed(1) }, 1.0), Some(seconds(wait)));
        }
    }

    #[test]
    fn a_retry_after_is_seconds_or_a_date() {
        let now = seconds(784_111_777); // Sun, 06 Nov 1994 08:49:37 GMT
        for (header, wait) in [
            ("120", Some(120)),
            (" 5 ", Some(5)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:48:37 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(retry_after(header, now), wait.map(seconds), "{header}");
        }
    }
}
