//! How long an endpoint asks to be left alone.
//!
//! There are a dozen ways to say it, and one answer may use several that differ: the longest is the only one that
//! breaks none of them. What cannot be a duration (not a number, negative, too large) is ignored rather than guessed,
//! as the back-off without a hint is always there. Nothing is clamped here; that is the throttle's business.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::hint_text;
use crate::reply::ReplyHeaders;

/// From here on a number of seconds is a date: as a wait it would be 31 years, as a date it is 2001.
const EPOCH_SECONDS: f64 = 1e9;
/// From here on a number is a date in milliseconds: as seconds it would be the year 33,658.
const EPOCH_MILLIS: f64 = 1e12;

const DAY: u64 = 86_400;

/// The moments a hint is measured against, and where it may be found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints<'a> {
    pub(crate) headers: ReplyHeaders<'a>,
    /// Waits in seconds that the error's data names.
    pub(crate) waits: &'a [f64],
    pub(crate) texts: &'a [String],
    /// Whether resets of rate windows count: they are sent with every answer and mean something only on a refusal.
    pub(crate) resets: bool,
    pub(crate) now: SystemTime,
}

impl Hints<'_> {
    /// The longest of all hints.
    pub(crate) fn longest(&self) -> Option<Duration> {
        let at = self.reference();
        let reset =
            |value: Option<&str>| value.filter(|_| self.resets).and_then(|value| reset(value, at));
        [
            self.headers.retry_after.and_then(|value| retry_after(value, at)),
            reset(self.headers.ratelimit_reset),
            reset(self.headers.x_ratelimit_reset),
        ]
        .into_iter()
        .chain(self.waits.iter().map(|wait| seconds(*wait)))
        .flatten()
        .chain(self.texts.iter().flat_map(|text| hint_text::waits(text, at)))
        .max()
    }

    /// The server's own clock, if it shows it: a date it gives is a date on that clock.
    fn reference(&self) -> SystemTime {
        self.headers.date.and_then(date).unwrap_or(self.now)
    }
}

/// `Retry-After`: seconds, whole or decimal, or a date in one of the three formats of HTTP.
fn retry_after(value: &str, at: SystemTime) -> Option<Duration> {
    match decimal(value) {
        Some(wait) => seconds(wait),
        None => Some(until(date(value)?, at)),
    }
}

/// A reset header: seconds from now, or a date in seconds or milliseconds of the epoch.
fn reset(value: &str, at: SystemTime) -> Option<Duration> {
    let value = decimal(value)?;
    let date = if value >= EPOCH_MILLIS {
        seconds(value / 1_000.0)?
    } else if value >= EPOCH_SECONDS {
        seconds(value)?
    } else {
        return seconds(value);
    };
    Some(until(UNIX_EPOCH.checked_add(date)?, at))
}

/// Digits with at most one point. `f64` would also take signs, exponents, "inf" and "nan".
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && text.bytes().any(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// `None` for what is no duration: NaN, negative, or more than fits.
pub(crate) fn seconds(wait: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(wait).ok()
}

fn date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text.trim()).ok()
}

/// Zero when it is past: "now", which the throttle raises to its minimum.
fn until(date: SystemTime, at: SystemTime) -> Duration {
    date.duration_since(at).unwrap_or_default()
}

