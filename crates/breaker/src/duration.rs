//! Durations as text: `90s`, `250ms`, `1h30m`. A bare number would leave the unit to the reader.

use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de};

/// From the longest; each divides the one before it.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

pub(crate) fn serialize<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&print(*duration))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| {
        de::Error::custom(format_args!("\"{text}\" is no duration: write a number with a unit, such as \"250ms\", \"60s\" or \"1h30m\""))
    })
}

/// The same for a duration that may be absent.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(transparent)]
    struct Text(#[serde(with = "super")] Duration);

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_some(&Text(*duration)),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Text>::deserialize(deserializer)?.map(|Text(duration)| duration))
    }
}

/// The fewest whole units, each longer than the next.
fn print(duration: Duration) -> String {
    let mut left = crate::clock::nanos(duration);
    if left == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, length) in UNITS {
        let count = left / length;
        left %= length;
        if count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{count}{unit}");
        }
    }
    text
}

fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum = 0u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (_, length) = UNITS.into_iter().find(|(unit, _)| *unit == &rest[..unit_end])?;
        sum = sum.checked_add(count.checked_mul(length)?)?;
        rest = &rest[unit_end..];
    }
    Some(Duration::from_nanos(sum))
}

#[cfg(test)]
mod tests {
    use super::{parse, print};
    use std::time::Duration;

    #[test]
    fn what_is_printed_is_read_back() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (250_000_000, "250ms"),
            (60_000_000_000, "1m"),
            (90_000_000_000, "1m30s"),
            (90_000_000_000_000, "1d1h"),
            (u64::MAX, "213503d23h34m33s709ms551us615ns"),
        ] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(print(duration), text);
            assert_eq!(parse(text), Some(duration));
        }
        assert_eq!(parse("600s"), Some(Duration::from_secs(600)));
    }

    #[test]
    fn what_has_no_clear_unit_is_refused() {
        for text in [
            "",
            "60",
            "s",
            "1.5s",
            "-1s",
            "60 s",
            "60sec",
            "1m30",
            "99999999999999999999s",
            "999999999d",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