/// From `at` to the next 00:00 UTC; a whole day at midnight itself.
pub(crate) fn to_midnight(at: SystemTime) -> Duration {
    let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_secs(DAY)
        - Duration::new(since_epoch.as_secs() % DAY, since_epoch.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday, 6 November 1994, 08:49:37 UTC: the example date of RFC 9110.
    const EXAMPLE: u64 = 784_111_777;

    fn at(epoch: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(epoch)
    }

    fn ms(hint: Option<Duration>) -> Option<u128> {
        hint.map(|hint| hint.as_millis())
    }

    fn with(headers: ReplyHeaders<'_>, now: SystemTime) -> Option<u128> {
        ms(Hints { headers, waits: &[], texts: &[], resets: true, now }.longest())
    }

    #[test]
    fn retry_after_takes_seconds() {
        for (value, want) in [
            ("0", Some(0)),
            ("60", Some(60_000)),
            (" 60 ", Some(60_000)),
            ("2.5", Some(2_500)),
            ("0.1", Some(100)),
            (".5", Some(500)),
            ("86400", Some(86_400_000)),
            ("18446744073709551615", None),
            ("99999999999999999999999999", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("NaN", None),
            ("inf", None),
            ("1.2.3", None),
            ("", None),
            (".", None),
            ("soon", None),
            ("60s", None),
        ] {
            assert_eq!(ms(retry_after(value, at(EXAMPLE))), want, "{value:?}");
        }
    }

    #[test]
    fn retry_after_takes_all_three_dates_of_http() {
        let dates = [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ];
        for date in dates {
            for (now, want) in [(90, 90_000), (1, 1_000)] {
                assert_eq!(ms(retry_after(date, at(EXAMPLE - now))), Some(want), "{date}");
            }
            assert_eq!(ms(retry_after(date, at(EXAMPLE))), Some(0), "{date}");
            assert_eq!(ms(retry_after(date, at(EXAMPLE + 1))), Some(0), "past: {date}");
        }
        assert_eq!(ms(retry_after("Sun, 32 Nov 1994 08:49:37 GMT", at(EXAMPLE))), None);
    }

    #[test]
    fn a_date_is_measured_on_the_clock_of_the_server() {
        let headers = ReplyHeaders {
            retry_after: Some("Sun, 06 Nov 1994 08:49:37 GMT"),
            date: Some("Sun, 06 Nov 1994 08:48:07 GMT"),
            ..ReplyHeaders::default()
        };
        // Our own clock is a day off, either way.
        assert_eq!(with(headers, at(EXAMPLE + DAY)), Some(90_000));
        assert_eq!(with(headers, at(EXAMPLE - DAY)), Some(90_000));
        let without = ReplyHeaders { date: Some("yesterday"), ..headers };
        assert_eq!(with(without, at(EXAMPLE - 5)), Some(5_000));
    }

    #[test]
    fn a_reset_is_a_wait_or_a_date() {
        let now = 1_700_000_000;
        for (value, want) in [
            ("30", Some(30_000)),
            ("0", Some(0)),
            ("1.5", Some(1_500)),
            ("999999999", Some(999_999_999_000)),
            ("1000000000", Some(0)),
            ("1700000030", Some(30_000)),
            ("1699999999", Some(0)),
            ("1700000030.5", Some(30_500)),
            ("999999999999", Some((999_999_999_999 - now) * 1_000)),
            ("1000000000000", Some(0)),
            ("1700000030250", Some(30_250)),
            ("-5", None),
            ("99999999999999999999999999999999999", None),
            ("x", None),
        ] {
            assert_eq!(ms(reset(value, at(now as u64))), want, "{value}");
        }
    }

    #[test]
    fn the_longest_hint_wins() {
        let headers = ReplyHeaders {
            retry_after: Some("2"),
            ratelimit_reset: Some("7"),
            x_ratelimit_reset: Some("4"),
            ..ReplyHeaders::default()
        };
        let texts = ["try again in 5s".to_owned()];
        let all = Hints {
            headers,
            waits: &[6.0, f64::NAN, -9.0, 1e300],
            texts: &texts,
            resets: true,
            now: at(0),
        };
        assert_eq!(ms(all.longest()), Some(7_000));
        assert_eq!(ms(Hints { resets: false, ..all }.longest()), Some(6_000));
        assert_eq!(ms(Hints { resets: false, waits: &[], ..all }.longest()), Some(5_000));
        let headers = ReplyHeaders { retry_after: Some("2"), ..ReplyHeaders::default() };
        assert_eq!(ms(Hints { headers, waits: &[], texts: &[], ..all }.longest()), Some(2_000));
        let none = Hints { headers: ReplyHeaders::default(), waits: &[], texts: &[], ..all };
        assert_eq!(ms(none.longest()), None);
    }

    #[test]
    fn midnight_is_the_next_one() {
        for (now, want) in [(0, DAY), (1, DAY - 1), (DAY - 1, 1), (DAY, DAY), (DAY + 1, DAY - 1)] {
            assert_eq!(to_midnight(at(now)), Duration::from_secs(want), "{now}");
        }
        assert_eq!(
            to_midnight(at(DAY - 1) + Duration::from_millis(250)),
            Duration::from_millis(750)
        );
    }
}
